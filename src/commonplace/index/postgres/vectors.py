"""Vectors in PostgreSQL, as pgvector's halfvec: the int8 rows of SQLite, so that cosines are the same."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from commonplace.base.paths import shown
from commonplace.index.base import ALL, UNSERVED, Scope, Text, VectorStore
from commonplace.index.postgres.server import OWN, Server
from commonplace.index.postgres.sql import PASSAGES, SECTION, Query, source
from commonplace.providers.embedding.base import check_length, quantize

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from commonplace.index.base import Floats, Nearest
    from commonplace.types import Level

EXACT = 10_000  # vectors of a workspace that are compared one by one
_VECTOR = f"JOIN vectors v ON v.{OWN} AND v.key = p.vector"


class PostgresVectors(VectorStore):
    """The vectors of one workspace, see `index.base.VectorStore`."""

    def __init__(self, index: Server) -> None:
        """Attach to an index."""
        self._index, self._rows = index, index.rows

    # --- filling ------------------------------------------------------------------------------------

    def texts(self, after: int, limit: int, *, pending: bool = False) -> list[Text]:
        """Return the next passages above an id; see `index.base.VectorStore`."""
        rows = self._rows(
            f"SELECT p.id, p.text, s.headings, n.collection, n.path, s.turns FROM {PASSAGES} {SECTION}"
            f" WHERE p.{OWN} AND p.id > %(after)s {'AND p.vector IS NULL' if pending else ''}"
            " ORDER BY p.id LIMIT %(limit)s", after=after, limit=limit,
        )  # fmt: skip
        return [Text(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows]

    def pending(self) -> int:
        """Count the passages without a vector."""
        return int(self._rows(f"SELECT count(*) FROM passages WHERE {OWN} AND vector IS NULL")[0][0])

    @property
    def length(self) -> int:
        """The dimensions of the vectors of passages, 0 without any."""
        sql = f"SELECT vector_dims(v.vector) FROM passages p {_VECTOR} WHERE p.{OWN} AND v.vector IS NOT NULL"
        rows = self._rows(f"{sql} LIMIT 1")
        return int(rows[0][0]) if rows else 0

    def known(self, keys: Iterable[bytes]) -> set[bytes]:
        """Return those of some keys that have a vector."""
        sql = f"SELECT key FROM vectors WHERE {OWN} AND key = ANY(%(keys)s)"
        return {row[0] for row in self._rows(sql, keys=[*keys])}

    def add(self, keys: Sequence[bytes], vectors: Floats, words: Mapping[bytes, bytes] | None = None) -> None:
        """Store vectors, one row a key; one of zeros has no direction, and its row no vector."""
        rows = [_text(row) if row.any() else None for row in quantize(vectors)]
        with self._index.changing():
            self._rows(
                "INSERT INTO vectors (workspace, key, vector, signs) SELECT %(w)s, k, v::halfvec, s FROM"
                " unnest(%(k)s::bytea[], %(v)s::text[], %(s)s::bytea[]) AS t(k, v, s)"
                " ON CONFLICT (workspace, key) DO NOTHING",
                k=[*keys], v=rows, s=[(words or {}).get(key) for key in keys],
            )  # fmt: skip
            self._index.change()

    def kept(self) -> Iterator[tuple[list[bytes], Floats, dict[bytes, bytes]]]:
        """Yield all vectors as `add` takes them, some at a time."""
        import numpy as np

        sql = f"SELECT key, vector::text, signs FROM vectors WHERE {OWN} AND vector IS NOT NULL"
        after, sql = b"", f"{sql} AND key > %(after)s ORDER BY key LIMIT 1000"
        while rows := self._rows(sql, after=after):
            keys, after = [row[0] for row in rows], rows[-1][0]
            matrix = np.array([json.loads(row[1]) for row in rows], np.float32)
            yield keys, matrix, {key: signs for key, _, signs in rows if signs}

    def assign(self, pairs: Iterable[tuple[int, bytes]]) -> set[bytes]:
        """Give passages the vectors of keys; see `index.base.VectorStore`."""
        pairs = list(pairs)
        known = self.known({key for _, key in pairs})
        rows = [(passage, key) for passage, key in pairs if key in known or key == UNSERVED]
        with self._index.changing():
            self._rows(
                "UPDATE passages SET vector = v FROM unnest(%(p)s::bigint[], %(v)s::bytea[]) AS t(p, v)"
                f" WHERE {OWN} AND id = p", p=[row[0] for row in rows], v=[row[1] for row in rows],
            )  # fmt: skip
            self._index.change()
        return known

    def clear(self, notes: Iterable[int] | None = None) -> None:
        """Take the vectors from the passages of some notes, or from all; the vectors stay."""
        some = "" if notes is None else "AND note_id = ANY(%(notes)s)"
        with self._index.changing():
            self._rows(f"UPDATE passages SET vector = NULL WHERE {OWN} {some}", notes=[*(notes or ())])
            self._index.change()

    def prune(self, *, lost: bool = False) -> None:
        """Delete vectors that no passage uses; with `lost` only those that lost one in this process."""
        unused = f"NOT EXISTS (SELECT 1 FROM passages p WHERE p.{OWN} AND p.vector = vectors.key)"
        some = "AND key = ANY(%(keys)s)" if lost else ""
        with self._index.changing():
            self._rows(f"DELETE FROM vectors WHERE {OWN} {some} AND {unused}", keys=[*self._index.lost])
            self._index.lost.clear()
            if not lost and self._is_large:
                n = self.length  # from now on the vectors of all workspaces are in it
                self._rows(
                    f"CREATE INDEX IF NOT EXISTS vectors_hnsw_{n} ON vectors USING hnsw"
                    f" ((vector::halfvec({n})) halfvec_cosine_ops) WHERE vector_dims(vector) = {n}"
                )

    @property
    def _is_large(self) -> bool:
        return int(self._rows(f"SELECT count(*) FROM vectors WHERE {OWN}")[0][0]) > EXACT

    # --- asking -------------------------------------------------------------------------------------

    def level(self) -> Level:
        """Return 0, or 2 while no passage has a vector."""
        return 0 if self._rows(f"SELECT 1 FROM passages WHERE {OWN} AND vector <> '' LIMIT 1") else 2

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare a question; see `index.base.VectorStore`."""

        def nearest(vector: Floats, limit: int) -> list[tuple[int, float]]:
            check_length(vector, self.length, shown(self._index.path))
            large = self._is_large
            each = (self._nearest(vector, limit, scope, struck, large) for scope in scopes or (ALL,))
            return sorted(set().union(*each), key=lambda pair: (-pair[1], pair[0]))

        return nearest, self.level()

    def _nearest(
        self, vector: Floats, limit: int, scope: Scope, struck: bool, large: bool
    ) -> list[tuple[int, float]]:
        query, n = Query(), len(vector)
        # As the index over vectors is made, or not: its condition would mislead the planner of a full scan.
        column, usable = "v.vector", "v.vector IS NOT NULL"
        if large:
            column, usable = f"v.vector::halfvec({n})", f"vector_dims(v.vector) = {n}"
        distance = f"{column} <=> {query.bind(_text(vector))}::halfvec({n})"
        covered = query.where(scope, struck=struck)
        best = (
            f"SELECT p.id, {distance} AS d FROM {source(covered)} {_VECTOR}"
            f" WHERE {usable} AND {covered}"
            f" ORDER BY {distance}{'' if large else ', p.id'} LIMIT {query.bind(limit)}"
        )
        return self._rows(f"SELECT id, 1 - d FROM ({best}) t ORDER BY d, id", **query.bound)

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of passages with a unit vector; passages without a vector are left out."""
        sql = (
            f"SELECT p.id, 1 - (v.vector <=> %(asked)s::halfvec) FROM passages p {_VECTOR} WHERE p.{OWN}"
            " AND p.id = ANY(%(ids)s) AND vector_dims(v.vector) = %(n)s"
        )
        return dict(self._rows(sql, asked=_text(vector), ids=[*passages], n=len(vector)))

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        """Return section and signs of the words of passages; passages without are left out."""
        rows = self._rows(
            f"SELECT p.id, p.section_id, v.signs FROM passages p {_VECTOR} WHERE p.{OWN}"
            " AND p.id = ANY(%(ids)s) AND v.signs IS NOT NULL", ids=[*passages],
        )  # fmt: skip
        return {passage: (section, signs) for passage, section, signs in rows}


def _text(vector: NDArray[Any]) -> str:
    return f"[{','.join(map(str, vector.tolist()))}]"
