"""What a note says of its lines, brought from where it stands to the lines that it is about.

Front matter is about the whole note. A comment on a heading, or on a line of its own directly below one, is
about all that stands under the heading. Any other comment is about its entry. What stands nearer wins.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from commonplace.markdown import comments, structure, turns
from commonplace.types import Note

_LONGEST_ENTRY = 500  # lines that are looked at; what is longer is no entry
# Lines that differ in one of these are not put into one passage: it would be trusted, or not, as a whole.
_STANDING = (
    "status", "superseded-by", "valid-until", "by", "agent", "session", "project", "since", "pinned",
)  # fmt: skip
# What is said of struck text alone, not of what is left of its line.
_OF_STRUCK = ("until", "struck-by", "struck-agent", "superseded-by")

Values = Mapping[str, str]


class Annotations:
    """What is said of each line of a note."""

    def __init__(self, note: Note) -> None:
        """Read the note's front matter and comments; both are nearly always empty."""
        self._note = _valid(comments.of_front_matter(note.metadata)) if note.metadata else {}
        self._lines: dict[int, Values] = {}
        self._facts: dict[int, int] = {}  # the line that says since when a line holds, unless a heading does
        comments_of = {line: own for line in note.annotations if (own := _valid(note.annotations[line]))}
        if comments_of:
            ranges = [one for one in _Ranges(note) if one.line in comments_of]
            ranges.sort(key=lambda one: (not one.section, one.first))  # entries last: nearest
            self._fill(ranges, comments_of)

    def _fill(self, ranges: Sequence[_Range], comments_of: Mapping[int, Values]) -> None:
        """Say of each line what the ranges around it do, the last of them above all; one pass over the lines.

        What is said grows and shrinks by the ranges that begin and end, which are within each other: as a
        rule only the last one changes.
        """
        begin: dict[int, list[int]] = {}
        end: dict[int, list[int]] = {}
        for rank, one in enumerate(ranges):
            begin.setdefault(one.first, []).append(rank)
            end.setdefault(one.last + 1, []).append(rank)
        around: list[int] = []  # ranks of the ranges around a line, in order
        said: list[tuple[Values, int]] = [(self._note, 0)]  # without any, with the first …
        for place, after in pairwise(sorted(begin.keys() | end.keys())):
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
                (before, fact), one = said[-1], ranges[rank]
                own = comments_of[one.line]
                if not one.section and own.get("since", before.get("since")) != before.get("since"):
                    fact = one.line
                said.append(({**before, **own}, fact))
            for number in range(place, after) if around else ():
                self._lines[number], fact = said[-1]
                if fact:
                    self._facts[number] = fact

    def __bool__(self) -> bool:
        return bool(self._note or self._lines)

    def of(self, first: int, last: int) -> Values | None:
        """Return what is said of some lines: the greatest importance, every trigger, else the first."""
        return self._all(first, last, lambda own: own)

    def still(self, first: int, last: int) -> Values | None:
        """Return what is said of what is not struck in some lines."""
        return self._all(first, last, _still)

    def _all(self, first: int, last: int, read: Callable[[Values], Values]) -> Values | None:
        said: dict[str, str] = {}
        for number in range(first, last + 1):
            for key, value in read(self._lines.get(number, self._note)).items():
                if key not in said:
                    said[key] = value
                elif key == "importance":
                    said[key] = str(max(int(said[key]), int(value)))
                elif key == "trigger" and value not in said[key]:
                    said[key] += f", {value}"
        return said or None

    def differ(self, line: int, other: int) -> bool:
        """Tell whether two lines may not share a passage.

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


def _still(own: Values) -> Values:
    """What is said of a line without what is said of its struck parts alone."""
    if "until" not in own and "struck-by" not in own:
        return own
    return {key: value for key, value in own.items() if key not in _OF_STRUCK}


def _valid(said: Values) -> dict[str, str]:
    """Leave out what is empty, no number or no day; an importance is kept within 1 to 10."""
    kept = {key: value for key, value in said.items() if value}
    importance = kept.pop("importance", "")
    if importance.isascii() and importance.isdigit():
        kept["importance"] = str(min(10, max(1, int(importance))))
    for key in kept.keys() & {"valid-until", "since", "until"}:
        try:
            if date.fromisoformat(kept[key]).isoformat() != kept[key]:
                del kept[key]
        except ValueError:
            del kept[key]
    return kept


class _Range(NamedTuple):
    """Lines that a comment is about, whether they are a section, and the comment's line."""

    first: int
    last: int
    section: bool
    line: int


class _Ranges:
    """The lines that each comment of a note is about."""

    def __init__(self, note: Note) -> None:
        self._note = note
        self._headings = {heading.line for heading in note.headings}
        self._entries: dict[int, tuple[int, int]] = {}  # by a line of theirs

    def __iter__(self) -> Iterator[_Range]:
        lines = self._note.lines
        above: dict[int, int] = {}  # what stands directly above a comment on its own line
        for line in sorted(self._note.annotations):
            if line > 1 and not lines[line - 1].strip():
                above[line] = above.get(line - 1, line - 1)
        for line in self._note.annotations:
            at = above.get(line, line)
            if section := self._sections.get(at):
                yield _Range(*section, True, line)
                continue
            if not lines[at - 1].strip():
                at = self._below[line]
            if at:  # or, where nothing does, below
                yield _Range(*self._entry(at), False, line)

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
        found = structure.extents(self._note.headings, len(self._note.lines))
        for first, section in list(found.items()):
            if set("".join(self._note.lines[first : first + 1]).strip()) in ({"="}, {"-"}):
                found.setdefault(first + 1, section)
        return found

    def _entry(self, line: int) -> tuple[int, int]:
        """A list item with what is indented below it; otherwise a line with those of its paragraph above."""
        if line in self._entries:
            return self._entries[line]
        lines, start = self._note.lines, line
        while start > max(1, line - _LONGEST_ENTRY) and not _begins(lines[start - 1]):
            above = start - 1
            if not lines[above - 1].strip() or above in self._headings or above in self._note.annotations:
                break
            start = above
        end = line
        if structure.ITEM.match(lines[start - 1]):
            deep = structure.indent(lines[start - 1])
            # Items at the margin do not overlap, so what is said in their first line holds to the end.
            limit = len(lines) if start == line and not deep else min(len(lines), line + _LONGEST_ENTRY)
            for number in range(line, limit):
                if lines[number].strip():
                    if structure.indent(lines[number]) <= deep:
                        break
                    end = number + 1
        if comments.is_guess(lines[line - 1]):
            end = max(end, self._ends[line])
        self._entries[line] = start, end
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


def _begins(line: str) -> bool:
    return structure.ITEM.match(line) is not None or turns.speaker(line) is not None
