"""Code in Markdown, where what else is markup is text: fences, and spans between backquotes on one line.

Whoever reads a mark there as a mark loses text; whoever takes a mark for code that is none may show what is
private. So a span counts only where nobody could mistake it: on one line that has no backslash before a
backquote, without blanks inside its ends, and not in the middle of a word.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate

_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_TICKS = re.compile(r"`+")


def may_fence(line: str) -> bool:
    """Tell whether a text holds what may open or close a fence."""
    return "```" in line or "~~~" in line


def fence_mark(line: str) -> str:
    """Return the mark of the fence that a line opens, empty for a line that opens none."""
    match = _FENCE.match(line) if may_fence(line) else None
    return match["mark"] if match and not (match["mark"][0] == "`" and "`" in match["info"]) else ""


def closes_fence(line: str, mark: str) -> bool:
    """Tell whether a line closes the fence opened by `mark`."""
    bare = line.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare) and line[:4] != "    "


def spans(line: str) -> Iterator[tuple[int, int]]:
    """Yield where code between backquotes on a line begins and ends, without these."""
    if "\\`" in line:
        return
    for first, close in _pairs(line):
        start, end = first[1], close[0]
        outside = line[first[0] - 1 : first[0]] + line[close[1] : close[1] + 1]
        if not any(map(str.isalnum, outside)) and not (line[start].isspace() or line[end - 1].isspace()):
            yield start, end


def _pairs(line: str) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Yield the runs of backquotes that belong together, as each is closed by the next one of its length."""
    runs = [run.span() for run in _TICKS.finditer(line)]
    later: dict[int, list[int]] = {}  # runs by their length, those further left at the end
    for place in range(len(runs) - 1, -1, -1):
        later.setdefault(runs[place][1] - runs[place][0], []).append(place)
    place = 0
    while place < len(runs):
        same = later[runs[place][1] - runs[place][0]]
        while same and same[-1] <= place:
            same.pop()
        if same:
            yield runs[place], runs[same[-1]]
            place = same[-1]
        place += 1


def _leaves_open(line: str) -> bool:
    """Whether a run of backquotes on a line closes on none of it, so that it may on a later one."""
    if "`" not in line:
        return False
    inside = 0
    for first, close in _pairs(line):
        inside += line.count("`", first[0], close[1])
    return inside < line.count("`") or "\\`" in line


class Code:
    """The code of a text, by the places of characters."""

    def __init__(self, text: str, skip: int = 0, *, nested: bool = False) -> None:
        """Read the fences below line `skip`; `nested` ones that are indented end before what is less so."""
        self._lines = text.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))
        self._fences = list(self._read(skip, nested=nested))
        self._spans: dict[int, list[tuple[int, int]]] = {}
        self._open: list[bool] = []  # whether a span may begin above a line that ends on it
        fenced = {number for first, last in self._fences for number in range(first - 1, last + 2)}
        is_open = False
        for number, line in enumerate(self._lines):
            is_open = is_open and line.strip() != "" and number not in fenced
            self._open.append(is_open)
            is_open = is_open or (number not in fenced and _leaves_open(line))

    def _read(self, skip: int, *, nested: bool) -> Iterator[tuple[int, int]]:
        """Yield the first and last line (from 0) of what stands within each fence, indented as it is."""
        opened, mark, deep, last = 0, "", 0, -1
        for number, line in enumerate(self._lines[skip:], skip):
            indent = len(line) - len(line.lstrip(" \t"))
            is_less = mark != "" and line.strip() != "" and indent < deep
            if is_less and last < 0:
                last = number - 1
            ends = mark != "" and (closes_fence(line, mark) or (nested and is_less))
            if ends:
                yield opened + 1, last if last >= 0 else number - 1
            if not mark or (ends and nested and is_less):
                mark, opened, deep, last = fence_mark(line), number, indent, -1
            elif ends:
                mark = ""
        if mark:
            yield opened + 1, last if last >= 0 else len(self._lines) - 1

    def end(self, place: int) -> int:
        """Return where the code that a place is in ends; -1 for a place outside of code."""
        number = bisect_right(self._starts, place) - 1
        at = bisect_right(self._fences, number, key=lambda fence: fence[0]) - 1
        if at >= 0 and number <= self._fences[at][1]:
            return self._starts[self._fences[at][1] + 1] - 1
        if number not in self._spans:
            self._spans[number] = [] if self._open[number] else list(spans(self._lines[number]))
        start = self._starts[number]
        ends = (end + start for first, end in self._spans[number] if first <= place - start < end)
        return next(ends, -1)
