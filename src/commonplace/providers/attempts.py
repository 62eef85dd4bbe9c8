"""Calls to a provider: over before their deadline, and repeated after passing faults.

A call runs in a thread that is left behind when the deadline comes: neither a name server nor a server that
sends one byte a second respects a timeout.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import TypeVar, cast

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import refusals
from commonplace.providers.refusals import Unanswered, Unreachable

ATTEMPTS = 8
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.5, 20.0  # doubled each time; all together outlast a limit of a minute
REACH_S = 1.5  # so that a server that is not there is reported within three seconds
_TICK_S = 0.2  # how soon a reader notices that the deadline was brought forward
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
            wait = refusals.pause_s(error, attempt, FIRST_PAUSE_S, LONGEST_PAUSE_S)
            lost = isinstance(error, Unanswered) and not resend
            until = reach if isinstance(error, Unreachable) else deadline
            if error.permanent or lost or wait >= until.left_s():
                raise
            deadline.pause(wait)
    return work()


def within(provider: str, work: Callable[[], _Result], deadline: Deadline, server: str = "") -> _Result:
    """Run work and return its result, or raise Unanswered when the deadline comes first.

    `server` is the address for that error; it may be empty.
    """
    return next(relayed(provider, lambda: iter([work()]), deadline, server))


def relayed(
    provider: str, produce: Callable[[], Iterator[_Result]], deadline: Deadline, server: str = ""
) -> Generator[_Result, None, None]:
    """Yield what a thread produces; raise Unanswered when the deadline comes first.

    A reader that stops early ends the producer at its next piece.
    """
    pieces: queue.SimpleQueue[tuple[_Result | None, BaseException | None]] = queue.SimpleQueue()
    stopped = threading.Event()

    def run() -> None:
        try:
            for piece in produce():
                if stopped.is_set():
                    return
                pieces.put((piece, None))
            pieces.put((None, StopIteration()))
        except BaseException as error:  # noqa: BLE001 - raised again where the reader waits
            pieces.put((None, error))

    threading.Thread(target=run, name="commonplace-call", daemon=True).start()
    try:
        while True:
            try:
                piece, error = pieces.get(timeout=min(_TICK_S, max(deadline.left_s(), 0.001)))
            except queue.Empty:
                if deadline.left_s():
                    continue
                late = f"{server} did not answer within" if server else "no answer within"
                raise Unanswered(provider, f"{late} {round(deadline.seconds, 1):g} s") from None
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield cast(_Result, piece)
    finally:
        stopped.set()


def side_by_side(
    work: Callable[[_Item], _Result], items: Sequence[_Item], threads: int, deadline: Deadline
) -> list[_Result]:
    """Work on items several at a time; return the results in order. The first failure ends the deadline."""
    if len(items) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(threads, len(items)), "commonplace-calls") as pool:
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
