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
_ROW = re.compile(r"\s*\|")
_RULE_OF_TABLE = re.compile(r"\s*+\|[\s:|]*+-[\s:|-]*+\Z")
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
        return self._bare[number - 1]

    @cached_property
    def _bare(self) -> list[str]:
        return [line.removesuffix("\n").removesuffix("\r") for line in self.lines]

    def ending(self, number: int) -> str:
        """The end of a line, empty for a last one that has none."""
        return self.lines[number - 1][len(self.bare(number)) :]

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

    # --- what belongs together ----------------------------------------------------------------------

    @cached_property
    def note(self) -> Note:
        """What readers make of it; private parts are blank, secrets are there."""
        return parse(decode(self._data), self.path, redacted=False)

    def shown(self, first: int, last: int) -> str:
        """Return lines as they may be shown: private parts blank, secrets redacted.

        The whole note is redacted: a key, or a value below the word for it, is known by its context alone.
        """
        return "\n".join(self._shown[first - 1 : last])

    @cached_property
    def _shown(self) -> Sequence[str]:
        return parse(decode(self._data), self.path).lines

    @cached_property
    def statements(self) -> list[Statement]:
        """What the note states, one by one."""
        return statements.read(self.note)

    def owner(self, number: int) -> Statement | None:
        """The statement one of whose own lines this is."""
        return self._owners.get(number)

    @cached_property
    def _owners(self) -> dict[int, Statement]:
        """The statements by their own lines."""
        found: dict[int, Statement] = {}
        for statement in self.statements:
            for number in range(statement.first, statement.last + 1):
                found.setdefault(number, statement)
        return found

    def begins(self, number: int) -> bool:
        """Whether a statement begins with a line."""
        owner = self._owners.get(number)
        return owner is not None and owner.first == number

    @cached_property
    def _around(self) -> Sequence[Statement | None]:
        """The innermost statement that each line, by its number, belongs to."""
        found: list[Statement | None] = [None] * (len(self.lines) + 2)
        stack: list[Statement] = []
        stated = iter([*self.statements, None])
        after = next(stated)
        for number in range(1, len(self.lines) + 1):
            while after is not None and after.first <= number:
                stack.append(after)
                after = next(stated)
            while stack and stack[-1].end < number:
                stack.pop()
            found[number] = stack[-1] if stack else None
        return found

    def unit(self, number: int) -> range:
        """All that goes where a line goes whole: its statement, section, row, fence, key of front matter."""
        front = self.note.front_matter
        if front and front[0] <= number <= front[1]:
            return self._front(number, *front)
        if (fence := self.fence(number)) is None and _ROW.match(self.lines[number - 1]):
            return self._row(number)
        if around := self._around[number]:
            return range(around.first, around.end + 1)
        return self._sections.get(number) or fence or range(number, number + 1)

    def fence(self, number: int) -> range | None:
        """The fence that a line is in, its marks included."""
        place = bisect_right(self.note.fences, (number, len(self.lines) + 1)) - 1
        first, last = self.note.fences[place] if place >= 0 else (0, 0)
        return range(first, last + 1) if first <= number <= last else None

    def is_mark(self, number: int) -> bool:
        """Whether a line begins or ends a fence or front matter."""
        fence, front = self.fence(number), self.note.front_matter
        return number in (*((fence[0], fence[-1]) if fence else ()), *(front or ()))

    def is_heading(self, number: int) -> bool:
        """Whether a line is a heading, or the text of an underlined one."""
        return number in self._sections

    def places(self, lines: Sequence[str]) -> list[int]:
        """The lines from which on some lines stand here, without their ends.

        By the failures of what was matched so far (Knuth, Morris and Pratt, 1977): equal lines may repeat.
        """
        back = [0] * len(lines)
        for place in range(1, len(lines)):
            at = back[place - 1]
            while at and lines[at] != lines[place]:
                at = back[at - 1]
            back[place] = at + (lines[at] == lines[place])
        found, at = [], 0
        for number in range(1, len(self.lines) + 1 if lines else 0):
            line = self.bare(number)
            while at and (at == len(lines) or lines[at] != line):
                at = back[at - 1]
            at += lines[at] == line
            if at == len(lines):
                found.append(number - len(lines) + 1)
        return found

    def in_front(self, number: int) -> bool:
        """Whether a line is one of front matter."""
        front = self.note.front_matter
        return front is not None and front[0] <= number <= front[1]

    def whole(self, gone: Set[int]) -> set[int]:
        """Lines that go, with those that must not stay without them: of fences, comments, private parts."""
        found = set(gone)
        for span in [*self._hidden, *self._fences()]:
            if not found.isdisjoint(span):
                found |= set(span)
        return found

    @cached_property
    def _hidden(self) -> list[range]:
        """The lines of private parts and comments that reach over several."""
        found = []
        for match in _HIDDEN.finditer(self.text):
            first, last = self.line_at(match.start()), self.line_at(max(match.start(), match.end() - 1))
            if last > first:
                found.append(range(first, last + 1))
        return found

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
        return range(number, self._table_ends[number] + 1)

    @cached_property
    def _table_ends(self) -> Sequence[int]:
        """The last row of the table that goes on behind each line, by its number."""
        found = list(range(len(self.lines) + 1))
        for number in range(len(self.lines) - 1, 0, -1):
            if _ROW.match(self.lines[number]):
                found[number] = found[number + 1]
        return found

    @cached_property
    def _sections(self) -> dict[int, range]:
        """All under each heading, by its line."""
        found: dict[int, range] = {}
        around: list[tuple[int, int]] = []  # levels and lines of headings that go on
        for level, line in [*((h.level, h.line) for h in self.note.headings), (0, len(self.lines) + 1)]:
            while around and around[-1][0] >= level:
                first = around.pop()[1]
                found[first] = range(first, line)
            around.append((level, line))
        return found


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
