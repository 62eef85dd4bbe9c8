"""Where the sentences of a statement begin and end, in English and Chinese."""

from __future__ import annotations

import re

# Runs of marks are taken from their first one and as a whole: what does not end a sentence is seen once.
_END = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’)\]*_~]*+(?=\s)|[。！？…]++[”’』」）~]*+")
_LONGEST_SHORT = 8  # characters of an abbreviation with its full stop and what stands before it
_SHORT = re.compile(
    r"(?:^|[\s(\[])(?:e\.g|i\.e|etc|vs|cf|ca|approx|no|nr|fig|mr|mrs|ms|dr|prof|st|inc|ltd|[a-z]|\d{1,3})\.$",
    re.IGNORECASE,
)


def spans(text: str) -> list[tuple[int, int]]:
    """Return start and end of every sentence of a text, blanks between them left out.

    A full stop behind an abbreviation, a single letter or a short number ends none, nor does one before a
    small letter.
    """
    found: list[tuple[int, int]] = []
    start = _next(text, 0)
    for end in _END.finditer(text):
        after = _next(text, end.end())
        if end.end() <= start or (after < len(text) and _goes_on(text, end, after)):
            continue
        found.append((start, end.end()))
        start = after
    if start < len(text):
        found.append((start, len(text.rstrip())))
    return found


def _goes_on(text: str, end: re.Match[str], after: int) -> bool:
    if "." not in end[0]:
        return False
    return text[after].islower() or _abbreviates(text, end.start() + 1)


def _abbreviates(text: str, stop: int) -> bool:
    """Whether a full stop, which is before a place, is that of an abbreviation."""
    return _SHORT.search(text, max(0, stop - _LONGEST_SHORT), stop) is not None


def _next(text: str, at: int) -> int:
    while at < len(text) and text[at].isspace():
        at += 1
    return at
