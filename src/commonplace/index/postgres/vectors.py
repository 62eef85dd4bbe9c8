"""Vectors in PostgreSQL, as pgvector's halfvec: the int8 rows of SQLite, so that cosines are the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from commonplace.index.base import Scope
from commonplace.index.postgres.sql import PostgresQuery
from commonplace.index.sql import AMONG, OF_PASSAGES, SqlVectors

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from commonplace.index.base import Floats

EXACT = 10_000  # vectors of a workspace that are compared one by one


class PostgresVectors(SqlVectors):
    """The vectors of one workspace, see `index.base.VectorStore`."""

    raw, dimensions, is_some = "v.vector::text", "vector_dims(v.vector)", "v.vector IS NOT NULL"

    def stored(self, row: NDArray[Any]) -> str | None:
        """Return a row of int8 as it is stored; one of zeros has no direction."""
        return _text(row) if row.any() else None

    def read(self, raw: str) -> list[float]:
        """Return the numbers of a stored vector."""
        numbers: list[float] = json.loads(raw)
        return numbers

    def ids(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Return the ids of the vectors of keys."""
        return dict(self.file.rows("SELECT key, id FROM vectors WHERE key = ANY(:keys)", {"keys": [*keys]}))

    def prune(self, *, lost: bool = False) -> None:
        """Delete vectors that no passage uses; see `index.base.VectorStore`."""
        super().prune(lost=lost)
        if not lost and self._is_large:
            n = self.length  # from now on the vectors of all workspaces are in it
            self.file.rows(
                f"CREATE INDEX IF NOT EXISTS vectors_hnsw_{n} ON vectors USING hnsw"
                f" ((vector::halfvec({n})) halfvec_cosine_ops) WHERE vector_dims(vector) = {n}"
            )

    @property
    def _is_large(self) -> bool:
        return int(self.file.rows("SELECT count(*) FROM vectors")[0][0]) > EXACT

    def nearest(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        """Return the nearest passages of a scope, by the index over vectors where there are many."""
        large = self._is_large
        query, n = PostgresQuery(), len(vector)
        # As the index over vectors is made, or not: its condition would mislead the planner of a full scan.
        column, usable = "v.vector", "v.vector IS NOT NULL"
        if large:
            column, usable = f"v.vector::halfvec({n})", f"vector_dims(v.vector) = {n}"
        distance = f"{column} <=> {query.bind(_text(vector))}::halfvec({n})"
        covered, stands = query.where(scope), "TRUE" if struck else "s.until IS NULL"
        best = (
            f"SELECT s.id, {distance} AS d FROM passages s JOIN vectors v ON v.id = s.vector_id"
            f" {self.file.note_of_passage * ('n.' in covered)} WHERE {usable} AND {stands} AND {covered}"
            f" ORDER BY {distance}{'' if large else ', s.id'} LIMIT {query.bind(limit)}"
        )
        return self.file.rows(f"SELECT id, 1 - d FROM ({best}) t ORDER BY d, id", query.bound)

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of passages with a unit vector; passages without a vector are left out."""
        sql = f"SELECT p.id, 1 - (v.vector <=> :asked::halfvec) {OF_PASSAGES}"
        sql += f" WHERE p.id {AMONG.format(':ids')} AND vector_dims(v.vector) = :n"
        bound = {"asked": _text(vector), "ids": json.dumps([*passages]), "n": len(vector)}
        return dict(self.file.rows(sql, bound))


def _text(vector: NDArray[Any]) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"
