"""Scopes as SQL: conditions on passages `s` and their notes `n`."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence

from commonplace.base.tuples import NamedTuple
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

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

DAY = "coalesce(s.day, n.date)"  # of a passage: the one it says it holds since, otherwise that of its note
_COLUMNS = {"collection": "n.collection", "kind": "n.kind", "note": "n.id", "passage": "s.id"}
# Keys with an index of their own; other keys are looked for in every annotation.
_HAS = {
    "trigger": schema.WITH_TRIGGER,
    "by": schema.WITH_WRITER,
    "day": schema.WITH_DAY,
    "until": schema.STRUCK,
}
_IN_NOTE = "(SELECT {} FROM notes WHERE id = ?)"
# Of each condition on single passages its SQL and what is bound.
_SINGLE: dict[type, tuple[str, Callable[[Any], tuple[Any, ...]]]] = {
    WrittenBy: (
        "coalesce(s.day, CASE n.kind WHEN 'long-term' THEN NULL ELSE n.date END, '') <= ?",
        lambda one: (one.day,),
    ),
    HeldOn: ("s.until IS NULL OR s.until > ?", lambda one: (one.day,)),
    Lines: (
        f"s.id BETWEEN {_IN_NOTE.format('first_passage')} AND {_IN_NOTE.format('last_passage')}"
        " AND s.end_line >= ? AND s.start_line <= ?",
        lambda one: (one.note, one.note, one.first, one.last),
    ),
    Matches: (
        "s.id IN (SELECT rowid FROM passages_fts WHERE passages_fts MATCH ?"
        " UNION ALL SELECT rowid FROM struck_fts WHERE struck_fts MATCH ?)",
        lambda one: (one.expression, one.expression),
    ),
}


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
    if isinstance(condition, In):
        return _among(condition)
    if isinstance(condition, Days):
        return _between(condition, single=has_days())
    if isinstance(condition, Has):
        if indexed := _HAS.get(condition.key):
            return Where(indexed, (), True)
        return Where("instr(s.annotations, ?) > 0", (f'"{condition.key}":',), True)
    if isinstance(condition, Not):
        where = compile_scope(condition.scope, has_days)
        return where._replace(sql=f"NOT coalesce({where.sql or 'TRUE'}, FALSE)")
    if isinstance(condition, Either):
        where = _joined([compile_scope(scope, has_days) for scope in condition.scopes], " OR ")
        return where._replace(sql=where.sql or "FALSE")
    sql, bind = _SINGLE[type(condition)]
    return Where(sql, bind(condition), True)


def _among(condition: In) -> Where:
    values = sorted(condition.values)
    by_id = condition.field in ("note", "passage")  # of which there may be thousands: they are bound as one
    marks = "SELECT value FROM json_each(?)" if by_id else ", ".join("?" * len(values))
    bound = (json.dumps(values),) if by_id else tuple(values)
    return Where(f"{_COLUMNS[condition.field]} IN ({marks})", bound, condition.field == "passage")


def _between(days: Days, *, single: bool) -> Where:
    own, bound = _of_days("n.date", days)
    if not single:
        return Where(f"coalesce({own}, FALSE)", bound)
    # The notes first, by their own day or that of a passage: reading every passage takes much longer.
    dated, of_passage = _of_days("date", days)[0], _of_days("day", days)[0]
    notes = f"SELECT id FROM notes WHERE {dated}"
    notes += f" UNION SELECT note_id FROM passages WHERE {schema.WITH_DAY} AND {of_passage}"
    exact = _of_days(DAY, days)[0]
    return Where(f"n.id IN ({notes}) AND coalesce({exact}, FALSE)", bound * 3, True)


def _of_days(column: str, days: Days) -> tuple[str, tuple[str, ...]]:
    """The condition on a column of days, and what is bound in it."""
    sides = [f"{column} {sign} ?" for sign, bound in zip((">=", "<="), days, strict=True) if bound]
    return " AND ".join(sides or [f"{column} IS NOT NULL"]), tuple(filter(None, days))
