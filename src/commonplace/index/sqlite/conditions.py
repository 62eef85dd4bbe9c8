"""Scopes as SQL: conditions on passages `s` and their notes `n`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from commonplace.index.base import (
    Condition,
    Days,
    Either,
    Has,
    HeldOn,
    In,
    Lines,
    Matches,
    Not,
    Scope,
    WrittenBy,
)
from commonplace.index.sqlite import schema

DAY = "coalesce(s.day, n.date)"  # of a passage: the one it says it holds since, otherwise that of its note
_COLUMNS = {"collection": "n.collection", "kind": "n.kind", "note": "n.id", "passage": "s.id"}
_HAS = {
    "trigger": schema.WITH_TRIGGER,
    "writer": schema.WITH_WRITER,
    "day": schema.WITH_DAY,
    "until": schema.STRUCK,
}
_VALUES = "IN (SELECT value FROM json_each(?))"
_IN_NOTE = "(SELECT {} FROM notes WHERE id = ?)"
_LINES = (
    f"s.id BETWEEN {_IN_NOTE.format('first_passage')} AND {_IN_NOTE.format('last_passage')}"
    " AND s.end_line >= ? AND s.start_line <= ?"
)
_MATCHES = (
    "s.id IN (SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?"
    " UNION ALL SELECT rowid FROM struck_fts WHERE struck_fts MATCH ?)"
)
_HELD_ON = "s.until IS NULL OR s.until > ?"
_WRITTEN_BY = "coalesce(s.day, CASE n.kind WHEN 'long-term' THEN NULL ELSE n.date END, '') <= ?"


class Where(NamedTuple):
    """A condition and what is bound in it; empty for all passages.

    `single` says that it may hold for some passages of a note and not for others.
    """

    sql: str = ""
    bindings: tuple[Any, ...] = ()
    single: bool = False

    def after(self, word: str) -> str:
        """The condition behind WHERE or AND; empty where all are covered."""
        return f"{word} ({self.sql})" if self.sql else ""


def compile_scope(scope: Scope, has_days: Callable[[], bool]) -> Where:
    """Compile a scope; `has_days` says whether any passage has a day of its own: whole notes cost less."""
    return _joined([_compiled(condition, has_days) for condition in scope.conditions], " AND ")


def _joined(parts: Sequence[Where], word: str) -> Where:
    bindings = tuple(bound for part in parts for bound in part.bindings)
    return Where(
        word.join(f"({part.sql or 'TRUE'})" for part in parts), bindings, any(part.single for part in parts)
    )


def _compiled(condition: Condition, has_days: Callable[[], bool]) -> Where:
    match condition:
        case In(field, values):
            ids = field in ("note", "passage")
            bound = (json.dumps(sorted(values)),) if ids else tuple(sorted(values))
            marks = _VALUES if ids else f"IN ({', '.join('?' * len(values))})"
            return Where(f"{_COLUMNS[field]} {marks}", bound, field == "passage")
        case Days(first, last):
            single = has_days()
            day = DAY if single else "n.date"
            sides = [(f"{day} >= ?", first), (f"{day} <= ?", last)]
            sql = " AND ".join([side for side, bound in sides if bound] or [f"{day} IS NOT NULL"])
            return Where(f"coalesce({sql}, FALSE)", tuple(filter(None, (first, last))), single)
        case WrittenBy(day):
            return Where(_WRITTEN_BY, (day,), True)
        case HeldOn(day):
            return Where(_HELD_ON, (day,), True)
        case Lines(note, first, last):
            return Where(_LINES, (note, note, first, last), True)
        case Has(field):
            return Where(_HAS[field], (), True)
        case Matches(expression):
            return Where(_MATCHES, (expression, expression), True)
        case Not(scope):
            where = compile_scope(scope, has_days)
            return where._replace(sql=f"NOT ({where.sql or 'TRUE'})")
        case Either(scopes):
            where = _joined([compile_scope(scope, has_days) for scope in scopes], " OR ")
            return where._replace(sql=where.sql or "FALSE")
