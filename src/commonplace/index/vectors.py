"""Vectors in the index: which passages lack one, which are nearest to a question.

A vector is keyed by the model and the hash of the embedded text, so moving or renaming a file, or inserting
a line above, embeds nothing again. It is stored as int8 (384 bytes, cosine to the float vector above .9999):
a quarter of the disk and of the time a cold search takes to read it. One question is answered by the SQLite
vector extension; from the second one on, by a float32 matrix in memory.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import apsw

from commonplace.base.errors import IndexUnavailable, ProviderError
from commonplace.config.loading import applying
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import schema
from commonplace.index.scope import ALL, Scope
from commonplace.index.sqlite import SqliteIndex
from commonplace.language import lexicon
from commonplace.providers.embedding.base import quantize, unit_rows

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.providers.embedding.base import Embedder
    from commonplace.types import Level

    Floats = NDArray[np.float32]
    Nearest = Callable[[Floats, int], list[tuple[int, float]]]

# A passage whose letters are mostly of a script that the model does not serve gets no vector: it would
# carry no meaning, and cost time and disk.
FOREIGN_SHARE = 0.5
_TEXTS = (
    "SELECT p.id, p.text, s.headings, n.collection, n.path FROM passages p"
    " JOIN sections s ON s.id = p.section_id JOIN notes n ON n.id = p.note_id"
)
_LOAD_ROWS = 8192
UNSERVED = 0  # vector_id of such a passage; NULL is one still to be embedded


class Model(Protocol):
    """What must be known of a model to tell which vector is a passage's."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a vector."""

    @property
    def scripts(self) -> frozenset[str]:
        """Scripts it serves."""


class _Noted(NamedTuple):
    """The index's model, as the index itself notes it."""

    fingerprint: str
    scripts: frozenset[str]


class Pending(NamedTuple):
    """A passage without a vector, and the text to embed for it."""

    passage: int
    key: bytes
    text: str


