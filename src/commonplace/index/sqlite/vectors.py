"""Vectors in the index file: int8 rows by key, and the nearest to a question.

A vector is stored as int8 (384 bytes, cosine to the float vector above .9999): a quarter of the disk and of
the time a cold search takes to read it. The first question is answered by the SQLite vector extension, later
ones by a matrix in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress

import apsw

from commonplace.base.paths import shown
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import ALL, Scope
from commonplace.index.sql import AMONG, OF_PASSAGES, SqlVectors
from commonplace.providers.embedding.base import check_length, dots, quantize, unit_rows

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    import numpy as np
    from numpy.typing import NDArray

    from commonplace.index.base import Floats, Nearest
    from commonplace.index.sqlite.matrix import Matrix
    from commonplace.types import Level

    Masks = dict[tuple[Scope, bool], NDArray[np.bool_] | None]

_LOAD_ROWS = 8192
_MOST_MASKS = 16  # scopes whose rows are remembered until a change
_MOST_TOUCHED = 10_000  # passages in the table `touched`; a reader that missed more reads all vectors


class _LoadedMatrix(NamedTuple):
    """The matrix of a version of the file, with the changes in `touched` up to `seq`, and its masks."""

    version: int
    seq: int
    matrix: Matrix
    masks: Masks


class SqliteVectors(SqlVectors):
    """The vectors of one index file, see `index.base.VectorStore`."""

    def __init__(self, index: Any) -> None:  # noqa: ANN401
        """Attach to an index, without reading it."""
        super().__init__(index)
        self.file: Any = index  # a SqliteIndex, whose module needs this one
        self._extension: bool | None = None
        self._asked = 0
        self._loaded: _LoadedMatrix | None = None

    def log_change(self, passages: Iterable[int]) -> None:
        """Note the passages whose vectors change, for those who hold them in memory; 0 stands for all."""
        self.file.change("INSERT INTO touched(passage) VALUES(?)", ((one,) for one in passages))
        last = "SELECT max(seq) FROM touched"
        self.file.rows(f"DELETE FROM touched WHERE seq <= ({last}) - {_MOST_TOUCHED}")

    # --- asking -------------------------------------------------------------------------------------

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare for one question; see `index.base.VectorStore`.

        The first question goes to the extension, which reads the file once. For later ones the function
        holds the matrix and touches the index no more, so it may run at the same time as a full-text query.
        """
        self._asked += 1
        level = self.level()
        if level == 0 and self._asked == 1 and self._loaded is None:
            return super().ready(*scopes, struck=struck)
        loaded, place = self._load(), shown(self.file.path)
        matrix, covered = loaded.matrix, [self._mask(loaded, scope, struck) for scope in scopes or (ALL,)]

        def nearest(vector: Floats, limit: int) -> list[tuple[int, float]]:
            check_length(vector, matrix.rows.shape[1] if len(matrix.ids) else 0, place)
            return matrix.nearest(covered, vector, limit)

        return nearest, level

    def level(self) -> Level:
        """Return 0 with the extension, 1 without it, 2 while no passage has a vector."""
        if super().level() == 2:
            return 2
        if self._extension is None:
            self._extension = _load_extension(self.file.connection)
        return 0 if self._extension else 1

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Return the cosines of passages with a unit vector; passages without a vector are left out."""
        if self._loaded is not None and self._loaded.version == self.file.version:
            return self._loaded.matrix.cosines(vector, passages)
        rows = self._vectors(passages, len(vector))
        cosines = dots(unit_rows([row[1] for row in rows]), vector).tolist() if rows else ()
        return dict(zip((row[0] for row in rows), cosines, strict=True))

    def _vectors(self, passages: Sequence[int], length: int) -> list[tuple[int, bytes]]:
        """Return those of some passages that have a vector of a length, with it, in the order of ids."""
        some = f"length(v.vector) = ? AND p.id {AMONG.format('?')} ORDER BY p.id"
        sql = f"SELECT p.id, v.vector {OF_PASSAGES} WHERE {some}"
        return list(self.file.rows(sql, (length, json.dumps(list(passages)))))

    def nearest(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        """Return the nearest passages of a scope, compared by the extension."""
        query = self.file.query()
        join = f"JOIN notes n ON n.id = s.note_id AND {query.where(scope)}" if scope.conditions else ""
        gone = 0 if struck else len(self.file.struck())  # these may be among the nearest
        stands = "WHERE s.until IS NULL" if gone else ""
        # While another model's vectors are being made, the table holds some that no passage uses yet.
        some = join or "staging" in self.file.meta
        used = f"AND id IN (SELECT s.vector_id FROM passages s {join})" if some else ""
        asked = quantize(vector[None])[0].tobytes()
        return list(self.file.rows(
            "WITH top AS (SELECT id, vec_distance_cosine(vec_int8(vector), vec_int8(:asked)) AS distance"
            f" FROM vectors WHERE length(vector) = :n {used} ORDER BY distance, id LIMIT :most)"
            " SELECT s.id, 1 - top.distance FROM top JOIN passages s ON s.vector_id = top.id"
            f" {join} {stands} ORDER BY top.distance, s.id LIMIT :limit",
            {**query.bound, "asked": asked, "n": len(asked), "most": limit + gone, "limit": limit},
        ))  # fmt: skip

    # --- the matrix ---------------------------------------------------------------------------------

    def _load(self) -> _LoadedMatrix:
        """Return the vectors of all passages, as fresh as the file."""
        version, before = self.file.version, self._loaded
        if before is not None and before.version == version:
            return before
        seq = int(self.file.rows("SELECT coalesce(max(seq), 0) FROM touched")[0][0])
        matrix = self._renewed(before) if before is not None else None
        self._loaded = before = None  # before all is read again: two matrices are the peak of memory
        loaded = _LoadedMatrix(version, seq, matrix or self._read(), {})
        if self.file.connection.txn_state("main") != apsw.SQLITE_TXN_WRITE:  # else it may be rolled back
            self._loaded = loaded
        return loaded

    def _renewed(self, loaded: _LoadedMatrix) -> Matrix | None:
        """Return a matrix with the changes since it was loaded; None where these are not known, or many."""
        import numpy as np

        matrix = loaded.matrix
        if not len(matrix.ids):
            return None
        log = self.file.rows("SELECT seq, passage FROM touched WHERE seq > ? ORDER BY seq", (loaded.seq,))
        touched = np.unique(np.array([passage for _, passage in log], np.int64))
        if (log and (log[0][0] != loaded.seq + 1 or not touched[0])) or 2 * len(touched) > len(matrix.ids):
            return None
        stays, width = ~np.isin(matrix.ids, touched), matrix.rows.shape[1]
        found = self._vectors(touched.tolist(), width)
        read = np.frombuffer(b"".join([row[1] for row in found]), np.int8).reshape(-1, width)
        ids = np.concatenate([matrix.ids[stays], np.array([row[0] for row in found], np.int64)])
        places = np.concatenate([np.flatnonzero(stays), np.full(len(found), -1)])
        order = np.argsort(ids, kind="stable")
        return matrix.renewed(ids[order], places[order], read)

    def _read(self) -> Matrix:
        """Read all vectors, a few thousand at a time, so that the matrix alone is large."""
        from array import array

        import numpy as np

        from commonplace.index.sqlite.matrix import Matrix

        width, ids, vectors = self.length, array("q"), bytearray()
        some = "WHERE length(v.vector) = ? AND p.id > ? ORDER BY p.id LIMIT ?"
        sql = f"SELECT p.id, v.vector {OF_PASSAGES} {some}"
        while rows := self.file.rows(sql, (width or None, ids[-1] if ids else 0, _LOAD_ROWS)):
            ids.extend([row[0] for row in rows])
            vectors += b"".join([row[1] for row in rows])
        return Matrix(np.array(ids, np.int64), np.frombuffer(vectors, np.int8).reshape(len(ids), width))

    def _mask(self, loaded: _LoadedMatrix, scope: Scope, struck: bool) -> NDArray[np.bool_] | None:
        """Return the rows of the matrix that a question covers, (n,) bool; None for all."""
        import numpy as np

        ids, masks = loaded.matrix.ids, loaded.masks
        if (scope, struck) in masks:
            return masks[scope, struck]
        mask = self._covered(ids, scope) if scope.conditions else None
        if not struck and (gone := self.file.struck()):
            mask = np.ones(len(ids), bool) if mask is None else mask
            mask &= ~np.isin(ids, np.fromiter(gone, np.int64, len(gone)))
        if len(masks) >= _MOST_MASKS:
            masks.clear()
        masks[scope, struck] = mask
        return mask

    def _covered(self, ids: NDArray[np.int64], scope: Scope) -> NDArray[np.bool_]:
        """Return which passage ids a scope covers, (n,) bool: those of whole notes, or single ones."""
        import numpy as np

        query = self.file.query()
        where = query.where(scope)
        # Where a note without passages begins, another one may go on.
        source = "first_passage, last_passage FROM notes n WHERE first_passage <= last_passage"
        if "s." in where:  # it may hold for some passages of a note and not for others
            source = "s.id, s.id FROM passages s JOIN notes n ON n.id = s.note_id WHERE TRUE"
        ranges = self.file.rows(f"SELECT {source} AND {where} ORDER BY 1", query.bound)
        if not ranges:
            return np.zeros(len(ids), bool)
        firsts, lasts = np.array(ranges, np.int64).T
        place = np.searchsorted(firsts, ids, side="right") - 1
        inside: NDArray[np.bool_] = (place >= 0) & (ids <= lasts[np.maximum(place, 0)])
        return inside


def _load_extension(connection: apsw.Connection) -> bool:
    with suppress(apsw.Error, AttributeError):  # a SQLite built without extensions lacks the method
        connection.enable_load_extension(True)
        try:
            connection.load_extension(extension_path() or "")
        finally:
            connection.enable_load_extension(False)
        return True
    return False


def extension_path() -> str | None:
    """Return the path of the extension's library; its package is not imported, which would load numpy."""
    import importlib.util

    spec = importlib.util.find_spec("sqlite_vec")
    folders = spec.submodule_search_locations if spec else None
    return os.path.join(next(iter(folders)), "vec0") if folders else None
