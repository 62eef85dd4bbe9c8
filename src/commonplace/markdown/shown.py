"""What is shown of a passage: its lines completed to what stands by itself, found when a note is cut.

Passages of a few lines rank best (`chunking.passages`). Whoever reads one needs the whole sentence, item,
fence or short section around it; of a long fence the line that opens it, of a table its header, of a nested
item those around it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import accumulate, pairwise

from commonplace.base.expressions import lazy
from commonplace.markdown import fences, structure, turns
from commonplace.markdown.structure import StatementLines
from commonplace.types import Note

TALK = 0.5  # share of turns from which a section is talk, whose lines are complete
OUTER = 3  # items around one that are named
# Sizes in UTF-8 bytes (`structure.width`): the most that is shown of a passage, a section and a fence that
# are shown whole, the items nested in one.
SHOWN = 600
SECTION, FENCE, NESTED = 0.5 * SHOWN, 2.0 * SHOWN, 0.4 * SHOWN
_ENDS = lazy(r"""(?:[.!?:。！？：…][\"'”’」』）)*_`]*|\\|  )$""")
_INTRODUCTION = lazy(r":[ *_]*$", re.MULTILINE)
_GOES_ON = (",", "，", "、", ";", "；", "(", "（", "—")
_INTRODUCES = (":", "：")

Span = tuple[int, int]  # first and last line, 1-based and inclusive
# First and last line; header: pairs (passages back, line number) of lines above the range; the line that
# opens the fence in which the passage begins.
Shown = tuple[int, int, Sequence[tuple[int, int]], str]
# A passage: first and last line, text, annotations, speakers.
Part = tuple[int, int, str, Mapping[str, str] | None, tuple[str, ...]]


class Completion:
    """Completes the passages of a note, section by section."""

    def __init__(self, note: Note) -> None:
        """Take a note without its struck lines."""
        self.lines = list(note.lines)  # those that no passage holds become empty
        self.fenced = structure.lines_of(*note.fences)
        ends = ((span, note.lines[span[1] - 1].strip(" \t>")) for span in note.fences)
        self._fences = [span for span, end in ends if span[0] < span[1] and end and not end.strip(end[0])]

    def of_section(self, parts: Sequence[Part]) -> list[Shown | None]:
        """Return the range shown of each passage (None: itself); stop at cut lines and new annotations."""
        ends = [self._ends(upper, lower) for upper, lower in pairwise(parts)]  # whether text ends between two
        borders = [0]
        for at, (upper, lower) in enumerate(pairwise(parts), 1):
            differ = upper[3] != lower[3] and {**(upper[3] or {}), "at": ""} != {**(lower[3] or {}), "at": ""}
            if upper[1] >= lower[0] or differ:
                borders.append(at)
            self.lines[upper[1] : lower[0] - 1] = [""] * (lower[0] - 1 - upper[1])
        starts, found = [part[0] for part in parts], list[Shown | None]()
        is_short = not borders[1:] and sum(len(part[2]) for part in parts) <= SECTION
        for begin, end in pairwise([*borders, len(parts)]):
            run: _Run | None = None
            for at in range(begin, end):
                own, last, text, *_ = parts[at]
                is_apart = (at == begin or ends[at - 1]) and (at + 1 == end or ends[at])
                is_alone = is_apart and not (is_short or own in self.fenced or fences.may_fence(text))
                if is_alone and "：" not in text and not (":" in text and _INTRODUCTION.search(text)):
                    found.append(None)
                    continue
                run = run or _Run(self, starts[begin], parts[end - 1][1], is_whole=is_short)
                span = run.complete(own, last) if end - begin > 1 else (own, last)
                header = [(1 + at - bisect_right(starts, line), line) for line in run.above(span[0])]
                around = self.fence(own) or (own, own)
                fence = self.lines[around[0] - 1] if around[0] < own else ""
                is_more = header or fence or span != (own, last) or fences.may_fence(text)
                found.append((*span, header, fence) if is_more else None)
        return found

    def _ends(self, upper: Part, lower: Part) -> bool:
        """Tell whether what a passage says surely ends with it, and the next one begins something else."""
        above, below = self.lines[upper[1] - 1], self.lines[lower[0] - 1]
        if below[0] in " \t|>" or upper[1] in self.fenced or above.rstrip(" *_").endswith(_INTRODUCES):
            return False
        return lower[0] > upper[1] + 1 or structure.ITEM.match(below) is not None

    def fence(self, line: int) -> Span | None:
        """Return the closed fence around a line."""
        if line not in self.fenced:
            return None
        at = bisect_right(self._fences, (line, len(self.lines))) - 1
        return self._fences[at] if at >= 0 and line <= self._fences[at][1] else None


class _Run:
    """Passages of a section, one after the other, that may be shown together."""

    def __init__(self, completion: Completion, first: int, last: int, *, is_whole: bool) -> None:
        self._completion, self._lines = completion, completion.lines
        self._first, self._last, self._is_whole = first, last, is_whole
        widths = map(structure.width, completion.lines[first - 1 : last])
        self._sums = list(accumulate((width + (width > 0) for width in widths), initial=0))
        self._broadest: dict[int, int] = {}  # by the first line of a place

    @cached_property
    def _places(self) -> Sequence[StatementLines]:
        return structure.places(self._lines, range(self._first, self._last + 1), self._completion.fenced)

    @cached_property
    def _firsts(self) -> Sequence[int]:
        return [place.first for place in self._places]

    def complete(self, first: int, last: int) -> Span:
        """Extend a range of lines to whole sentences, items and fences that fit; return the range."""
        if self._is_whole and self._fits(self._first, self._last, SECTION):
            return self._first, self._last
        if not self._firsts or self._firsts[0] > first:  # a fence goes on here
            return first, last
        opening, closing = self._at(first), self._at(last)
        return self._with_lead_in(opening, closing, *self._own(opening, closing, first, last))

    def above(self, first: int) -> Iterator[int]:
        """Yield the lines above one without which the text from there on is not understood."""
        is_deep = first > self._first and self._lines[first - 1][:1] in (" ", "\t", ">", "|")
        if not is_deep or first < (self._firsts or [first + 1])[0]:
            return
        place = self._places[self._at(first)]
        outer, around = place.outer, list[int]()
        while outer is not None and len(around) < OUTER:
            around.append(outer.first)
            outer = outer.outer
        if self._size(around) <= NESTED:
            yield from reversed(around)
        if first not in self._completion.fenced and structure.ROW.match(self._lines[first - 1]):
            header = self._tables[first - self._first]
            rows = range(header, min(first, header + 2))
            if rows and structure.DIVIDER.match(self._lines[header]) and self._size(rows) <= SHOWN:
                yield from rows

    @cached_property
    def _tables(self) -> Sequence[int]:
        """Map each line to the first line of its table, or to itself."""
        firsts: list[int] = []
        for number in range(self._first, self._last + 1):
            is_row = structure.ROW.match(self._lines[number - 1]) is not None
            goes_on = is_row and number > self._first and structure.ROW.match(self._lines[number - 2])
            firsts.append(firsts[-1] if goes_on else number)
        return firsts

    def _at(self, number: int) -> int:
        """The index of the place around a line."""
        return bisect_right(self._firsts, number) - 1

    def _fits(self, first: int, last: int, size: float = SHOWN) -> bool:
        return self._sums[last + 1 - self._first] - self._sums[first - self._first] <= size

    def _size(self, numbers: Iterable[int]) -> int:
        return sum(structure.width(self._lines[number - 1]) for number in numbers)

    def _is_fence(self, place: StatementLines) -> bool:
        return place.is_silent and self._completion.fence(place.first) is not None

    def _own(self, opens: int, closes: int, first: int, last: int) -> Span:
        """Complete lines that begin and end in two places to whole fences, items and sentences that fit."""
        start, end = first, last
        opening, closing = self._places[opens], self._places[closes]
        if self._is_fence(opening):
            start = opening.first if self._fits(opening.first, max(last, opening.last), FENCE) else first
        while start > opening.first and self._goes_on(opening, start - 1) and self._fits(start - 1, first):
            start -= 1
        if self._is_fence(closing):
            return start, closing.last if self._fits(start, closing.last, FENCE) else end
        while end < closing.last and self._goes_on(closing, end) and self._fits(last, end + 1):
            end += 1
        if end == closing.last < closing.end and self._fits(end + 1, closing.end, NESTED):
            end = closing.end if self._fits(start, closing.end) else end
        return start, end

    def _goes_on(self, place: StatementLines, number: int) -> bool:
        """Tell whether text continues below: by its end, or as the line is full."""
        line, following = self._lines[number - 1], self._lines[number].lstrip()
        if place.is_silent or not following:
            return False
        if place.is_item and structure.indent(self._lines[number]) > place.depth:
            return True
        if _ENDS.search(line):
            return False
        bare = line.rstrip()
        if bare.endswith(_GOES_ON) or following[0].islower():
            return True
        if place.first not in self._broadest:
            self._broadest[place.first] = max(map(structure.width, self._lines[place.first - 1 : place.last]))
        word = following.split(None, 1)[0] if following[0].isascii() else following[0]
        return structure.width(bare) + 1 + structure.width(word) > self._broadest[place.first]

    def _with_lead_in(self, at: int, closes: int, start: int, end: int) -> Span:
        """Extend a range to the lead-in that ends with a colon, and to the block it announces."""
        if at and start == self._firsts[at] and self._introduces(at - 1):
            size = FENCE if self._is_fence(self._places[at]) else SHOWN
            if self._fits(self._firsts[at - 1], end, size):
                start = self._firsts[at - 1]
        at = head = closes if end <= self._places[closes].last else self._at(end)
        while self._firsts[head] > start and _is_listed(self._places[head]):
            head -= 1
        if end == self._places[at].last and self._introduces(head):
            for number in range(at + 1, len(self._places)):
                below = self._places[number]
                size = FENCE if self._is_fence(below) else SHOWN
                belongs = _is_listed(below) or number == head + 1
                if not belongs or not self._fits(start, below.last, size):
                    break
                end = below.last
                if self._is_fence(below) or not _is_listed(below):
                    break
        return start, end

    def _introduces(self, at: int) -> bool:
        """Tell whether a place announces what follows it. Not what somebody says."""
        place = self._places[at]
        announces = self._lines[place.last - 1].rstrip(" *_").endswith(_INTRODUCES)
        if not announces or at + 1 == len(self._places) or place.is_silent:
            return False
        return turns.speaker(self._lines[place.first - 1]) is None


def _is_listed(place: StatementLines) -> bool:
    return place.is_item or place.is_silent or place.outer is not None
