"""What a provider means when it refuses: ask again, when, or never; and what it says, in one clean line."""

from __future__ import annotations

import json
import random
import re
import time
from collections.abc import Mapping
from contextlib import suppress
from datetime import datetime
from email.utils import parsedate_to_datetime

from commonplace.base.errors import ProviderError
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.render import screen

MAX_REASON = 300  # cells of a provider's own words in an error line
LONGEST_WAIT_S = 86_400.0  # whoever asks for more is believed for a day
# 409 is a lock that another request holds (OpenAI's SDK asks again as well), 425 "too early".
_PASSING = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})  # 5xx that stays
# How providers say that an input, or all of them together, is longer than the model takes. Tried on the words
# of OpenAI, Mistral, Voyage, Cohere, Gemini, Ollama, llama.cpp (with status 500), vLLM, TEI, DashScope and
# SiliconFlow; the last two name the number of inputs by `batch size`.
_TOO_LARGE = re.compile(
    r"maximum (?:context|input) length|context (?:length|window|size)|input length|too large to process"
    r"|too many (?:tokens|inputs)|max(?:imum)? (?:allowed )?(?:number of |\d+ )?tokens|max_tokens_per_request"
    r"|must have less than \d+ tokens|token count .{0,40}exceeds|exceeds? .{0,40}token"
    r"|payload size exceeds|at most \d+ requests|input is too (?:long|large)|too long"
    r"|batch size .{0,40}(?:larger than|>|exceed|maximum)",
    re.IGNORECASE,
)
_TOO_LARGE_STATUS = frozenset({400, 413, 422, 500})
# OpenAI refuses so what is more than the limit of a whole minute; waiting does not help.
_LARGER_THAN_THE_RATE = re.compile(r"request too large", re.IGNORECASE)
_QUOTA = re.compile(
    r"insufficient_quota|exceeded your current quota|quota (?:has been |is )?(?:exceeded|exhausted|used up)"
    r"|exceeded .{0,40}quota|out of credits|insufficient (?:credits|balance|funds)"
    r"|spending limit|/ ?month|per month",
    re.IGNORECASE,
)
# A limit of so much a minute passes by itself, whatever else the sentence says about billing.
_RATE = re.compile(
    r"per[ _-]?(?:second|minute|hour)|/ ?(?:s|sec|min|minute|hour)\b|\b[RT]PM\b", re.IGNORECASE
)
_SPAN = re.compile(r"(\d+(?:\.\d+)?)(ms|h|m|s)")
_ASKED = re.compile(r"(?:try again|retry) (?:in|after) ((?:\d+(?:\.\d+)?(?:ms|h|m|s))+)\b", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_MOMENT = 1e8  # a figure that large is a moment in seconds, a thousand times as large one in milliseconds
_LOOKED_AT = 20_000  # characters of a page that a provider answers with
_TAGS = re.compile(r"<(script|style)\b.{0,5000}?</\1\s*>|<[^<>]{0,2000}+>", re.IGNORECASE | re.DOTALL)


class Unanswered(ProviderError):
    """A request that was sent and not answered whole: its provider may count it all the same."""


class TooLarge(ProviderError):
    """A request that is longer than the model or the provider takes; shorter ones may be answered."""


def translate(
    provider: str, status: int, headers: Mapping[str, str], body: bytes, key: Secret = NO_KEY
) -> ProviderError:
    """Make the error of an answer whose status is not 2xx; the key is taken out of what it quotes."""
    text = body.decode("utf-8", "replace")
    said = reason(text, key)
    message = f"HTTP {status}" + (f": {said}" if said else "")
    if _is_too_large(status, text):
        return TooLarge(provider, message, permanent=True, status=status)
    wait = wait_s(headers, text)
    # Whether asking again is of no use until somebody changes something.
    stays = status in _NEVER or (status < 500 and status not in _PASSING)
    if status == 429:
        stays = wait is None and bool(_QUOTA.search(text)) and not _RATE.search(text)
    return ProviderError(provider, message, wait, permanent=stays, status=status)


def _is_too_large(status: int, text: str) -> bool:
    """Whether a refusal says that a shorter request may be answered."""
    if status == 429:
        return _LARGER_THAN_THE_RATE.search(text) is not None
    return status == 413 or (status in _TOO_LARGE_STATUS and _TOO_LARGE.search(text) is not None)


def reason(text: str, key: Secret = NO_KEY) -> str:
    """Return the provider's own words in one short line without key, markup and control characters."""
    try:
        said = _message(json.loads(text))
    except (ValueError, RecursionError):
        said = _TAGS.sub(" ", text[:_LOOKED_AT])
    return screen.shorten(screen.one_line(key.remove_from(said)), MAX_REASON)


def wait_s(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return how long a provider asks to wait, in seconds, or None where it does not say.

    Understood are `retry-after-ms` (OpenAI), `retry-after` (RFC 9110: seconds or a date), the reset headers
    of rate limits that are used up, the `retryDelay` in the body (google.rpc.RetryInfo), and "try again in
    1.2s" in its words.
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    after = named.get("retry-after", "")
    until = None
    with suppress(ValueError, TypeError, OverflowError, IndexError):
        until = max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    asked = _ASKED.search(text)
    candidates = [
        _number(named.get("retry-after-ms", ""), 0.001),
        _number(after, 1.0),
        until,
        _longest_reset(named),
        _retry_delay(text),
        _span(asked[1]) if asked else None,
    ]
    return next((min(wait, LONGEST_WAIT_S) for wait in candidates if wait is not None), None)


def _longest_reset(named: Mapping[str, str]) -> float | None:
    """The longest reset among the limits that are used up, such as `x-ratelimit-reset-tokens: 6m0s`.

    One is used up when less remains than one request takes; Mistral says how much that is.
    """
    resets = []
    # `x-ratelimit-reset-tokens` (OpenAI and many others), `ratelimitbysize-reset` (Mistral),
    # `anthropic-ratelimit-tokens-reset`.
    for name in (name for name in named if "reset" in name.partition("ratelimit")[2]):
        remaining = _number(named.get(name.replace("reset", "remaining"), ""), 1.0)
        cost = _number(named.get(name.replace("reset", "query-cost"), ""), 1.0)
        reset = _until_reset(named[name])
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


def _retry_delay(text: str) -> float | None:
    """The `"retryDelay": "3.5s"` among the details of an error (google.rpc.RetryInfo)."""
    waits: list[float | None] = []

    def note(pairs: list[tuple[str, object]]) -> None:
        waits.extend(_span(value) for name, value in pairs if name == "retryDelay" and isinstance(value, str))

    if "retryDelay" in text:
        with suppress(ValueError, RecursionError):
            json.loads(text, object_pairs_hook=note)
    return next((wait for wait in waits if wait is not None), None)


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
