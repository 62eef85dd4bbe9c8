"""Notes as they are to be, with what is struck and put in; references follow, and all is read back first."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from commonplace.chunking import statements, strikes
from commonplace.errors import NoteUnreadable
from commonplace.notes import files
from commonplace.notes.parse import parse
from commonplace.revision import references, striking
from commonplace.revision.finding import Match
from commonplace.revision.shelf import Shelf
from commonplace.types.results import cite
from commonplace.types.revisions import Change
from commonplace.types.statements import Statement

Edit = Callable[[striking.Raw], object]


class _Inserted(NamedTuple):
    """Lines put into a note behind one of its lines, without their ends."""

    after: int
    lines: tuple[str, ...]


class Draft:
    """Changes of notes that are being composed; line numbers given to it are those of the files as read."""

    def __init__(self, shelf: Shelf) -> None:
        """Begin with the notes as they stand."""
        self.shelf = shelf
        self._edits: dict[str, list[Edit]] = {}
        self._inserted: dict[str, _Inserted] = {}
        self._struck: dict[str, list[Match]] = {}
        self._shortened: set[tuple[str, int]] = set()

    def edit(self, path: str, edit: Edit, changed: Statement | None = None) -> None:
        """Change the lines of a note, which stay as many; one statement may then say less."""
        self._edits.setdefault(path, []).append(edit)
        if changed is not None:
            self._shortened.add((path, changed.first))

    def strike(self, match: Match, *, until: str, by: str, agent: str, to: str = "") -> None:
        """Strike a statement, or the part of it that is meant."""

        def struck(raw: striking.Raw) -> None:
            raw.strike(match.statement, until=until, by=by, agent=agent, to=to, only=match.part)

        self.edit(match.statement.path, struck)
        self._struck.setdefault(match.statement.path, []).append(match)

    def insert(self, statement: Statement, entry: Sequence[str]) -> str:
        """Put a new entry behind a statement, once in a note; return where it will stand."""
        lines = striking.split(self.shelf.raw(statement.path))
        plain = not statement.item.strip()
        is_item = striking.is_item(entry[0])
        added = ["", *entry] if plain else list(entry)
        below = lines[statement.end].strip() if statement.end < len(lines) else ""
        if below and (plain or is_item != striking.is_item(lines[statement.end])):
            added.append("")
        self._inserted[statement.path] = _Inserted(statement.end, tuple(added))
        first = statement.end + 1 + plain
        return cite(statement.path, first, first + len(entry) - 1)

    def moved(self, path: str, line: int) -> int:
        """Where a line of a note will stand."""
        inserted = self._inserted.get(path)
        return line + len(inserted.lines) if inserted and line > inserted.after else line

    def citation(self, statement: Statement) -> str:
        """Where a statement will stand, as hits cite it."""
        lines = (self.moved(statement.path, n) for n in (statement.first, statement.last))
        return cite(statement.path, *lines)

    def changes(self) -> list[Change]:
        """Return the changes, those of references in other notes included.

        Raises NoteUnreadable where a note would not read back as it is meant.
        """
        made: list[Change] = []
        for path in self.shelf.paths:
            if path not in self._edits and not self._may_refer(self.shelf.glance(path)):
                continue
            data = self.shelf.data(path)
            if data is None:
                continue
            try:
                text = self._composed(path)
            except NoteUnreadable as error:
                if path in self._edits:
                    raise
                self.shelf.unreadable.append(str(error))
                continue
            if path in self._edits:
                self._check(path, text)
            if (after := files.encode(data, text)) != data:
                made.append(Change(path, data, after))
        return made

    def _composed(self, path: str) -> str:
        """A note with its references moved first: those that the edits write are of the notes to come."""
        before = self.shelf.raw(path)
        text = self._moved_references(before)
        lines = striking.split(text)
        if edits := self._edits.get(path):
            # Lines that end in more than a newline are read without it there.
            known = None if text != before or "\r" in text else self.shelf.written(path)[1]
            raw = striking.Raw(lines, path, known)
            for edit in edits:
                edit(raw)
            lines = raw.lines
        inserted = self._inserted.get(path)
        return "".join(striking.with_entry(lines, inserted.after, inserted.lines) if inserted else lines)

    def _may_refer(self, data: bytes) -> bool:
        """Whether a note may hold a reference into one whose lines move; bytes of UTF-16 do not tell."""
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        named = b"<!--" in data and any(path.rpartition("/")[2].encode() in data for path in self._inserted)
        return bool(self._inserted) and (wide or named or (b"<!--" in data and b"%" in data))

    def _moved_references(self, text: str) -> str:
        for path in self._inserted:
            text = references.shifted(text, path, self._reference(path))
        return text

    def _reference(self, path: str) -> Callable[[int], str]:
        return lambda line: cite(path, self.moved(path, line), self.moved(path, line))

    def _check(self, path: str, text: str) -> None:
        """Make sure that a note reads back as before, but for what is struck in it and put in."""
        after = statements.Outline(parse(text, path))
        before, stated = self.shelf.written(path)
        struck = sorted(self._struck.get(path, ()), key=lambda match: -match.statement.first)
        covering: Match | None = None  # matches are not within each other, but for what part of one is struck
        for statement in stated:
            while struck and struck[-1].statement.first <= statement.first:
                covering = struck.pop()
            line = self.moved(path, statement.first)
            match = covering if covering and _covers(covering, statement) else None
            shorter = (path, statement.first) in self._shortened
            if match is None and not shorter and after.repeats(line, statement, before):
                continue
            now = after.at(line)
            as_meant = now is not None and (
                _is_cut(statement.text, now.text) if shorter else _as_meant(statement, now, match)
            )
            if not as_meant:
                raise NoteUnreadable(f"{path}#L{line}", "cannot be changed as it stands; change it by hand")


def _is_cut(before: str, after: str) -> bool:
    """Whether a text is another without one stretch of it."""
    kept = next(
        (n for n, pair in enumerate(zip(before, after, strict=False)) if len({*pair}) > 1), len(after)
    )
    return len(after) <= len(before) and before.endswith(after[kept:])


def _covers(match: Match, statement: Statement) -> bool:
    first, end = match.statement.first, match.statement.first if match.part else match.statement.end
    return first <= statement.first <= end


def _as_meant(before: Statement, after: Statement, match: Match | None) -> bool:
    if match is None:
        return before.text == after.text and before.struck == after.struck
    if match.part:
        return _plain(after.text) == _plain(before.text)
    return after.struck and _plain(after.text) == _plain(before.text)


def _plain(text: str) -> str:
    return strikes.STRUCK.sub(lambda found: strikes.unescaped(found[1]), text)
