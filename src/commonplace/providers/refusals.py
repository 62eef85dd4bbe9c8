"""What a provider means when it refuses: ask again, when, or never; and what it says, in one clean line."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime

from commonplace.base.errors import ProviderError
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.render import screen

MAX_REASON = 300  # cells of a provider's own words in an error line
LONGEST_WAIT_S = 86_400.0  # a longer wait is cut to a day
# 409 is a lock that another request holds (OpenAI's SDK asks again as well), 425 "too early".
_PASSING = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})  # 5xx that stays
_MAXIMUM = [f"{most} {of}tokens" for most in ("max", "maximum") for of in ("", "0 ", "number of ")]
# How providers say that an input, or all of them together, is longer than the model takes. Tried on the words
# of OpenAI, Mistral, Voyage, Cohere, Gemini, Ollama, llama.cpp (with status 500), vLLM, TEI, DashScope and
# SiliconFlow; the last two name the number of inputs by `batch size`. Phrases as `says` reads them.
_TOO_LARGE = (
    "maximum input length", "context length", "context window", "context size", "input length",
    "too large to process", "too many tokens", "too many inputs", "max allowed tokens",
    "maximum allowed tokens", *_MAXIMUM, "max_tokens_per_request", "must have less than 0 tokens",
    "token count … exceeds", "exceed … token", "exceeds … token", "payload size exceeds",
    "at most 0 requests", "input is too large", "too long", "batch size … larger than", "batch size … >",
    "batch size … exceed", "batch size … maximum",
)  # fmt: skip
_TOO_LARGE_AT: Mapping[int, tuple[str, ...]] = {
    **dict.fromkeys((400, 422, 500), _TOO_LARGE),
    # OpenAI refuses so what is more than the limit of a whole minute; waiting does not help.
    429: ("request too large",),
}
_GONE = ("exceeded", "exhausted", "used up")
_QUOTA = (
    "insufficient_quota", "exceeded … quota", "out of credits", "insufficient credits",
    "insufficient balance", "insufficient funds", "spending limit", "/ month", "per month",
    *(f"quota {verb}{end}" for verb in ("", "is ", "has been ") for end in _GONE),
)  # fmt: skip
# A limit of so much a minute passes by itself, whatever else the sentence says about billing.
_RATE = (
    *(f"per{gap}{unit}" for gap in ("", " ", "_") for unit in ("second", "minute", "hour")),
    *(f"/ {unit} " for unit in ("s", "sec", "min", "minute", "hour")),
    " rpm ",
    " tpm ",
)
_NEAR = 40  # characters between the two halves of a phrase
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_ASKED = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)\b", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOMENT = 1e8  # a figure that large is a moment in seconds, a thousand times as large one in milliseconds
_LOOKED_AT = 20_000  # characters of a page that a provider answers with
_TAGS = re.compile(r"<(script|style)\b.{0,5000}?</\1\s*>|<[^<>]{0,2000}+>", re.IGNORECASE | re.DOTALL)


class Unanswered(ProviderError):
    """A request that was sent and not answered whole: its provider may count it all the same."""


class Unreachable(ProviderError):
    """No connection came about, so nothing was sent."""


class TooLarge(ProviderError):
    """A request that is longer than the model or the provider takes; shorter ones may be answered."""


def translate(
    provider: str, status: int, headers: Mapping[str, str], body: bytes, key: Secret = NO_KEY
) -> ProviderError:
    """Make the error of an answer whose status is not 2xx; the key is taken out of what it quotes."""
    text = body.decode("utf-8", "replace")
    said = reason(text, key)
    message = f"HTTP {status}" + (f": {said}" if said else "")
    if status == 413 or says(text, _TOO_LARGE_AT.get(status, ())):
        return TooLarge(provider, message, permanent=True, status=status)
    wait = wait_s(headers, text)
    # Whether asking again is of no use until somebody changes something.
    stays = status in _NEVER or (status < 500 and status not in _PASSING)
    if status == 429:
        stays = wait is None and says(text, _QUOTA) and not says(text, _RATE)
    return ProviderError(provider, message, wait, permanent=stays, status=status)


def says(text: str, phrases: Iterable[str]) -> bool:
    """Tell whether a text holds a phrase, whatever its case and punctuation; 0 stands for any whole number.

    Of `batch size … maximum` the second half follows the first within some characters.
    """
    plain = "".join(c if c.isalnum() or c == "_" else f" {c} " if c in "/>" else " " for c in text.lower())
    plain = f" {' '.join('0' if word.isdigit() else word for word in plain.split())} "
    halves = (phrase.partition(" … ") for phrase in phrases)
    return any(
        second in rest[: _NEAR + len(second)]
        for first, _, second in halves
        for rest in plain.split(first)[1:]
    )


def reason(text: str, key: Secret = NO_KEY) -> str:
    """Return the provider's own words in one short line without key, markup and control characters."""
    try:
        said = _message(json.loads(text))
    except (ValueError, RecursionError):
        said = _TAGS.sub(" ", text[:_LOOKED_AT])
    return screen.shorten(screen.one_line(key.remove_from(said)), MAX_REASON)


