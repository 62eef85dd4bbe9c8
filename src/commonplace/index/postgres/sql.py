"""Scopes and expressions of full text as SQL, on passages `p` and their notes `n`."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

from commonplace.index import full_text
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
)  # fmt: skip
from commonplace.index.full_text import K1, LEAST_IDF, B, Phrase, Tree
from commonplace.index.postgres.server import OWN

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

DAY = "coalesce(p.day, n.date)"  # of a passage: the one it says it holds since, otherwise that of its note
PASSAGES = f"passages p JOIN notes n ON n.{OWN} AND n.id = p.note_id"
SECTION = f"JOIN sections s ON s.{OWN} AND s.id = p.section_id"
_COLUMN = {"collection": "n.collection", "kind": "n.kind", "note": "p.note_id", "passage": "p.id"}
_HAS = {"day": "p.day IS NOT NULL", "until": "p.until IS NOT NULL"}
_LONG_TERM = "CASE n.kind WHEN 'long-term' THEN NULL ELSE n.date END"


class Query:
    """A statement in the making, and what is bound in it so far, by name."""

    def __init__(self) -> None:
        self.bound: dict[str, Any] = {}
        self._names = map("v{}".format, count())

    def bind(self, value: object) -> str:
        """Bind a value; return how the statement names it."""
        self.bound[name := next(self._names)] = value
        return f"%({name})s"

    def where(self, scope: Scope, *, struck: bool) -> str:
        """Return the condition for the passages of this workspace in a scope, struck ones if wanted."""
        return f"p.{OWN} AND {'TRUE' if struck else 'p.until IS NULL'} AND {self._scope(scope)}"

    def _scope(self, scope: Scope) -> str:
        return " AND ".join(f"({self._condition(one)})" for one in scope.conditions) or "TRUE"

    def _condition(self, one: Condition) -> str:
        bind = self.bind
        compiled: dict[type, Callable[[Any], str]] = {
            In: lambda c: f"{_COLUMN[c.field]} = ANY({bind(list(c.values))})",
            Days: lambda c: (
                f"coalesce({DAY} >= {bind(c.first)} AND {DAY} <= {bind(c.last or '9999')}, FALSE)"
            ),
            WrittenBy: lambda c: f"coalesce(p.day, {_LONG_TERM}, '') <= {bind(c.day)}",
            HeldOn: lambda c: f"p.until IS NULL OR p.until > {bind(c.day)}",
            Lines: lambda c: (
                f"p.note_id = {bind(c.note)} AND p.end_line >= {bind(c.first)}"
                f" AND p.start_line <= {bind(c.last)}"
            ),
            Has: lambda c: _HAS.get(c.key) or self._says(c.key),
            Matches: lambda c: f"p.id IN ({self.matching(c.expression)})",
            Not: lambda c: f"NOT ({self._scope(c.scope)})",
            Either: lambda c: " OR ".join(f"({self._scope(s)})" for s in c.scopes) or "FALSE",
        }
        return compiled[type(one)](one)

    def _says(self, key: str) -> str:
        sign = f'"{key}":'
        return f"coalesce(strpos(p.annotations, {self.bind(sign)}) > 0, FALSE)"

    # --- full text ----------------------------------------------------------------------------------

    def _found(self, expression: str, header: float = 1.0) -> str:
        """Return the rows (place of the phrase, passage, struck, length, frequency) of every phrase."""
        phrases = full_text.parse(expression).phrases
        return " UNION ALL ".join(f"({self._phrase(at, one, header)})" for at, one in enumerate(phrases))

    def matching(self, expression: str, *, counted: bool = False) -> str:
        """Return the passages that match an expression, or how many stand and how many there are."""
        read, found = full_text.parse(expression), self._found(expression)
        if len(read.phrases) > 1:  # the rows of one have each passage once
            grouped = f"({found}) f GROUP BY 1 {_having(read.tree)}"
            found = f"SELECT passage, bool_or(struck) AS struck FROM {grouped}"
        what = "count(*) FILTER (WHERE NOT struck), count(*)" if counted else "passage"
        return f"SELECT {what} FROM ({found}) m"

    def scored(self, expression: str, header: float, total: int, average: float) -> str:
        """Return the passages that stand and match, with their BM25; `total` stand, `average` tokens long."""
        n, norm = self.bind(float(total)), f"{K1} * ({1 - B} + {B} * length / {self.bind(average)}::float8)"
        idf = f"greatest({LEAST_IDF}, ln(greatest(1e-9, {n}::float8 - n + 0.5) / (n + 0.5)))"
        found = f"SELECT * FROM ({self._found(expression, header)}) f WHERE NOT struck"
        counts = "SELECT place, count(*) AS n FROM found GROUP BY 1"
        # Rounded, as sums in another order differ in their last figure, and ties go by id.
        score = f"round(sum(idf * tf * {K1 + 1} / (tf + {norm})) * 1e9) / 1e9"
        return (
            f"WITH found AS MATERIALIZED ({found}),"
            f" idfs AS MATERIALIZED (SELECT place, {idf} AS idf FROM ({counts}) c),"
            f" scored AS MATERIALIZED (SELECT passage, {score} AS score FROM found JOIN idfs USING (place)"
            f" GROUP BY 1 {_having(full_text.parse(expression).tree)})"
        )

    def _phrase(self, place: int, phrase: Phrase, header: float) -> str:
        """Return the rows of a phrase: tokens at places that follow each other, see `_found`."""
        weight = f"{self.bind(header)}::float8"
        if not phrase.tokens:
            rows = f"SELECT 0 AS passage, FALSE AS struck, 0 AS length, 0 AS tf WHERE {weight} < 0"
        elif len(phrase.tokens) == 1 and not phrase.begins:
            both = f"body + header * {weight}"
            tf = {"body": "body", "header": f"header * {weight}"}.get(phrase.column, both)
            kept = f"term = {self.bind(phrase.tokens[0])} AND {phrase.column or 'length'} > 0"
            rows = f"SELECT passage, struck, length, {tf} AS tf FROM postings WHERE {OWN} AND {kept}"
        else:
            last = len(phrase.tokens) - 1
            ends = ((at, word, phrase.begins and at == last) for at, word in enumerate(phrase.tokens))
            each = [self._term(*one) for one in ends]
            follow = " AND ".join(f"x + {at} = ANY(t{at}.places)" for at in range(1, last + 1)) or "TRUE"
            side = {"body": "x >= 0", "header": "x < 0"}.get(phrase.column, "TRUE")
            rows = (
                f"SELECT passage, t0.struck, t0.length, c.tf FROM {' JOIN '.join(each)} CROSS JOIN LATERAL"
                f" (SELECT sum(CASE WHEN x >= 0 THEN 1 ELSE {weight} END) AS tf, count(*) AS n"
                f" FROM unnest(t0.places) x WHERE {follow} AND {side}) c WHERE c.n > 0"
            )
        return f"SELECT {place} AS place, passage, struck, length, tf::float8 AS tf FROM ({rows}) r"

    def _term(self, at: int, word: str, begins: bool) -> str:
        """Return a table of the passages with a token, or a beginning, and the places of it in each."""
        using, rows = " USING (passage)" * (at > 0), f"FROM postings WHERE {OWN} AND term"
        if not begins:
            return f"(SELECT passage, struck, length, places {rows} = {self.bind(word)}) t{at}{using}"
        above = word[:-1] + chr(min(ord(word[-1]) + 1, 0x10FFFF))
        rows = rows.replace("postings", "postings, unnest(places) x")
        rows += f" >= {self.bind(word)} AND term < {self.bind(above)} GROUP BY passage, struck, length"
        return f"(SELECT passage, struck, length, array_agg(x) AS places {rows}) t{at}{using}"


def source(condition: str) -> str:
    """Return the tables that a condition names."""
    return PASSAGES if "n." in condition else "passages p"


def _having(tree: Tree | int) -> str:
    if isinstance(tree, int) or (tree.sign == "OR" and all(isinstance(part, int) for part in tree.parts)):
        return ""
    return f"HAVING {_holds(tree)}"


def _holds(tree: Tree | int) -> str:
    if isinstance(tree, int):
        return f"bool_or(place = {tree})"
    first, *others = map(_holds, tree.parts)
    if tree.sign == "NOT":
        return f"({first} AND NOT ({' OR '.join(others)}))"
    return f"({f' {tree.sign} '.join([first, *others])})"
