"""Where a stretch of lines may be cut, how good each place is, and how large a line."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Sequence

from commonplace.base.expressions import lazy
from commonplace.markdown import structure
from commonplace.types import Note

# How natural a cut before a line is. The order (heading, fence, rule, paragraph, list item, line) is
# QMD's; a cut further from the wanted size must be that much better, by a square law.
HEADING, FENCE, RULE, BLANK, ITEM, LINE = 100.0, 80.0, 60.0, 20.0, 5.0, 1.0
DECAY = 0.7

_ITEM = lazy(r"\s*(?:[-*+]|\d+[.)])\s")
_SENTENCE_END = lazy(r"[.!?;][\"')\]]*\s+|[。！？；…][”’」』）]*")
_CLAUSE_END = lazy(r"\s+|[，、：,]")


def score(note: Note, number: int) -> float:
    """Score a cut before line `number` (1-based) of a note."""
    line, above = note.lines[number - 1], note.lines[number - 2] if number > 1 else ""
    heading = bisect_left(note.headings, number, key=lambda heading: heading.line)
    if line.startswith("#") and heading < len(note.headings) and note.headings[heading].line == number:
        return HEADING
    fence = bisect_left(note.fences, (number, 0))  # the first that begins here or below
    if fence < len(note.fences) and note.fences[fence][0] == number:
        return FENCE
    if fence and note.fences[fence - 1][1] == number - 1:
        return FENCE
    if not above.strip():
        return RULE if structure.RULE.match(line) else BLANK
    return ITEM if _ITEM.match(line) else LINE


def choose(sizes: Sequence[int], score: Callable[[int], float], start: int, end: int, window: float) -> int:
    """Choose where to cut units `start..end` (exclusive), at `end` or at a better place before it.

    `sizes` are those of the units, `score` tells that of a cut before a unit. Returns the index of the unit
    that opens the next passage, in `start + 1 .. end`. Each place's score is multiplied by
    1 - 0.7 x (distance / window) squared, the distance being the size left behind.
    """
    best, where, distance = score(end), end, 0
    for index in range(end - 1, start, -1):
        distance += sizes[index - start]
        if distance > window:
            break
        value = score(index) * (1 - DECAY * (distance / window) ** 2)
        if value > best:
            best, where = value, index
    return where


def pieces(line: str, limit: int) -> list[str]:
    """Cut one long line into pieces of at most `limit` characters.

    Each cut falls at the last sentence end that fits, else at the last clause or space, else at the limit;
    the pieces are the line's own substrings, stripped.
    """
    result: list[str] = []
    start = 0
    while len(line) - start > limit:
        window = line[start : start + limit]
        size = _last(_SENTENCE_END, window, limit // 3) or _last(_CLAUSE_END, window, limit // 3) or limit
        result.append(line[start : start + size].strip())
        start += size
    result.append(line[start:].strip())
    return [piece for piece in result if piece]


def width(line: str, wide: int) -> int:
    """Size of a line when a wide character counts as `wide`.

    A CJK character takes three bytes in UTF-8, so half of what the bytes are more than the characters is
    their number; accented letters count a little over one, which is near enough.
    """
    if line.isascii():
        return len(line)
    return len(line) + (wide - 1) * (len(line.encode("utf-8", "replace")) - len(line)) // 2


def _last(pattern: re.Pattern[str], window: str, least: int) -> int:
    """End of the last match that leaves at least `least` characters before it, else 0."""
    return max((m.end() for m in pattern.finditer(window) if m.end() >= least), default=0)
