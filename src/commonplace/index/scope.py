"""Which notes a question covers, as a condition that every list of candidates is asked with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple


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


def of_collections(names: Sequence[str]) -> Scope:
    """The notes of some collections; of all where none is named."""
    return Scope(f"n.collection IN ({', '.join('?' * len(names))})", tuple(names)) if names else ALL


def of_notes(ids: Iterable[int]) -> Scope:
    """Some notes, by id."""
    return Scope("n.id IN (SELECT value FROM json_each(?))", (json.dumps(list(ids)),))


def of_passages(ids: Iterable[int], notes: Iterable[int], without: Iterable[int]) -> Scope:
    """Some passages, and those of some notes without some others, by id."""
    values = "IN (SELECT value FROM json_each(?))"
    bound = tuple(json.dumps(list(found)) for found in (ids, notes, without))
    return Scope(f"s.id {values} OR (n.id {values} AND s.id NOT {values})", bound, single=True)
