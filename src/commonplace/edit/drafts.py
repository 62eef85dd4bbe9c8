"""Notes as they are to be, with what is struck and put in; references follow, and all is read back first."""

from __future__ import annotations

from collections.abc import Callable

from commonplace.base.errors import NoteUnreadable
from commonplace.edit.corpus import Corpus
from commonplace.edit.resolve import Match
from commonplace.markdown import references, struck
from commonplace.markdown.document import Document, Edit, Strike
from commonplace.types import cite
from commonplace.types.changes import Change
from commonplace.types.notes import Statement


class Draft:
    """Changes of notes that are being composed; line numbers given to it are those of the files as read."""

    def __init__(self, corpus: Corpus) -> None:
        """Begin with the notes as they stand."""
        self.corpus = corpus
        self._edits: dict[str, list[Callable[[Document], Edit]]] = {}
        self._strikes: dict[str, list[Strike]] = {}
        self._inserted: dict[str, tuple[Statement, str, Edit]] = {}
        self._struck: dict[str, list[Match]] = {}
        self._shortened: set[tuple[str, int]] = set()

    def shorten(self, statement: Statement, edit: Callable[[Document], Edit]) -> None:
        """Change the lines of a statement, which may then say less."""
        self._edits.setdefault(statement.path, []).append(edit)
        self._shortened.add((statement.path, statement.first))

    def strike(self, match: Match, *, until: str, by: str, agent: str, to: str = "") -> None:
        """Strike a statement, or the part of it that is meant."""
        path = match.statement.path
        self._edits.setdefault(path, [])
        self._strikes.setdefault(path, []).append(Strike(match.statement, until, by, agent, to, match.part))
        self._struck.setdefault(path, []).append(match)

    def insert(self, statement: Statement, entry: str) -> str:
        """Put a new entry behind a statement, once in a note; return where it will stand."""
        edit = self.corpus.document(statement.path).checked().insert(entry, after=statement)
        self._inserted[statement.path] = statement, entry, edit
        return cite(statement.path, *edit.lines)

    def citation(self, statement: Statement) -> str:
        """Return where a statement will stand, as hits cite it."""
        lines = (self._moved(statement.path, line) for line in (statement.first, statement.last))
        return cite(statement.path, *lines)

    def _moved(self, path: str, line: int) -> int:
        return self._inserted[path][2].moved(line) or line if path in self._inserted else line

    def changes(self) -> list[Change]:
        """Return the changes, those of references in other notes included.

        Raises NoteUnreadable where a note would not read back as it is meant.
        """
        made: list[Change] = []
        maps = {path: edit.follower(path) for path, (_, _, edit) in self._inserted.items()}
        for path in self.corpus.paths:
            if path not in self._edits and not self._may_refer(self.corpus.glance(path)):
                continue
            if (data := self.corpus.data(path)) is None:
                continue
            try:
                # The references that the edits write are of the notes to come, so those of before move first.
                [document] = references.follow([self.corpus.document(path).checked()], maps)
            except NoteUnreadable as error:
                if path in self._edits:
                    raise
                self.corpus.unreadable.append(str(error))
                continue
            if path in self._edits:
                document = document.strike_all(self._strikes.get(path, ())).document
                for edit in self._edits[path]:
                    document = edit(document).document
                if path in self._inserted:
                    statement, entry, _ = self._inserted[path]
                    document = document.insert(entry, after=statement).document
                self._check(path, document)
            if document.data != data:
                made.append(Change(path, data, document.data))
        return made

    def _may_refer(self, data: bytes) -> bool:
        """Whether a note may hold a reference into one whose lines move; bytes of UTF-16 do not tell."""
        wide = data[:2] in (b"\xff\xfe", b"\xfe\xff")
        named = b"<!--" in data and any(path.rpartition("/")[2].encode() in data for path in self._inserted)
        return bool(self._inserted) and (wide or named or (b"<!--" in data and b"%" in data))

    def _check(self, path: str, document: Document) -> None:
        """Make sure that a note reads back as before, but for what is struck in it and put in."""
        after = {statement.first: statement for statement in document.statements}
        matches = sorted(self._struck.get(path, ()), key=lambda match: -match.statement.first)
        covering: Match | None = None  # matches are not within each other, but for what part of one is struck
        for statement in self.corpus.statements(path):
            while matches and matches[-1].statement.first <= statement.first:
                covering = matches.pop()
            line = self._moved(path, statement.first)
            match = covering if covering and _covers(covering, statement) else None
            shorter = (path, statement.first) in self._shortened
            now = after.get(line)
            as_meant = now is not None and (
                _is_cut(statement.text, now.text) if shorter else _as_meant(statement, now, match)
            )
            if not as_meant:
                raise NoteUnreadable(f"{path}#L{line}", "cannot be changed as it stands; change it by hand")


def _is_cut(before: str, after: str) -> bool:
    """Whether a text is another without one stretch of it."""
    same = (n for n, pair in enumerate(zip(before, after, strict=False)) if len({*pair}) > 1)
    kept = next(same, len(after))
    return len(after) <= len(before) and before.endswith(after[kept:])


def _covers(match: Match, statement: Statement) -> bool:
    first, end = match.statement.first, match.statement.first if match.part else match.statement.end
    return first <= statement.first <= end


def _as_meant(before: Statement, after: Statement, match: Match | None) -> bool:
    if match is None:
        return before.text == after.text and before.struck == after.struck
    return (bool(match.part) or after.struck) and _plain(after.text) == _plain(before.text)


def _plain(text: str) -> str:
    return struck.STRUCK.sub(lambda match: struck.unescaped(match[1]), text)
