"""Vectors in the index file: int8 rows by key, and which are nearest to a question.

A vector is stored as int8 (384 bytes, cosine to the float vector above .9999): a quarter of the disk and of
the time a cold search takes to read it. One question is answered by the SQLite vector extension; from the
second one on, by a float32 matrix in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence

import apsw

from commonplace.base.paths import shown
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import ALL, UNSERVED, Scope, Text
from commonplace.index.sqlite import schema
from commonplace.providers.embedding.base import check_length, dots, quantize, unit_rows

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.index.base import Floats, Nearest
    from commonplace.index.sqlite.file import IndexFile, State
    from commonplace.index.sqlite.matrix import Matrix
    from commonplace.types import Level

_LOAD_ROWS = 8192
_KEY = 16  # bytes
_UNUSED = "NOT EXISTS (SELECT 1 FROM passages WHERE vector_id = vectors.id)"
_OF_ALL = "FROM passages p JOIN vectors v ON v.id = p.vector_id"
_OF_PASSAGES = f"{_OF_ALL} WHERE {schema.USABLE.format('v.vector')}"


class _Loaded(NamedTuple):
    """The matrix of a version of the file, and the beginnings of the keys of its rows, (n,) int64.

    `state` is None where it was read amid changes that may be taken back.
    """

    version: int
    state: State | None
    matrix: Matrix
    keys: NDArray[np.int64]


class SqliteVectors:
    """The vectors of one index file, see `index.base.VectorStore`."""

    def __init__(self, file: IndexFile) -> None:
        """Attach to an index; nothing is read until it is asked for."""
        self.file = file
        self._extension: bool | None = None
        self._asked = 0
        self._loaded: _Loaded | None = None

    # --- filling ------------------------------------------------------------------------------------

    def texts(self, after: int, limit: int, *, pending: bool = False) -> list[Text]:
        """The next passages above an id, in the order of ids; with `pending` those without a vector."""
        condition = "p.vector_id IS NULL AND " if pending else ""
        rows = self.file.rows(
            "SELECT p.id, p.text, s.headings, n.collection, n.path, s.turns FROM passages p"
            " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id"
            f" WHERE {condition}p.id > ? ORDER BY p.id LIMIT ?",
            (after, limit),
        )
        with schema.translated(self.file.path):
            return [Text(row[0], row[1], tuple(json.loads(row[2])), *row[3:]) for row in rows]

    def pending(self) -> int:
        """How many passages still lack a vector."""
        return int(self.file.rows("SELECT count(*) FROM passages WHERE vector_id IS NULL")[0][0])

    @property
    def length(self) -> int:
        """How long the vectors of passages are, 0 while none has one."""
        sql = f"SELECT length(v.vector) {_OF_PASSAGES} ORDER BY p.vector_id LIMIT 1"
        rows = self.file.rows(sql)
        return int(rows[0][0]) if rows else 0

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Ids of the vectors that exist, by key."""
        sql = f"SELECT id FROM vectors WHERE key = ? AND {schema.USABLE.format('vector')}"
        found = ((key, self.file.rows(sql, (key,))) for key in set(keys))
        return {key: rows[0][0] for key, rows in found if rows}

    def add(
        self, keys: Sequence[bytes], vectors: Floats, words: Mapping[bytes, bytes] | None = None
    ) -> dict[bytes, int]:
        """Keep vectors, one row a key; another process may have stored the same meanwhile.

        One of zeros has no direction: whoever says that has none.
        """
        sql = (
            "INSERT INTO vectors(key, vector) VALUES(?, ?)"
            " ON CONFLICT(key) DO UPDATE SET vector = excluded.vector RETURNING id"
        )
        with schema.translated(self.file.path), schema.transaction(self.file.connection):
            last = self.file.rows("SELECT coalesce(max(id), 0) FROM vectors")[0][0]
            with self.file.touching():
                self.file.change("INSERT OR REPLACE INTO words VALUES(?, ?)", list((words or {}).items()))
                ids = {
                    key: self.file.rows(sql, (key, vector.tobytes()))[0][0] if vector.any() else UNSERVED
                    for key, vector in zip(keys, quantize(vectors), strict=True)
                }
                known = json.dumps([one for one in ids.values() if UNSERVED < one <= last])
                of_known = "SELECT id FROM passages WHERE vector_id IN (SELECT value FROM json_each(?))"
                self.file.touched += (row[0] for row in self.file.rows(of_known, (known,)))
            return ids

    def assign(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Give passages their vectors, as (passage, vector) ids."""
        rows = [(vector, passage) for passage, vector in pairs]
        with self.file.touching(passage for _, passage in rows):
            self.file.change("UPDATE passages SET vector_id = ? WHERE id = ?", rows)

    def clear(self, notes: Iterable[int] | None = None) -> None:
        """Take the vectors from the passages of some notes, or from all; the vectors stay."""
        sql = "UPDATE passages SET vector_id = NULL WHERE vector_id IS NOT NULL"
        if notes is None:
            self.file.rows(sql)
        else:
            self.file.change(f"{sql} AND note_id = ?", [(note,) for note in notes])

    def prune(self, *, lost: bool = False) -> None:
        """Forget vectors that no passage uses; with `lost` only among those that lost one since the last.

        One that stayed would take a place among the nearest that a question asks for.
        """
        if lost:
            rows, self.file.orphans = [(vector,) for vector in self.file.orphans], set()
            gone = f"vectors WHERE id = ? AND {_UNUSED}"
            with self.file.touching():
                self.file.change(f"DELETE FROM words WHERE key = (SELECT key FROM {gone})", rows)
                self.file.change(f"DELETE FROM {gone}", rows)
        else:
            used = "SELECT vector_id FROM passages WHERE vector_id IS NOT NULL"
            self.file.rows(f"DELETE FROM vectors WHERE id NOT IN ({used})")
            self.file.rows("DELETE FROM words WHERE key NOT IN (SELECT key FROM vectors)")

    def drop_unusable(self) -> None:
        """Forget vectors that cannot be compared, and take from passages those that are not there."""
        length = self._length()
        other = f"typeof(key) <> 'blob' OR NOT ({schema.USABLE.format('vector')})"
        if length:
            other += f" OR length(vector) <> {length} AND NOT {_UNUSED}"
        with schema.translated(self.file.path), schema.transaction(self.file.connection):
            self.file.rows(f"DELETE FROM vectors WHERE {other}")
            self.file.rows("DELETE FROM words WHERE typeof(key) <> 'blob' OR typeof(signs) <> 'blob'")
            self.file.rows(
                f"UPDATE passages SET vector_id = NULL WHERE vector_id <> {UNSERVED}"
                " AND vector_id NOT IN (SELECT id FROM vectors)"
            )

    def _length(self) -> int:
        """The bytes that vectors of passages have, 0 where there is none: one model's have one length."""
        rows = self.file.rows(
            f"SELECT length(v.vector) {_OF_PASSAGES} GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
        )
        return int(rows[0][0]) if rows else 0

    # --- asking -------------------------------------------------------------------------------------

    def ready(self, *scopes: Scope, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare for one question; see `index.base.VectorStore`.

        The first question goes to the extension, which reads the file once. For later ones the function
        holds the matrix and touches the index no more, so it may run beside a full-text query.
        """
        self._asked += 1
        level, scopes = self.level(), scopes or (ALL,)
        if level == 0 and self._asked == 1 and self._loaded is None:
            return lambda vector, limit: self._scan(vector, limit, scopes, struck), 0
        matrix, place = self._matrix(), shown(self.file.path)
        ids = matrix.ids
        covered = [self._covered(ids, scope) if scope.conditions else None for scope in scopes]
        if not struck and (gone := self.file.struck()):
            covered = [_standing(ids, gone, each) for each in covered]

        def nearest(vector: Floats, limit: int) -> list[tuple[int, float]]:
            check_length(vector, matrix.rows.shape[1] if len(ids) else 0, place)
            return matrix.nearest(covered, vector, limit)

        return nearest, level

    def level(self) -> Level:
        """What vectors can do here: 0 with the extension, 1 without it, 2 while no passage has one."""
        if not self.file.rows("SELECT 1 FROM passages WHERE vector_id > ? LIMIT 1", (UNSERVED,)):
            return 2
        return 0 if self.load_extension() else 1

    @property
    def in_memory(self) -> bool:
        """Whether the next question will be answered from the matrix, or the index read for it."""
        return self._loaded is not None

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Cosines of given passages with a unit vector; those without a vector are left out."""
        if self._loaded is not None and self._loaded.version == self.file.version:
            return self._matrix().cosines(vector, passages)
        rows = self.file.rows(
            f"SELECT p.id, v.vector {_OF_PASSAGES} AND length(v.vector) = ?"
            " AND p.id IN (SELECT value FROM json_each(?))",
            (len(vector), json.dumps(list(passages))),
        )
        if not rows:
            return {}
        matrix = unit_rows([row[1] for row in rows])
        return dict(zip((row[0] for row in rows), dots(matrix, vector).tolist(), strict=True))

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        """Return section and signs of the words of passages, by passage."""
        rows = self.file.rows(
            "SELECT p.id, p.section_id, w.signs FROM json_each(?) AS asked"
            " JOIN passages p ON p.id = asked.value JOIN vectors v ON v.id = p.vector_id"
            " JOIN words w ON w.key = v.key WHERE typeof(w.signs) = 'blob'",
            (json.dumps(list(passages)),),
        )
        return {passage: (section, signs) for passage, section, signs in rows}

    def load_extension(self) -> bool:
        """Load the vector extension into the connection; false where that is not possible."""
        if self._extension is None:
            self._extension = _load_extension(self.file.connection)
        return self._extension

    def _scan(
        self, vector: Floats, limit: int, scopes: Sequence[Scope], struck: bool
    ) -> list[tuple[int, float]]:
        best = {pair for scope in scopes for pair in self._scan_one(vector, limit, scope, struck)}
        return sorted(best, key=lambda pair: (-pair[1], pair[0]))

    def _scan_one(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        where = self.file.where(scope)
        join = f"JOIN notes n ON n.id = s.note_id {where.after('AND')}" if where.sql else ""
        gone = 0 if struck else len(self.file.struck())  # these may be among the nearest
        stands = "WHERE s.until IS NULL" if gone else ""
        # While another model's vectors are being made, the table holds some that no passage uses yet.
        some = where.sql or "staging" in self.file.meta
        used = f"AND id IN (SELECT s.vector_id FROM passages s {join})" if some else ""
        asked = quantize(vector[None])[0].tobytes()
        rows = self.file.rows(
            "WITH top AS (SELECT id, vec_distance_cosine(vec_int8(vector), vec_int8(?)) AS distance"
            f" FROM vectors WHERE {schema.USABLE.format('vector')} AND length(vector) = ? {used}"
            " ORDER BY distance, id LIMIT ?)"
            " SELECT s.id, 1 - top.distance FROM top JOIN passages s ON s.vector_id = top.id"
            f" {join} {stands}"
            " ORDER BY top.distance, s.id LIMIT ?",
            (asked, len(asked), *where.bindings, limit + gone, *where.bindings, limit),
        )
        if not rows:
            check_length(vector, self._length(), shown(self.file.path))
        return [(int(passage), float(cosine)) for passage, cosine in rows]

    def _matrix(self) -> Matrix:
        """The vectors of all passages, as fresh as the file."""
        version = self.file.version
        if self._loaded is None or self._loaded.version != version or self._loaded.state is None:
            before = self._loaded
            loaded = self._renewed(before, version) if before is not None and len(before.keys) else None
            self._loaded = None  # before all is read again: two matrices are the peak of memory
            self._loaded = loaded or self._load(version)
        return self._loaded.matrix

    def _renewed(self, loaded: _Loaded, version: int) -> _Loaded | None:
        """What was loaded with what has changed since; None where it is as well read anew."""
        import numpy as np

        state, before, matrix = self._state(), loaded.state, loaded.matrix
        if state and before and state[:2] == before[:2]:
            touched = np.unique(np.array(self.file.touched[before.touched :], np.int64))
            stays = ~np.isin(matrix.ids, touched)
        elif compared := self._compared(loaded):
            stays, touched = compared
        else:
            return None
        if 2 * len(touched) > len(stays):
            return None
        width = matrix.rows.shape[1]
        is_usable = f"{schema.USABLE.format('v.vector')} AND length(v.vector) = {width}"
        found = self.file.rows(
            f"SELECT p.id, CAST(v.key AS BLOB), v.vector, {is_usable} {_OF_ALL}"
            " WHERE p.id IN (SELECT value FROM json_each(?)) ORDER BY p.id",
            (json.dumps(touched.tolist()),),
        )
        if not all(row[3] for row in found):  # one is of no use, or of another length
            return None
        read = np.frombuffer(b"".join([row[2] for row in found]), np.int8).reshape(-1, width)
        ids = np.concatenate([matrix.ids[stays], np.array([row[0] for row in found], np.int64)])
        keys = np.concatenate([loaded.keys[stays], _marks(row[1] for row in found)])
        places = np.concatenate([np.flatnonzero(stays), np.full(len(found), -1)])
        order = np.argsort(ids, kind="stable")
        renewed = matrix.renewed(ids[order], places[order], read)
        return _Loaded(version, state, renewed, keys[order])

    def _compared(self, loaded: _Loaded) -> tuple[NDArray[np.bool_], NDArray[np.int64]] | None:
        """Which rows of a matrix are as they were, and the passages that have another vector now.

        Passages are told by the keys of their vectors, too: ids are given again after rows are deleted. None
        where a key is none of ours.
        """
        import numpy as np

        # In the order of the index over vectors, the only one that needs no passage to be read.
        # As two texts, in half the time that a row each takes.
        sql = f"SELECT coalesce(group_concat(p.id), ''), coalesce(group_concat(hex(v.key), ''), '') {_OF_ALL}"
        numbers, digits = self.file.rows(sql)[0]
        ids = np.fromstring(numbers, np.int64, sep=",")
        if len(digits) != 2 * _KEY * len(ids):
            return None
        keys = np.frombuffer(bytes.fromhex(digits), np.int64)[:: _KEY // 8]
        known = loaded.matrix.ids
        places = np.minimum(np.searchsorted(known, ids), len(known) - 1)
        is_known = (known[places] == ids) & (loaded.keys[places] == keys)
        stays = np.zeros(len(known), bool)
        stays[places[is_known]] = True
        return stays, ids[~is_known]

    def _state(self) -> State | None:
        """What the vectors are as of now; None amid changes that may be taken back."""
        is_amid = self.file.connection.txn_state("main") == apsw.SQLITE_TXN_WRITE
        return None if is_amid else self.file.state

    def _load(self, version: int) -> _Loaded:
        """Read all vectors, a few thousand at a time, so that nothing but the matrix is ever large."""
        import numpy as np

        from commonplace.index.sqlite.matrix import Matrix

        state, length = self._state(), self._length()
        usable = f"{_OF_PASSAGES} AND length(v.vector) = {length}"
        count = self.file.rows(f"SELECT count(*) {usable}")[0][0]
        ids, keys = np.empty(count, np.int64), np.empty(count, np.int64)
        vectors = np.empty((count, length), np.int8)
        last = done = 0
        sql = f"SELECT p.id, CAST(v.key AS BLOB), v.vector {usable} AND p.id > ? ORDER BY p.id LIMIT ?"
        while rows := self.file.rows(sql, (last, _LOAD_ROWS)):
            rows = rows[: count - done]  # another process may have added some since they were counted
            if not rows:
                break
            read, part = b"".join([row[2] for row in rows]), slice(done, done + len(rows))
            ids[part], keys[part] = [row[0] for row in rows], _marks(row[1] for row in rows)
            vectors[part] = np.frombuffer(read, np.int8).reshape(len(rows), length)
            done, last = done + len(rows), rows[-1][0]
        return _Loaded(version, state, Matrix(ids[:done], vectors[:done]), keys[:done])

    def _covered(self, ids: NDArray[np.int64], scope: Scope) -> NDArray[np.bool_]:
        """Which passage ids a question covers, (n,) bool: those of whole notes, or single ones."""
        import numpy as np

        where = self.file.where(scope)
        # Where a note without passages begins, another one may go on.
        source = "first_passage, last_passage FROM notes n WHERE first_passage <= last_passage"
        if where.single:
            source = "s.id, s.id FROM passages s JOIN notes n ON n.id = s.note_id WHERE TRUE"
        ranges = self.file.rows(f"SELECT {source} {where.after('AND')} ORDER BY 1", where.bindings)
        if not ranges:
            return np.zeros(len(ids), bool)
        firsts, lasts = np.array(ranges, np.int64).T
        place = np.searchsorted(firsts, ids, side="right") - 1
        inside: NDArray[np.bool_] = (place >= 0) & (ids <= lasts[np.maximum(place, 0)])
        return inside


def _marks(keys: Iterable[bytes]) -> NDArray[np.int64]:
    """What tells keys apart: their first eight bytes."""
    import numpy as np

    return np.frombuffer(b"".join([key[:8].ljust(8) for key in keys]), np.int64)


def _standing(
    ids: NDArray[np.int64], gone: frozenset[int], covered: NDArray[np.bool_] | None
) -> NDArray[np.bool_]:
    """Which passage ids are covered and not struck, (n,) bool."""
    import numpy as np

    stands = np.ones(len(ids), bool) if covered is None else covered
    places = np.searchsorted(ids, np.fromiter(gone, np.int64, len(gone)))
    places = places[places < len(ids)]
    stands[places[np.isin(ids[places], list(gone))]] = False
    return stands


def _load_extension(connection: apsw.Connection) -> bool:
    path = extension_path()
    if path is None:
        return False
    try:
        connection.enable_load_extension(True)
        connection.load_extension(path)
    except (apsw.Error, AttributeError):  # a SQLite built without extensions lacks the method
        return False
    finally:
        if hasattr(connection, "enable_load_extension"):
            connection.enable_load_extension(False)
    return True


def extension_path() -> str | None:
    """Where the extension's library stands; its package is not imported, which would load numpy."""
    import importlib.util

    spec = importlib.util.find_spec("sqlite_vec")
    folders = spec.submodule_search_locations if spec else None
    return os.path.join(next(iter(folders)), "vec0") if folders else None
