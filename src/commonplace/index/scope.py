"""Which notes a question covers, as a condition that every list of candidates is asked with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from commonplace.index import schema
from commonplace.index.sqlite import SqliteIndex


class Scope(NamedTuple):
    """An SQL condition on `notes n`, and what is bound in it; empty for all notes.

    `single` says that it is one on passages `s` as well, so that a note may be covered in part.
    """

    sql: str = ""
    bindings: tuple[Any, ...] = ()
    single: bool = False

    def join(self, passage: str) -> str:
        """The join that brings the note of a passage id into reach; empty where all are covered."""
        return f"JOIN passages s ON s.id = {passage} JOIN notes n ON n.id = s.note_id" if self.sql else ""

    def where(self, word: str = "AND") -> str:
        """The condition behind WHERE or AND; empty where all are covered."""
        return f"{word} ({self.sql})" if self.sql else ""

    def __and__(self, other: Scope) -> Scope:
        sql = " AND ".join(f"({part})" for part in (self.sql, other.sql) if part)
        return Scope(sql, self.bindings + other.bindings, self.single or other.single)


ALL = Scope()
DAY = "coalesce(s.day, n.date)"
WRITER_KEYS = frozenset({"by", "agent", "session"})  # of what is said of single entries


class NoteFacts(NamedTuple):
    """What a note says of itself beside its text."""

    id: int
    collection: str
    path: str
    metadata: dict[str, Any]


def of_collections(names: Sequence[str]) -> Scope:
    """The notes of some collections; of all where none is named."""
    return Scope(f"n.collection IN ({', '.join('?' * len(names))})", tuple(names)) if names else ALL


def of_notes(ids: Iterable[int]) -> Scope:
    """Some notes, by id."""
    return Scope("n.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))


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


def of_passages(ids: Iterable[int], notes: Iterable[int], without: Iterable[int]) -> Scope:
    """Some passages, and those of some notes without some others, by id."""
    values = "IN (SELECT value FROM json_each(?))"
    bound = tuple(json.dumps(list(found)) for found in (ids, notes, without))
    return Scope(f"s.id {values} OR (n.id {values} AND s.id NOT {values})", bound, single=True)


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