def wait_s(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return how long a provider asks to wait, in seconds, or None where it does not say.

    Understood are `retry-after-ms` (OpenAI), `retry-after` (RFC 9110: seconds or a date), the longest reset
    among the rate limits that are used up (`x-ratelimit-reset-tokens: 6m0s`), the `retryDelay` in the body
    (google.rpc.RetryInfo), and "try again in 1.2s" in its words.
    """
    values = {name.lower(): value.strip() for name, value in headers.items()}
    after = values.get("retry-after", "")
    until = None
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        until = max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    delays: list[float | None] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        delays.extend(
            _span(value) for name, value in pairs if name == "retryDelay" and isinstance(value, str)
        )

    if "retryDelay" in text:
        with suppress(ValueError, RecursionError):
            json.loads(text, object_pairs_hook=note)
    asked = _ASKED.search(text)
    waits = (
        _number(values.get("retry-after-ms", ""), 0.001),
        _number(after, 1.0),
        until,
        _longest_reset(values),
        *delays,
        _span(asked[1]) if asked else None,
    )
    return next((min(wait, LONGEST_WAIT_S) for wait in waits if wait is not None), None)


def _longest_reset(values: Mapping[str, str]) -> float | None:
    """The longest reset among the limits that are used up, by the headers in lower case.

    A limit is used up when less remains than one request takes; Mistral says how much that is.
    """
    resets = []
    # `x-ratelimit-reset-tokens` (OpenAI and many others), `ratelimitbysize-reset` (Mistral),
    # `anthropic-ratelimit-tokens-reset`.
    for name in (name for name in values if "reset" in name.partition("ratelimit")[2]):
        remaining = _number(values.get(name.replace("reset", "remaining"), ""), 1.0)
        cost = _number(values.get(name.replace("reset", "query-cost"), ""), 1.0)
        reset = _until_reset(values[name])
        if remaining is not None and remaining < max(cost or 1.0, 1.0) and reset is not None:
            resets.append(reset)
    return max(resets, default=None)


def pause_s(error: ProviderError, attempt: int, first_s: float, longest_s: float) -> float:
    """Return the seconds before the next attempt: as asked, or longer each time; not all callers at once."""
    if error.retry_after_s is not None:
        return error.retry_after_s + random.uniform(0, 0.25)  # noqa: S311 - spreads requests, hides nothing
    longest = min(longest_s, first_s * 2 ** (attempt - 1))
    return random.uniform(longest / 2, longest)  # noqa: S311


def _message(value: object) -> str:
    """The sentence in an error body; each provider has it elsewhere."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "; ".join(filter(None, map(_message, value[:3])))
    if isinstance(value, dict):
        return next(filter(None, (_message(value.get(k)) for k in ("error", "message", "detail", "msg"))), "")
    return ""


def _number(value: str, unit: float) -> float | None:
    """A plain figure in some unit."""
    whole, point, rest = value.partition(".")
    plain = value.isascii() and whole.isdigit() and len(whole) <= 13 and (rest.isdigit() or not point)
    return float(value) * unit if plain and len(rest) <= 9 else None


def _until_reset(value: str) -> float | None:
    """Seconds until a reset: a span, a number of seconds, or a moment (RFC 3339 or Unix time)."""
    number = _number(value, 1.0)
    if number is not None and number >= _MOMENT:
        number = max(0.0, (number / 1000 if number >= 1000 * _MOMENT else number) - time.time())
    if number is not None:
        return number
    try:
        return max(0.0, datetime.fromisoformat(value).timestamp() - time.time())
    except (ValueError, OverflowError, OSError):
        return _span(value)


def _span(value: str) -> float | None:
    """A span such as `1h2m3.5s` or `20ms`."""
    if not value or _SPAN.sub("", value):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(value))
