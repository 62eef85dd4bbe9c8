"""A note as the lines of its file, and which of them belong together: statements, sections, rows, fences."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import cached_property

from commonplace.chunking import statements
from commonplace.notes.parse import decode, parse
from commonplace.types import Note
from commonplace.types.statements import Statement

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_ENDING = re.compile(r"(?:\r\n|\r|\n)\Z")
_ROW = re.compile(r"\s*\|")
_RULE_OF_TABLE = re.compile(r"\s*\|[\s:|-]*-[\s:|-]*\Z")
_FRONT_ITEM = re.compile(r"\s*-(?:\s|\Z)")
# What must not lose one of its ends: what is behind it would be shown, or swallowed.
_HIDDEN = re.compile(r"<private\b.*?(?:</private\s*>|\Z)|<!--.*?(?:-->|\Z)", re.IGNORECASE | re.DOTALL)
_UTF_16 = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}


class Page:
    """The lines of a note, counted from 1 as its readers count them, with their ends."""

    def __init__(self, path: str, data: bytes) -> None:
        """Read a file's bytes; any UTF-8 or not can be written back as it was."""
        self.path = path
        self._data = data
        self._encoding = _UTF_16.get(data[:2], "utf-8")
        self._errors = "surrogateescape" if self._encoding == "utf-8" else "surrogatepass"
        self.text = data.decode(self._encoding, self._errors if self._encoding == "utf-8" else "replace")
        self.lines: list[str] = _LINE.findall(self.text)

    def encoded(self, lines: Iterable[str]) -> bytes:
        """Return lines as the bytes of a file like this one."""
        return "".join(lines).encode(self._encoding, self._errors)

    def bare(self, number: int) -> str:
        """A line without its end."""
        return _ENDING.sub("", self.lines[number - 1])

    def ending(self, number: int) -> str:
        """The end of a line, empty for a last one that has none."""
        found = _ENDING.search(self.lines[number - 1])
        return found[0] if found else ""

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts in the text."""
        starts, at = [], 0
        for line in self.lines:
            starts.append(at)
            at += len(line)
        return starts

    def line_at(self, place: int) -> int:
        """The number of the line that holds a place of the text."""
        return bisect_right(self.starts, place)

    def places(self, lines: Sequence[str]) -> list[int]:
        """The numbers of the lines where some lines, given without their ends, begin."""
        bare, sought = [_ENDING.sub("", line) for line in self.lines], list(lines)
        starts = (at for at in range(len(bare) - len(sought) + 1) if bare[at] == sought[0])
        return [at + 1 for at in starts if bare[at : at + len(sought)] == sought]

    # --- what belongs together ----------------------------------------------------------------------

    @cached_property
    def note(self) -> Note:
        """What readers make of it; private parts are blank, secrets are there."""
        return parse(decode(self._data), self.path, redacted=False)

    @cached_property
    def statements(self) -> list[Statement]:
        """What the note states, one by one."""
        return statements.read(self.note)

    def owner(self, number: int) -> Statement | None:
        """The statement one of whose own lines this is."""
        return next((s for s in self.statements if s.first <= number <= s.last), None)

    def unit(self, number: int) -> range:
        """All that goes where a line goes whole: its statement, section, row, fence, key of front matter."""
        front = self.note.front_matter
        if front and front[0] <= number <= front[1]:
            return self._front(number, *front)
        if (fence := self.fence(number)) is None and _ROW.match(self.lines[number - 1]):
            return self._row(number)
        around = [s for s in self.statements if s.first <= number <= s.end]
        if around:
            return range(around[-1].first, around[-1].end + 1)
        return self._section(number) or fence or range(number, number + 1)

    def fence(self, number: int) -> range | None:
        """The fence that a line is in, its marks included."""
        found = (f for f in self.note.fences if f[0] <= number <= f[1])
        return next((range(first, last + 1) for first, last in found), None)

    def is_mark(self, number: int) -> bool:
        """Whether a line begins or ends a fence or front matter."""
        ranges = [*self.note.fences, *([self.note.front_matter] if self.note.front_matter else [])]
        return any(number in found for found in ranges)

    def in_front(self, number: int) -> bool:
        """Whether a line is one of front matter."""
        front = self.note.front_matter
        return front is not None and front[0] <= number <= front[1]

    def whole(self, gone: Set[int]) -> set[int]:
        """Lines that go, with those that must not stay without them: of fences, comments, private parts."""
        found = set(gone)
        for span in [*self._hidden(), *self._fences()]:
            if not found.isdisjoint(span):
                found |= set(span)
        return found

    def _hidden(self) -> Iterator[range]:
        """The lines of private parts and comments that reach over several."""
        for match in _HIDDEN.finditer(self.text):
            first, last = self.line_at(match.start()), self.line_at(max(match.start(), match.end() - 1))
            if last > first:
                yield range(first, last + 1)

    def _fences(self) -> Iterator[range]:
        """Fences as sets that are touched only by their marks."""
        for first, last in self.note.fences:
            yield range(first, last + 1, max(1, last - first))

    def _front(self, number: int, first: int, last: int) -> range:
        """A line of a list, or a key with all that belongs to it."""
        if number in (first, last):
            return range(0)
        start = number
        if not _FRONT_ITEM.match(self.lines[number - 1]):
            while start > first + 1 and self._continues(start):
                start -= 1
        end = start + 1
        deep = _indent(self.lines[start - 1])
        while end < last and (
            _indent(self.lines[end - 1]) > deep or (end <= number and self._continues(end))
        ):
            end += 1
        return range(start, end)

    def _continues(self, number: int) -> bool:
        """Whether a line of front matter belongs to a key above it."""
        line = self.lines[number - 1]
        return line[:1].isspace() or bool(_FRONT_ITEM.match(line))

    def _row(self, number: int) -> range:
        """A row of a table; the whole table for its head."""
        after = self.lines[number] if number < len(self.lines) else ""
        if not _RULE_OF_TABLE.match(after):
            return range(number, number + 1)
        end = number
        while end < len(self.lines) and _ROW.match(self.lines[end]):
            end += 1
        return range(number, end + 1)

    def _section(self, number: int) -> range | None:
        """All under the heading that a line is."""
        headings = self.note.headings
        for place, heading in enumerate(headings):
            if heading.line == number:
                further = (h.line for h in headings[place + 1 :] if h.level <= heading.level)
                return range(number, next(further, len(self.lines) + 1))
        return None


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
