"""What notes say of themselves, asked of the whole index: triggers, writers, days, what replaces what."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import schema
from commonplace.index.scope import Scope
from commonplace.index.sqlite import SqliteIndex

DAY = "coalesce(s.day, n.date)"
WRITER_KEYS = frozenset({"by", "agent", "session"})  # of what is said of single entries


class NoteFacts(NamedTuple):
    """What a note says of itself beside its text."""

    id: int
    collection: str
    path: str
    metadata: dict[str, Any]


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


def keys(index: SqliteIndex) -> frozenset[str]:
    """Every key that stands in the front matter of some note, in lower case, and those of who wrote what."""
    rows = index._rows("SELECT DISTINCT j.key FROM notes, json_each(notes.metadata) j")
    found = frozenset(row[0].lower() for row in rows)
    known = index._rows(f"SELECT 1 FROM passages WHERE {schema.WITH_WRITER} LIMIT 1")
    return found | WRITER_KEYS if known else found


def facts(index: SqliteIndex) -> Iterator[NoteFacts]:
    """Every note with its front matter, whose keys are in lower case."""
    for note, collection, path, metadata in index._rows("SELECT id, collection, path, metadata FROM notes"):
        with schema.translated(index.path):
            loaded = json.loads(metadata) if metadata else {}
        yield NoteFacts(note, collection, path, {key.lower(): value for key, value in loaded.items()})


def of_days(index: SqliteIndex, condition: str, days: Sequence[str]) -> Scope:
    """The passages whose day meets a condition, such as `>= ?`; that of their note, unless they say so."""
    rows = index._rows(f"SELECT 1 FROM passages WHERE {schema.WITH_DAY} LIMIT 1")
    if not rows:  # whole notes cost less
        return Scope(f"coalesce(n.date {condition}, FALSE)", tuple(days))
    return Scope(f"coalesce({DAY} {condition}, FALSE)", tuple(days), single=True)


def newest(
    index: SqliteIndex, scope: Scope, limit: int, excluded: str | None = None, *, struck: bool = False
) -> list[int]:
    """The newest passages first, of one day in the order of their lines, without what an expression matches.

    What has no date is as old as the last change of its note.
    """
    without = ""
    if excluded:
        tables = ("passages_fts", "struck_fts")[: 1 + struck]
        without = "".join(
            f" AND s.id NOT IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)" for table in tables
        )
    stands = "TRUE" if struck else "s.until IS NULL"
    rows = index._rows(
        "SELECT s.id FROM passages s JOIN notes n ON n.id = s.note_id"
        f" WHERE {stands} {scope.where()}{without}"
        f" ORDER BY coalesce({DAY}, date(n.mtime_ns / 1000000000, 'unixepoch')) DESC, n.mtime_ns DESC, s.id"
        " LIMIT ?",
        (*scope.bindings, *[excluded] * without.count("MATCH"), limit),
    )
    return [row[0] for row in rows]
