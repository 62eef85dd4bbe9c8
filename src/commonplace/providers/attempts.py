"""Calls to a provider: over before their deadline, and repeated after passing faults.

A call runs in a thread that is left behind when the deadline comes: neither a name server nor a server that
sends one byte a second respects a timeout. Refusals become errors: permanent or passing, how long to wait,
too long, in one clean line.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.providers import services
from commonplace.render import screen

ATTEMPTS = 8
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 20.0  # doubled each time; all together outlast a limit of a minute
REACH_S = 1.5  # so that a server that is not there is reported within three seconds
_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


def repeated(
    work: Callable[[], _Result], deadline: Deadline, attempts: int = ATTEMPTS, *, resend: bool = True
) -> _Result:
    """Run work, again after a passing refusal, until it succeeds or time does not allow another attempt.

    Without `resend`, what was sent and not answered is not sent again: it may have been paid for. A server
    that cannot be reached is tried for `REACH_S`. Raises ProviderError.
    """
    reach = Deadline(min(REACH_S, deadline.left_s()))
    for attempt in range(1, attempts):
        try:
            return work()
        except ProviderError as error:
            longest = min(LONGEST_PAUSE_S, FIRST_PAUSE_S * 2 ** (attempt - 1))
            pause_s = longest * (0.5 + time.perf_counter_ns() % 1000 / 2000)  # spreads requests
            if error.retry_after_s is not None:
                pause_s = error.retry_after_s + pause_s / 100
            lost = isinstance(error, Unanswered) and not resend
            until = reach if isinstance(error, Unreachable) else deadline
            if error.permanent or lost or pause_s >= until.left_s():
                raise
            deadline.pause(pause_s)
    return work()


def within(
    provider: str, work: Callable[[], _Result], deadline: Deadline, server: str = "the model"
) -> _Result:
    """Run work in a thread and return its result; raise Unanswered when the deadline comes first."""
    from concurrent.futures import Future, wait  # 5 ms, which a model of this process need not wait for

    future: Future[_Result] = Future()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 - raised again where the caller waits
            future.set_exception(error)

    threading.Thread(target=run, name="commonplace-call", daemon=True).start()
    while not future.done():
        wait([future], min(0.2, max(deadline.left_s(), 0.001)))  # it may be brought forward
        if not (future.done() or deadline.left_s()):
            raise Unanswered(provider, f"{server} did not answer within {round(deadline.seconds, 1):g} s")
    return future.result()


def side_by_side(
    work: Callable[[_Item], _Result], items: Sequence[_Item], threads: int, deadline: Deadline
) -> list[_Result]:
    """Work on items several at a time; return the results in order. The first failure ends the deadline."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    with ThreadPoolExecutor(threads, "commonplace-calls") as pool:
        futures = [pool.submit(work, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            deadline.end()
            for future in futures:
                future.cancel()
            raise
        return [future.result() for future in futures]


# --- refusals ------------------------------------------------------------------------------------------

MAX_REASON, LONGEST_WAIT_S = 300, 86_400.0  # cells of a provider's own words in an error line
# 409 is a lock that another request holds (OpenAI's SDK retries it as well), 425 "too early".
_PASSING = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})
_TAGS = r"(?is)<(script|style)\b.{0,5000}?</\1\s*>|<[^<>]{0,2000}+>"
_LOOKED_AT = 20_000  # characters of a page that a provider answers with


class Unanswered(ProviderError):
    """A request that was sent and not answered whole; the provider may charge it."""


class Unreachable(ProviderError):
    """No connection was made, so the request was not sent."""


class TooLarge(ProviderError):
    """A request that is longer than the model or the provider takes; shorter ones may be answered."""


def translate(
    provider: str, status: int, headers: Mapping[str, str], body: bytes, key: Secret = NO_KEY
) -> ProviderError:
    """Make the error of an answer whose status is not 2xx; the key is removed from what it quotes."""
    text = body.decode("utf-8", "replace")
    words = reason(text, key)
    message = f"HTTP {status}" + (f": {words}" if words else "")
    too_large = status in (400, 422, 500) and services.refusal("too_large", text)
    if status == 413 or too_large or (status == 429 and services.refusal("too_large_for_a_minute", text)):
        return TooLarge(provider, message, permanent=True, status=status)
    wait = wait_s(headers, text)
    permanent = status in _NEVER or (status < 500 and status not in _PASSING)
    if status == 429 and wait is None:
        permanent = bool(services.refusal("quota", text)) and not services.refusal("rate", text)
    return ProviderError(provider, message, wait, permanent=permanent, status=status)


def reason(text: str, key: Secret = NO_KEY) -> str:
    """Return the provider's own words in one short line without key, markup and control characters."""
    try:
        words = _message(json.loads(text))
    except (ValueError, RecursionError):
        words = re.sub(_TAGS, " ", text[:_LOOKED_AT])
    return screen.shorten(screen.one_line(key.remove_from(words)), MAX_REASON)


def wait_s(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return the seconds that a provider asks to wait, in a header or (Gemini) in the body; None without."""
    values = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if re.fullmatch(r"\d{1,12}(\.\d{1,9})?", values.get(name, ""), re.ASCII):
            return min(float(values[name]) * unit, LONGEST_WAIT_S)
    delay = services.refusal("delay", text)
    return min(float(delay[1]), LONGEST_WAIT_S) if delay else None


def _message(value: object) -> str:
    """The sentence in an error body; each provider has it elsewhere."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message, value[:3])))
    if isinstance(value, dict):
        return next(filter(None, (_message(value.get(k)) for k in ("error", "message", "detail", "msg"))), "")
    return ""
