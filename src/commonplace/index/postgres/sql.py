"""Expressions of full text as SQL, on the table `postings`."""

from __future__ import annotations

from commonplace.index import full_text
from commonplace.index.full_text import K1, LEAST_IDF, B, Phrase, Tree
from commonplace.index.sql import Query


class PostgresQuery(Query):
    """A statement in the making, and what is bound in it so far, by name."""

    def matching(self, expression: str) -> str:
        """Return the condition for the passages that match an expression, struck ones included."""
        return f"s.id IN (SELECT passage FROM ({self.found(expression)}) m)"

    def found(self, expression: str) -> str:
        """Return the rows (passage, struck) of all passages that match an expression."""
        read, phrases = full_text.parse(expression), self._phrases(expression)
        having = "" if len(read.phrases) == 1 else f"GROUP BY 1 {_having(read.tree)}"
        struck = "bool_or(struck) AS struck" if having else "struck"  # one phrase has each passage once
        return f"SELECT passage, {struck} FROM ({phrases}) f {having}"

    def _phrases(self, expression: str, header: float = 1.0) -> str:
        """Return the rows (place of the phrase, passage, struck, length, frequency) of every phrase."""
        phrases = full_text.parse(expression).phrases
        return " UNION ALL ".join(f"({self._phrase(at, one, header)})" for at, one in enumerate(phrases))

    def scored(self, expression: str, header: float, total: int, average: float) -> str:
        """Return the table `matched` of passages that stand and match; so many stand, of `average` tokens."""
        n, norm = self.bind(float(total)), f"{K1} * ({1 - B} + {B} * length / {self.bind(average)}::float8)"
        idf = f"greatest({LEAST_IDF}, ln(greatest(1e-9, {n}::float8 - n + 0.5) / (n + 0.5)))"
        found = f"SELECT * FROM ({self._phrases(expression, header)}) f WHERE NOT struck"
        counts = "SELECT place, count(*) AS n FROM found GROUP BY 1"
        # Rounded, as sums in another order differ in their last figure, and ties go by id.
        score = f"round(sum(idf * tf * {K1 + 1} / (tf + {norm})) * 1e9) / 1e9"
        return (
            f"found AS MATERIALIZED ({found}),"
            f" idfs AS MATERIALIZED (SELECT place, {idf} AS idf FROM ({counts}) c),"
            f" matched AS MATERIALIZED (SELECT passage AS id, {score} AS score"
            f" FROM found JOIN idfs USING (place) GROUP BY 1 {_having(full_text.parse(expression).tree)})"
        )

    def _phrase(self, place: int, phrase: Phrase, header: float) -> str:
        """Return the rows of a phrase: tokens at places that follow each other, see `_found`."""
        weight = f"{self.bind(header)}::float8"
        if not phrase.tokens:
            rows = f"SELECT 0 AS passage, FALSE AS struck, 0 AS length, 0 AS tf WHERE {weight} < 0"
        elif len(phrase.tokens) == 1 and not phrase.begins:
            tf, term = f"body + header * {weight}", self.bind(phrase.tokens[0])
            rows = f"SELECT passage, struck, length, {tf} AS tf FROM postings WHERE term = {term}"
        else:
            last = len(phrase.tokens) - 1
            ends = ((at, word, phrase.begins and at == last) for at, word in enumerate(phrase.tokens))
            each = [self._term(*one) for one in ends]
            follow = " AND ".join(f"x + {at} = ANY(t{at}.places)" for at in range(1, last + 1)) or "TRUE"
            rows = (
                f"SELECT passage, t0.struck, t0.length, c.tf FROM {' JOIN '.join(each)} CROSS JOIN LATERAL"
                f" (SELECT sum(CASE WHEN x >= 0 THEN 1 ELSE {weight} END) AS tf, count(*) AS n"
                f" FROM unnest(t0.places) x WHERE {follow}) c WHERE c.n > 0"
            )
        return f"SELECT {place} AS place, passage, struck, length, tf::float8 AS tf FROM ({rows}) r"

    def _term(self, at: int, word: str, begins: bool) -> str:
        """Return a table of the passages with a token, or a beginning, and the places of it in each."""
        using, rows = " USING (passage)" * (at > 0), "FROM postings WHERE term"
        if not begins:
            return f"(SELECT passage, struck, length, places {rows} = {self.bind(word)}) t{at}{using}"
        above = word[:-1] + chr(min(ord(word[-1]) + 1, 0x10FFFF))
        rows = rows.replace("postings", "postings, unnest(places) x")
        rows += f" >= {self.bind(word)} AND term < {self.bind(above)} GROUP BY passage, struck, length"
        return f"(SELECT passage, struck, length, array_agg(x) AS places {rows}) t{at}{using}"


def _having(tree: Tree | int) -> str:
    if isinstance(tree, int) or (tree.sign == "OR" and all(isinstance(part, int) for part in tree.parts)):
        return ""
    return f"HAVING {_holds(tree)}"


def _holds(tree: Tree | int) -> str:
    if isinstance(tree, int):
        return f"bool_or(place = {tree})"
    return f"({f' {tree.sign} '.join(map(_holds, tree.parts))})"
