"""Text of tools made fit to be kept: cleaned, redacted as a whole, and only then cut to a few lines.

Nothing is cut before it is redacted, for half a secret is not recognised. Of a very long text only both ends
are redacted, and of those only the outer parts are shown, so that what the cut went through is never seen.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from itertools import accumulate

from commonplace.markdown import fences
from commonplace.redaction.recalled import strip_recalled
from commonplace.redaction.redact import redact, redact_personal, strip_private

WINDOW = 16_000  # characters at either end of a long text that are redacted
# Of these, those next to the cut, which may hold half a secret: only a block with a key is longer.
MARGIN = 2_000
LINE, LINES = 160, 24  # characters of a line in an excerpt, and lines of one
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]{0,2000}(?:\x07|\x1b\\)?|[@-Z\\^_])")
_OVERWRITTEN = re.compile(r"[^\n\r]*+\r(?=[^\n\r])")  # a progress bar writes its line again and again
_UNSEEN = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u2028-\u202e\u2060\u2066-\u2069\ufeff]"
    r"|[\ud800-\udfff]"
)
_BLOB = re.compile(r"(?:data:[\w/+.-]{1,60};base64,)?[A-Za-z0-9+/_=-]{120,}")
_GAP = "… {:,} characters …"
_DAMAGE = 0.1  # from this share of unreadable characters on, data is not text
_UNREADABLE = [chr(code) for code in (*range(0x09), *range(0x0E, 0x1B), 0xFFFD)]


def public(text: str) -> str:
    """Return what may be kept of a text: no recalled block, private part, secret or personal data.

    Of a text longer than two windows only both ends come back, with a line that says so between them.
    """
    text = strip_private(strip_recalled(_readable(text)))
    if len(text) > 2 * WINDOW and "PRIVATE KEY" not in text:
        left = len(text) - 2 * (WINDOW - MARGIN)
        head, tail = _redacted(text[:WINDOW])[:-MARGIN], _redacted(text[-WINDOW:])[MARGIN:]
        return f"{head}\n{_GAP.format(left)}\n{tail}"
    return _redacted(text)


def _redacted(text: str) -> str:
    text = redact(text)[0]
    return redact_personal(text)[0]


def _readable(text: str) -> str:
    """Return a text as a screen would show it, or a word for one that is binary."""
    sample = text[:WINDOW]
    if sum(map(sample.count, _UNREADABLE)) > _DAMAGE * len(sample):
        return f"(binary, {len(text):,} characters)"
    text = text.replace("\r\n", "\n")
    if "\x1b" in text:
        text = _ESCAPES.sub("", text)
    if "\r" in text:
        text = _OVERWRITTEN.sub("", text).replace("\r", "\n")
    return _UNSEEN.sub("", text)


def lines_of(text: str, most: int) -> list[str]:
    """Return the first and last lines of a public text, at most `most` characters of it, blank ones left out.

    Lines are whole, or cut in the middle where one is long; runs of encoded data are named, not shown.
    """
    named = partial(_BLOB.sub, lambda blob: f"({len(blob[0]):,} characters of data)")
    lines = [cut(named(line.rstrip()), LINE) for line in text.split("\n") if line.strip()]
    if len(lines) <= LINES and sum(len(line) + 1 for line in lines) <= most:
        return lines
    head, tail = _fitting(lines, most)
    left = lines[head : len(lines) - tail]
    start, end = _GAP.split("{:,}")
    cuts = (line for line in left if line.startswith(start) and line.endswith(end))
    gap = next(cuts, f"… {len(left)} line{'s' * (len(left) > 1)} …")
    return [*lines[:head], gap, *lines[len(lines) - tail :]]


def _fitting(lines: Sequence[str], most: int) -> tuple[int, int]:
    """How many of the first lines and of the last fit, taken in turn; the first one always does."""
    in_turn = [line for pair in zip(lines, reversed(lines), strict=True) for line in pair]
    sizes = accumulate(len(line) + 1 for line in in_turn[: min(LINES, len(lines))])
    fitting = max(1, sum(size <= most for size in sizes))
    return (fitting + 1) // 2, fitting // 2


def cut(text: str, most: int) -> str:
    """Return a text on one line, cut in the middle."""
    if len(text) <= most:
        return text
    head = (most - 3) * 2 // 3
    return f"{text[:head].rstrip()} … {text[len(text) - (most - 3 - head) :].lstrip()}"


def fenced(lines: list[str], kind: str = "") -> list[str]:
    """Return lines as a block of code that no line in it can close."""
    if not lines:
        return []
    mark = fences.around(lines)
    return [mark + kind, *lines, mark]