class Vectors:
    """The vectors of one index, for one model."""

    def __init__(self, index: SqliteIndex) -> None:
        """Attach to an index; nothing is read until it is asked for."""
        self.index = index
        self._extension: bool | None = None
        self._asked = 0
        self._loaded: tuple[int, Any, Any] | None = None

    # --- filling ------------------------------------------------------------------------------------

    def serves(self, embedder: Embedder) -> bool:
        """Whether the index's vectors are this model's, or there are none yet."""
        model = self.index.meta("model")
        return model in (None, embedder.fingerprint) or not self._run("SELECT 1 FROM vectors LIMIT 1")

    def holds(self, embedder: Embedder) -> bool:
        """Whether some of the index's vectors are this model's."""
        return self.index.meta("model") == embedder.fingerprint and self.level() < 2

    def adopt(self, embedder: Embedder) -> None:
        """Make this model the index's; vectors of another one are forgotten at the next `prune`."""
        if self.index.meta("model") != embedder.fingerprint:
            with self.index.writing():
                self._run("UPDATE passages SET vector_id = NULL WHERE vector_id IS NOT NULL")
                self.index.set_meta("model", embedder.fingerprint)
                self.index.set_meta("scripts", " ".join(sorted(embedder.scripts)))

    def reuse(self, after: int = 0) -> int:
        """Give passages with ids above `after` the vectors known for their text; return how many got one.

        No model is run or loaded: what was moved, or cut anew in a rebuild, is found by meaning at once.
        """
        model = self._noted()
        if model is None:
            return 0
        reused = 0
        for rows in self._pages("p.vector_id IS NULL", _LOAD_ROWS, after):
            found = _pending(rows, model, self.contexts())
            served = {pending.passage for pending in found}
            ids = self.known(pending.key for pending in found)
            known = [(p.passage, ids[p.key]) for p in found if p.key in ids]
            self.assign([*known, *((row[0], UNSERVED) for row in rows if row[0] not in served)])
            reused += len(known)
        return reused

    def _noted(self) -> Model | None:
        fingerprint, scripts = self.index.meta("model"), self.index.meta("scripts")
        if fingerprint is None or scripts is None:
            return None
        return _Noted(str(fingerprint), frozenset(str(scripts).split()))

    def pending(self, limit: int, embedder: Embedder) -> list[Pending]:
        """The next passages to embed, in the order of the notes; the unserved are marked in passing."""
        found: list[Pending] = []
        while not found:
            rows = self._run(f"{_TEXTS} WHERE p.vector_id IS NULL ORDER BY p.id LIMIT ?", (limit,))
            found = _pending(rows, embedder, self.contexts())
            served = {pending.passage for pending in found}
            self.assign((row[0], UNSERVED) for row in rows if row[0] not in served)
            if len(rows) < limit:
                break
        return found

    def missing(self, embedder: Embedder, contexts: Mapping[str, str] | None = None) -> dict[bytes, str]:
        """What a sync with this model, and these contexts, would have to embed: texts by key, each once."""
        noted = self.contexts()
        contexts = noted if contexts is None else _redacted(contexts)
        condition = "p.vector_id IS NULL" if self.serves(embedder) and contexts == noted else "TRUE"
        found: dict[bytes, str] = {}
        for rows in self._pages(condition, _LOAD_ROWS, 0):
            wanted = {pending.key: pending.text for pending in _pending(rows, embedder, contexts)}
            known = self.known(wanted)
            found |= {key: text for key, text in wanted.items() if key not in known}
        return found

    def texts(self, size: int, embedder: Embedder) -> Iterator[list[Pending]]:
        """All passages that a model serves, whether they have a vector or not, some at a time."""
        for rows in self._pages("TRUE", size, 0):
            yield _pending(rows, embedder, self.contexts())

    def _pages(self, condition: str, size: int, last: int) -> Iterator[list[Any]]:
        """Id, text, headings and place of the passages behind `last` that meet a condition, in order."""
        while rows := self._run(
            f"{_TEXTS} WHERE {condition} AND p.id > ? ORDER BY p.id LIMIT ?", (last, size)
        ):
            last = rows[-1][0]
            yield rows

    def contexts(self) -> dict[str, str]:
        """The descriptions that are embedded with the passages below them, by prefix."""
        noted = self.index.meta("contexts")
        with schema.translated(self.index.path):
            return dict(json.loads(noted)) if noted else {}

    def describe(self, contexts: Mapping[str, str]) -> None:
        """Embed these contexts with the passages from now on, and those passages anew that this changes."""
        before, after = self.contexts(), _redacted(contexts)
        if before == after:
            return
        rows = self._run("SELECT id, collection, path FROM notes")
        changed = [(row[0],) for row in rows if _applying(before, *row[1:]) != _applying(after, *row[1:])]
        with schema.translated(self.index.path), self.index.writing():
            sql = "UPDATE passages SET vector_id = NULL WHERE vector_id IS NOT NULL AND note_id = ?"
            self.index.connection.executemany(sql, changed)
            self.index.set_meta("contexts", json.dumps(after, ensure_ascii=False))

    def known(self, keys: Iterable[bytes]) -> dict[bytes, int]:
        """Ids of the vectors that exist already, by key."""
        found = {}
        for wanted in set(keys):
            rows = self._run("SELECT id FROM vectors WHERE key = ?", (wanted,))
            if rows:
                found[wanted] = rows[0][0]
        return found

    def store(self, keys: Sequence[bytes], vectors: Floats) -> dict[bytes, int]:
        """Store vectors, one row a key; call inside `index.writing()`."""
        ids = {}
        for wanted, vector in zip(keys, quantize(vectors), strict=True):
            # Another process may have stored the same while this one waited for a batch.
            again = "ON CONFLICT(key) DO UPDATE SET vector = excluded.vector"
            sql = f"INSERT INTO vectors(key, vector) VALUES(?, ?) {again} RETURNING id"
            ids[wanted] = self._run(sql, (wanted, vector.tobytes()))[0][0]
        return ids

    def assign(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Give passages their vectors, as (passage, vector) ids."""
        rows = [(vector, passage) for passage, vector in pairs]
        with schema.translated(self.index.path), self.index.writing():
            self.index.connection.executemany("UPDATE passages SET vector_id = ? WHERE id = ?", rows)

    def prune(self) -> None:
        """Forget vectors that no passage uses, unless another model's are being made beside them."""
        if self.index.meta("staging") is None:
            used = "SELECT vector_id FROM passages WHERE vector_id IS NOT NULL"
            self._run(f"DELETE FROM vectors WHERE id NOT IN ({used})")

    def forget(self, ids: Iterable[int]) -> None:
        """Forget those of these vectors that no passage uses any more.

        One that stayed would take a place among the nearest that a question asks for.
        """
        rows = [(vector,) for vector in ids]
        unused = "NOT EXISTS (SELECT 1 FROM passages WHERE vector_id = vectors.id)"
        if rows:
            with schema.translated(self.index.path), self.index.writing():
                self.index.connection.executemany(f"DELETE FROM vectors WHERE id = ? AND {unused}", rows)

    # --- asking -------------------------------------------------------------------------------------

    def ready(self, scope: Scope = ALL, *, struck: bool = False) -> tuple[Nearest, Level]:
        """Prepare for one question: a function from unit vector and limit to (id, cosine), best first.

        What is struck is left out unless wanted. With it comes the level that answers. The first question
        goes to the extension, which reads the file once. For later ones the function holds the matrix and
        touches the index no more, so it may run beside a full-text query.
        """
        self._asked += 1
        level = self.level()
        if level == 0 and self._asked == 1 and self._loaded is None:
            return lambda vector, limit: self._scan(vector, limit, scope, struck), 0
        ids, matrix = self._matrix()
        covered = self._covered(ids, scope) if scope.sql else None
        if not struck and (gone := self.index.struck()):
            covered = self._standing(ids, gone, covered)
        return lambda vector, limit: multiply(ids, matrix, covered, vector, limit), level

    def level(self) -> Level:
        """What vectors can do here: 0 with the extension, 1 without it, 2 while no passage has one."""
        if not self._run("SELECT 1 FROM passages WHERE vector_id > ? LIMIT 1", (UNSERVED,)):
            return 2
        return 0 if self.load_extension() else 1

    @property
    def in_memory(self) -> bool:
        """Whether the next question will be answered from the matrix, or the index read for it."""
        return self._loaded is not None

    def cosines(self, vector: Floats, passages: Sequence[int]) -> dict[int, float]:
        """Cosines of given passages with a unit vector; those without a vector are left out."""
        import numpy as np

        if self._loaded is not None and self._loaded[0] == self.index.version():
            ids, matrix = self._matrix()
            wanted = np.array(passages, np.int64)
            if not len(ids):
                return {}  # and the matrix has no width either
            places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
            found = places[ids[places] == wanted]
            return dict(zip(ids[found].tolist(), (matrix[found] @ vector).tolist(), strict=True))
        rows = self._run(
            "SELECT p.id, v.vector FROM json_each(?) AS wanted JOIN passages p ON p.id = wanted.value"
            " JOIN vectors v ON v.id = p.vector_id",
            (json.dumps(list(passages)),),
        )
        if not rows:
            return {}
        matrix = unit_rows([row[1] for row in rows])
        return dict(zip((row[0] for row in rows), (matrix @ vector).tolist(), strict=True))

    def load_extension(self) -> bool:
        """Load the vector extension into the connection; false where that is not possible."""
        if self._extension is None:
            self._extension = _load_extension(self.index.connection)
        return self._extension

    def _scan(self, vector: Floats, limit: int, scope: Scope, struck: bool) -> list[tuple[int, float]]:
        join = f"JOIN notes n ON n.id = s.note_id {scope.where()}" if scope.sql else ""
        gone = 0 if struck else len(self.index.struck())  # these may be among the nearest
        stands = "WHERE s.until IS NULL" if gone else ""
        # While another model's vectors are being made, the table holds some that no passage uses yet.
        some = scope.sql or self.index.meta("staging")
        used = f"WHERE id IN (SELECT s.vector_id FROM passages s {join})" if some else ""
        rows = self._run(
            "WITH top AS (SELECT id, vec_distance_cosine(vec_int8(vector), vec_int8(?)) AS distance"
            f" FROM vectors {used} ORDER BY distance, id LIMIT ?)"
            " SELECT s.id, 1 - top.distance FROM top JOIN passages s ON s.vector_id = top.id"
            f" {join} {stands}"
            " ORDER BY top.distance, s.id LIMIT ?",
            (quantize(vector[None])[0].tobytes(), *scope.bindings, limit + gone, *scope.bindings, limit),
        )
        return [(int(passage), float(cosine)) for passage, cosine in rows]

    def _matrix(self) -> tuple[Any, Any]:
        """Passage ids and their unit vectors, (n,) int64 and (n, d) float32, as fresh as the file."""

        version = self.index.version()
        if self._loaded is None or self._loaded[0] != version:
            self._loaded = None  # before the new one is made: two of them are the peak of memory
            self._loaded = (version, *self._load())
        return self._loaded[1], self._loaded[2]

    def _load(self) -> tuple[Any, Any]:
        """Read all vectors, a few thousand at a time, so that nothing but the matrix is ever large."""
        import numpy as np

        count, length, shortest = self._run(
            "SELECT count(*), coalesce(max(length(v.vector)), 0), coalesce(min(length(v.vector)), 0)"
            " FROM passages p JOIN vectors v ON v.id = p.vector_id"
        )[0]
        if shortest != length:
            raise IndexUnavailable(self.index.path, "damaged")  # one model's vectors have one length
        ids, matrix = np.empty(count, np.int64), np.empty((count, length), np.float32)
        last = done = 0
        sql = (
            "SELECT p.id, v.vector FROM passages p JOIN vectors v ON v.id = p.vector_id"
            " WHERE p.id > ? ORDER BY p.id LIMIT ?"
        )
        while rows := self._run(sql, (last, _LOAD_ROWS)):
            rows = rows[: count - done]  # another process may have added some since they were counted
            if not rows:
                break
            ids[done : done + len(rows)] = [row[0] for row in rows]
            matrix[done : done + len(rows)] = unit_rows([row[1] for row in rows])
            done, last = done + len(rows), rows[-1][0]
        return ids[:done], matrix[:done]

    def _covered(self, ids: NDArray[np.int64], scope: Scope) -> NDArray[np.bool_]:
        """Which passage ids a question covers, (n,) bool: those of whole notes, or single ones."""
        import numpy as np

        source = "first_passage, last_passage FROM notes n"
        if scope.single:
            source = "s.id, s.id FROM passages s JOIN notes n ON n.id = s.note_id"
        ranges = self._run(f"SELECT {source} WHERE {scope.sql} ORDER BY 1", scope.bindings)
        if not ranges:
            return np.zeros(len(ids), bool)
        firsts, lasts = np.array(ranges, np.int64).T
        place = np.searchsorted(firsts, ids, side="right") - 1
        inside: NDArray[np.bool_] = (place >= 0) & (ids <= lasts[np.maximum(place, 0)])
        return inside

    def _standing(
        self, ids: NDArray[np.int64], gone: frozenset[int], covered: NDArray[np.bool_] | None
    ) -> NDArray[np.bool_]:
        """Which passage ids are covered and not struck, (n,) bool."""
        import numpy as np

        stands = np.ones(len(ids), bool) if covered is None else covered
        places = np.searchsorted(ids, np.fromiter(gone, np.int64, len(gone)))
        places = places[places < len(ids)]
        stands[places[np.isin(ids[places], list(gone))]] = False
        return stands

    def _run(self, sql: str, bindings: Sequence[Any] = ()) -> list[Any]:
        return self.index._rows(sql, bindings)


def multiply(
    ids: NDArray[np.int64],
    matrix: Floats,
    covered: NDArray[np.bool_] | None,
    vector: Floats,
    limit: int,
) -> list[tuple[int, float]]:
    """The rows of a matrix nearest to a vector, as (id, cosine), best first; ties by id."""
    import numpy as np

    if not len(ids):
        return []
    if matrix.shape[1] != len(vector):
        told = f"its vectors have {len(vector)} dimensions, those of the index {matrix.shape[1]}"
        raise ProviderError("embedding", told)
    cosines = matrix @ vector
    if covered is not None:
        cosines = np.where(covered, cosines, -np.inf)
    count = min(limit, len(ids))
    top = np.argpartition(-cosines, count - 1)[:count]
    top = top[np.lexsort((ids[top], -cosines[top]))]
    return [(int(ids[i]), float(cosines[i])) for i in top if np.isfinite(cosines[i])]


def embedded_text(text: str, headings: Sequence[str], contexts: Sequence[str] = ()) -> str:
    """The text that is embedded for a passage: its contexts, its headings, then what it says."""
    return "\n".join([*contexts, *([" › ".join(headings)] if headings else []), text])


def key(text: str, model: str) -> bytes:
    """Identity of a text as a model embeds it: 16 bytes."""
    import hashlib

    told = f"{model}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=16).digest()


def _pending(rows: Sequence[Any], model: Model, contexts: Mapping[str, str]) -> list[Pending]:
    """Passages that a model serves, with the text to embed."""
    every = "cjk" in model.scripts
    texts = [
        (row[0], embedded_text(row[1], json.loads(row[2]), _applying(contexts, *row[3:]) if contexts else ()))
        for row in rows
        if every or not is_foreign(row[1])
    ]
    return [Pending(passage, key(text, model.fingerprint), text) for passage, text in texts]


def _applying(contexts: Mapping[str, str], collection: str, path: str) -> tuple[str, ...]:
    """The contexts of a note, which are told by its path as people write it."""
    shown = path if collection == WORKSPACE_COLLECTION else f"{collection}/{path}"
    return applying(contexts, shown, collection)


def _redacted(contexts: Mapping[str, str]) -> dict[str, str]:
    """Contexts as they may be embedded and noted, in one order."""
    from commonplace.redaction.redact import redact

    return {prefix: redact(text)[0] for prefix, text in sorted(contexts.items())}


def is_foreign(text: str) -> bool:
    """Whether most letters are CJK, which a Latin model cannot rank."""
    return lexicon.cjk_share(text) > FOREIGN_SHARE


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
