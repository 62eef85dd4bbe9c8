"""What notes say of themselves, asked of the whole index: triggers, what replaces what, who is exempt."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import schema
from commonplace.index.sqlite import SqliteIndex

if TYPE_CHECKING:
    from commonplace.index.scope import Scope


class Place(NamedTuple):
    """A note that another names, and the lines of it, if it names some (1-based, inclusive)."""

    note_id: int
    first: int = 1
    last: int | None = None

    def holds(self, note_id: int, start_line: int, end_line: int) -> bool:
        """Whether a passage stands in this place."""
        return self.note_id == note_id and end_line >= self.first and start_line <= (self.last or end_line)


def triggers(index: SqliteIndex) -> Sequence[tuple[int, str]]:
    """Every passage with a trigger, and what is said of it (JSON); remembered until a change."""
    version = index.version()
    if index.triggers[0] != version:
        rows = index._rows(f"SELECT id, annotations FROM passages WHERE {schema.WITH_TRIGGER}")
        index.triggers = (version, rows)
    return index.triggers[1]


def written(index: SqliteIndex) -> Sequence[tuple[int, str]]:
    """Every passage that says who wrote it, and what is said of it (JSON)."""
    return index._rows(f"SELECT id, annotations FROM passages WHERE {schema.WITH_WRITER}")


def within(index: SqliteIndex, passages: Iterable[int], scope: Scope) -> set[int]:
    """Which of these passages a question covers."""
    if not scope.sql:
        return set(passages)
    rows = index._rows(
        f"SELECT w.value FROM json_each(?) AS w {scope.join('w.value')} {scope.where('WHERE')}",
        (json.dumps(sorted(passages)), *scope.bindings),
    )
    return {row[0] for row in rows}


def long_term(index: SqliteIndex) -> set[int]:
    """The notes of long-term memory, by id: what is curated does not age."""
    return {row[0] for row in index._rows("SELECT id FROM notes WHERE kind = 'long-term'")}


def places(index: SqliteIndex, references: Iterable[str]) -> Mapping[str, Sequence[Place]]:
    """Where references lead: `#docid`, or a path as hits show it, with lines or without."""
    from commonplace.base.errors import NoteNotFound
    from commonplace.markdown.references import parse_reference

    found: dict[str, Sequence[Place]] = {}
    for text in references:
        try:
            wanted = parse_reference(text)
        except NoteNotFound:
            continue
        ids = _of_docid(index, wanted.docid) if wanted.docid else _of_path(index, wanted.path)
        found[text] = [Place(row[0], wanted.first, wanted.last) for row in ids]
    return found


def _of_docid(index: SqliteIndex, prefix: str) -> list[Any]:
    return index._rows("SELECT id FROM notes WHERE hash >= ? AND hash < ?", (prefix, f"{prefix}g"))


def _of_path(index: SqliteIndex, path: str) -> list[Any]:
    collection, _, rest = path.partition("/")
    sql = "SELECT id FROM notes WHERE collection = ? AND path = ? OR collection = ? AND path = ?"
    return index._rows(sql, (WORKSPACE_COLLECTION, path, collection, rest))
