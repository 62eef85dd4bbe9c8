"""What a note says of its lines, brought from where it stands to the lines that it is about.

Front matter is about the whole note; a comment on a heading, or on a line of its own directly below one,
about all that stands under the heading; any other about its entry. What stands nearer wins.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from commonplace.chunking import turns
from commonplace.notes import comments
from commonplace.types import Note

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_LONGEST_ENTRY = 500  # lines that are looked at; what is longer is no entry
# Lines that differ in one of these are not put into one passage: it would be trusted, or not, as a whole.
_STANDING = (
    "status", "superseded-by", "valid-until", "by", "agent", "session", "project", "since", "pinned",
)  # fmt: skip
# What is said of struck text alone, not of what is left of its line.
_OF_STRUCK = ("until", "struck-by", "struck-agent", "superseded-by")


class Said:
    """What is said of each line of a note."""

    def __init__(self, note: Note) -> None:
        """Read the note's front matter and comments; both are nearly always empty."""
        self._note = _valid(comments.of_front_matter(note.metadata)) if note.metadata else {}
        self._lines: dict[int, Mapping[str, str]] = {}
        self._facts: dict[int, int] = {}  # the line that says since when a line holds, unless a heading does
        comments_of = {line: own for line in note.annotations if (own := _valid(note.annotations[line]))}
        if comments_of:
            ranges = [found for found in _Ranges(note) if found.line in comments_of]
            ranges.sort(key=lambda found: (not found.section, found.first))  # entries last: nearest
            self._fill(ranges, comments_of)

    def _fill(self, ranges: Sequence[_Range], comments_of: Mapping[int, Mapping[str, str]]) -> None:
        """Say of each line what the ranges around it do, the last of them above all; one pass over the lines.

        What is said grows and shrinks by the ranges that begin and end, which are within each other: as a
        rule only the last one changes.
        """
        begin: dict[int, list[int]] = {}
        end: dict[int, list[int]] = {}
        for rank, found in enumerate(ranges):
            begin.setdefault(found.first, []).append(rank)
            end.setdefault(found.last + 1, []).append(rank)
        around: list[int] = []  # ranks of the ranges around a line, in order
        said: list[tuple[Mapping[str, str], int]] = [(self._note, 0)]  # without any, with the first …
        places = sorted(begin.keys() | end.keys())
        for place, after in pairwise(places):
            kept = len(around)
            if gone := set(end.get(place, ())):
                kept = bisect_left(around, min(gone))
                around[kept:] = [rank for rank in around[kept:] if rank not in gone]
            for rank in begin.get(place, ()):
                at = bisect_left(around, rank)
                around.insert(at, rank)
                kept = min(kept, at)
            del said[kept + 1 :]
            for rank in around[kept:]:
                said.append(_added(*said[-1], ranges[rank], comments_of[ranges[rank].line]))
            for number in range(place, after) if around else ():
                self._lines[number], fact = said[-1]
                if fact:
                    self._facts[number] = fact

    def __bool__(self) -> bool:
        return bool(self._note or self._lines)

    def of(self, first: int, last: int) -> Mapping[str, str] | None:
        """What is said of some lines: the greatest importance, every trigger, all else as in the first."""
        return self._all(first, last, lambda own: own)

    def still(self, first: int, last: int) -> Mapping[str, str] | None:
        """What is said of what is not struck in some lines."""
        return self._all(first, last, _still)

    def _all(
        self, first: int, last: int, read: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> Mapping[str, str] | None:
        if first == last:
            own = self._lines.get(first, self._note)
            return (dict(read(own)) or None) if own else None
        found: dict[str, str] = {}
        for number in range(first, last + 1):
            for key, value in read(self._lines.get(number, self._note)).items():
                found[key] = _both(key, found[key], value) if key in found else value
        return found or None

    def differ(self, line: int, other: int) -> bool:
        """Whether two lines may not share a passage.

        An entry that says since when it holds is a fact of its own: beside others it would be found for their
        words, and be taken for a newer word on what they say. One of the day that its heading names is not,
        as in the note of a month.
        """
        if not self._lines:
            return False
        if self._facts.get(line) != self._facts.get(other):
            return True
        one, two = (_still(self._lines.get(number, self._note)) for number in (line, other))
        return any(one.get(key) != two.get(key) for key in _STANDING)


def _still(own: Mapping[str, str]) -> Mapping[str, str]:
    """What is said of a line without what is said of its struck parts alone."""
    if "until" not in own and "struck-by" not in own:
        return own
    return {key: value for key, value in own.items() if key not in _OF_STRUCK}


def _both(key: str, one: str, other: str) -> str:
    if key == "importance":
        return str(max(int(one), int(other)))
    if key == "trigger" and other not in one:
        return f"{one}, {other}"
    return one


def _valid(found: Mapping[str, str]) -> dict[str, str]:
    """Leave out what is empty, no number or no day; an importance is kept within 1 to 10."""
    kept = {key: value for key, value in found.items() if value}
    if (told := kept.pop("importance", "")) and told.isascii() and told.isdigit():
        kept["importance"] = str(min(10, max(1, int(told))))
    for key in ("valid-until", "since", "until"):
        if (day := kept.get(key)) and not _is_day(day):
            del kept[key]
    return kept


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


class _Range(NamedTuple):
    """Lines that a comment is about, whether they are a section, and the comment's line."""

    first: int
    last: int
    section: bool
    line: int


def _added(
    before: Mapping[str, str], fact: int, found: _Range, own: Mapping[str, str]
) -> tuple[Mapping[str, str], int]:
    """What is said, and the line that says since when, with what a range adds."""
    if not found.section and own.get("since", before.get("since")) != before.get("since"):
        fact = found.line
    return {**before, **own}, fact


class _Ranges:
    """The lines that each comment of a note is about."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._headings = {heading.line for heading in note.headings}
        self._known: dict[int, tuple[int, int]] = {}  # entries, by a line of theirs

    def __iter__(self) -> Iterator[_Range]:
        note = self._note
        above = self._above()
        for line in note.annotations:
            at = above.get(line, line)
            if section := self._sections.get(at):
                yield _Range(*section, True, line)
                continue
            if not note.lines[at - 1].strip():
                at = self._below[line]
            if at:  # or, where nothing does, below
                yield _Range(*self._entry(at), False, line)

    def _above(self) -> dict[int, int]:
        """What stands directly above comments on lines of their own, by their lines."""
        found: dict[int, int] = {}
        for line in sorted(self._note.annotations):
            if line > 1 and not self._note.lines[line - 1].strip():
                found[line] = found.get(line - 1, line - 1)
        return found

    @cached_property
    def _below(self) -> Sequence[int]:
        """The next line from each on, by its number, that is not blank; 0 for none."""
        found = [0] * (len(self._note.lines) + 2)
        for number in range(len(self._note.lines), 0, -1):
            found[number] = number if self._note.lines[number - 1].strip() else found[number + 1]
        return found

    @cached_property
    def _sections(self) -> dict[int, tuple[int, int]]:
        """The lines under each heading, its further headings included, by its line and its underline."""
        note = self._note
        found: dict[int, tuple[int, int]] = {}
        open_: list[tuple[int, int]] = []  # levels and lines of headings that go on
        for level, line in [*((h.level, h.line) for h in note.headings), (0, len(note.lines) + 1)]:
            while open_ and open_[-1][0] >= level:
                first = open_.pop()[1]
                found[first] = first, line - 1
                if set(note.lines[first].strip() if first < len(note.lines) else "") in ({"="}, {"-"}):
                    found.setdefault(first + 1, found[first])
            open_.append((level, line))
        return found

    def _entry(self, line: int) -> tuple[int, int]:
        """A list item with what is indented below it; otherwise a line with those of its paragraph above."""
        if line in self._known:
            return self._known[line]
        lines, start = self._note.lines, line
        while start > max(1, line - _LONGEST_ENTRY) and not _begins(lines[start - 1]):
            above = start - 1
            blank = not lines[above - 1].strip()
            if blank or above in self._headings or above in self._note.annotations:
                break
            start = above
        end = line
        if _ITEM.match(lines[start - 1]):
            deep = _indent(lines[start - 1])
            # Items that start at the margin do not overlap, so what is said in their first line holds to the
            # end.
            limit = len(lines) if start == line and not deep else min(len(lines), line + _LONGEST_ENTRY)
            end = _end_of_item(lines, line, limit, deep)
        if comments.is_guess(lines[line - 1]):
            end = max(end, self._ends[line])
        self._known[line] = start, end
        return start, end

    @cached_property
    def _ends(self) -> Sequence[int]:
        """The last line that goes on with what each line says, by its number."""
        lines = self._note.lines
        passed = self._headings | {first for first, _ in self._note.fences}
        found = list(range(len(lines) + 1))
        for number in range(len(lines) - 1, 0, -1):
            if lines[number].strip() and number + 1 not in passed and not _begins(lines[number]):
                found[number] = found[number + 1]
        return found


def _end_of_item(lines: Sequence[str], line: int, limit: int, deep: int) -> int:
    """The last line of an item: what is indented further belongs to it, over blank lines too."""
    end = line
    for number in range(line, limit):
        if lines[number].strip():
            if _indent(lines[number]) <= deep:
                break
            end = number + 1
    return end


def _begins(line: str) -> bool:
    return _ITEM.match(line) is not None or turns.speaker(line) is not None


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())
