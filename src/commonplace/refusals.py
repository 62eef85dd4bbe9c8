"""What a provider means when it refuses: ask again, when, or never; and what it says, in one clean line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

from commonplace import screen
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.errors import ProviderError

MAX_REASON = 300  # cells of a provider's own words in an error line
LONGEST_WAIT_S = 86_400.0  # whoever asks for more is believed for a day
# 409 is a lock that another request holds (OpenAI's SDK asks again as well), 425 "too early".
_PASSING = frozenset({408, 409, 425, 429})
_NEVER = frozenset({501, 505})  # 5xx that stays
# How providers say that an input, or all of them together, is longer than the model takes. Tried on the words
# of OpenAI, Mistral, Voyage, Cohere, Gemini, Ollama, llama.cpp (with status 500), vLLM and TEI.
_TOO_LARGE = re.compile(
    r"maximum (?:context|input) length|context (?:length|window|size)|input length|too large to process"
    r"|too many (?:tokens|inputs)|max(?:imum)? (?:allowed )?(?:number of |\d+ )?tokens|max_tokens_per_request"
    r"|must have less than \d+ tokens|token count .{0,40}exceeds|exceeds? .{0,40}token"
    r"|payload size exceeds|at most \d+ requests|input is too (?:long|large)|too long",
    re.IGNORECASE,
)
_TOO_LARGE_STATUS = frozenset({400, 413, 422, 500})
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
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_TAGS = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)


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
    if status == 413 or (status in _TOO_LARGE_STATUS and _TOO_LARGE.search(text)):
        return TooLarge(provider, message, permanent=True, status=status)
    wait = wait_s(headers, text)
    return ProviderError(provider, message, wait, permanent=_stays(status, text, wait), status=status)


def reason(text: str, key: Secret = NO_KEY) -> str:
    """Return the provider's own words in one short line without key, markup and control characters."""
    try:
        said = _message(json.loads(text))
    except (ValueError, RecursionError):
        said = _TAGS.sub(" ", text)
    return screen.shorten(screen.one_line(key.remove_from(said)), MAX_REASON)


def wait_s(headers: Mapping[str, str], text: str = "") -> float | None:
    """Return how long a provider asks to wait, in seconds, or None where it does not say.

    Understood are `retry-after-ms` (OpenAI), `retry-after` (RFC 9110: seconds or a date), the reset headers
    of rate limits whose remainder is 0, and the `retryDelay` in the body (google.rpc.RetryInfo).
    """
    named = {name.lower(): value.strip() for name, value in headers.items()}
    candidates = [
        _number(named.get("retry-after-ms", ""), 0.001),
        _number(named.get("retry-after", ""), 1.0),
        _until(named.get("retry-after", "")),
        _reset(named),
        _delay(text),
    ]
    return next((min(wait, LONGEST_WAIT_S) for wait in candidates if wait is not None), None)


def _stays(status: int, text: str, wait: float | None) -> bool:
    """Whether asking again is of no use until somebody changes something."""
    if status == 429:
        return wait is None and bool(_QUOTA.search(text)) and not _RATE.search(text)
    return status in _NEVER or (status < 500 and status not in _PASSING)


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
    return float(value) * unit if re.fullmatch(r"\d{1,11}(\.\d{1,9})?", value) else None


def _until(value: str) -> float | None:
    """A date, as seconds from now."""
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError, IndexError):
        return None


def _reset(headers: Mapping[str, str]) -> float | None:
    """The longest reset among the limits that are used up, such as `x-ratelimit-reset-tokens: 6m0s`."""
    waits = []
    for name, value in headers.items():
        if "ratelimit-reset" in name and headers.get(name.replace("-reset", "-remaining")) == "0":
            waits.append(_number(value, 1.0) if value.replace(".", "").isdigit() else _span(value))
    # A figure that large is a moment, not a span.
    return max((w if w < 1e8 else max(0.0, w - time.time()) for w in waits if w is not None), default=None)


def _delay(text: str) -> float | None:
    found = re.search(r'"retryDelay"\s*:\s*"(\d{1,6}(?:\.\d{1,9})?)s"', text)
    return float(found[1]) if found else None


def _span(value: str) -> float | None:
    """A span such as `1h2m3.5s` or `20ms`."""
    if not value or _SPAN.sub("", value):
        return None
    return sum(float(number) * _SECONDS[unit] for number, unit in _SPAN.findall(value))
