"""Cache vectors and completions on disk, for all workspaces of a user.

A cache on disk is one SQLite file, derived, bounded and private. It fails no call: what cannot be read is
asked again, what cannot be written is not kept. Keys are hashes of requests; their text is not in it.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.database import DAMAGED, Database, compact
from commonplace.base.errors import NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.providers.embedding.base import quantize

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats, Kind
    from commonplace.providers.llm.base import Completion, Request
    from commonplace.types.changes import Erased
    from commonplace.types.store import Site, Targets

MAX_VECTORS, MAX_ANSWERS = 50_000, 10_000  # vectors of 384 dimensions are 20 MB, of 3,072 some 150
MAX_ANSWER_BYTES, MAX_AGE_S = 1_000_000, 30 * 86_400.0  # of a completion; others are not kept
_SPARE, _BUSY_S = 0.1, 2.0  # share of the limit that one purge frees, so that purges are rare
_SCHEMA = """
DROP TABLE IF EXISTS answers;  -- of version 0.1, as the next
DROP TABLE IF EXISTS vectors;
CREATE TABLE IF NOT EXISTS entries(
    key BLOB PRIMARY KEY, model TEXT NOT NULL, made REAL NOT NULL, value BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entries_by_age ON entries(made)"""


class CacheStats(NamedTuple):
    """The size of a cache on disk."""

    entries: int
    bytes: int
    models: Mapping[str, int]  # entries by fingerprint or name


class _DiskCache:
    """One file; safe to share between threads and processes."""

    def __init__(self, path: Path, limit: int, max_age_s: float = float("inf")) -> None:
        self.path, self.limit, self._max_age_s = Path(path), limit, max_age_s
        self._database = Database(self.path, _SCHEMA, busy_s=_BUSY_S)

    def stats(self) -> CacheStats:
        """Count the entries; an empty count without a file. Raises NoteUnreadable."""
        if not self.path.exists():
            return CacheStats(0, 0, {})
        with self._database.reading() as connection:
            models = dict(connection.execute("SELECT model, count(*) FROM entries GROUP BY 1 ORDER BY 1"))
        size = sum(place.stat().st_size for place in self.path.parent.glob(f"{self.path.name}*"))
        return CacheStats(sum(models.values()), size, models)

    def forget(self, holds: Callable[[bytes], bool] = lambda value: True, *, change: bool = True) -> int:
        """Count the entries whose value matches; with `change`, delete them and compact the file.

        Close the file. A damaged file is deleted whole (with `change`) and counts as one entry. Raises
        NoteUnreadable.
        """
        if not paths.root_of(self.path).is_file(self.path):
            return 0
        try:
            with self._database.reading() as connection:
                rows = connection.execute("SELECT key, value FROM entries")
                keys = [(key,) for key, value in rows if holds(value)]
            if change:
                with self._database.transaction() as connection:
                    connection.execute("PRAGMA secure_delete=ON")
                    connection.executemany("DELETE FROM entries WHERE key = ?", keys)
                with self._database.reading() as connection:
                    compact(connection, self.path)
            return len(keys)
        except NoteUnreadable as error:
            if error.reason != DAMAGED:
                raise
            if change:
                self._database.remove()
            return 1
        finally:
            self.close()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        self._database.close()

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Go on without the cache; a damaged one is deleted, and made anew with the next answer."""
        try:
            yield
        except NoteUnreadable as error:
            if error.reason == DAMAGED:
                self._database.remove()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Any]:
        """Return the values of these keys that are not too old."""
        values: dict[bytes, Any] = {}
        if not self.path.exists():
            return values
        select, since = "SELECT value FROM entries WHERE key = ? AND made > ?", time.time() - self._max_age_s
        with self._forgiving(), self._database.reading() as connection:
            for key in keys:
                if (value := connection.execute(select, (key, since)).get) is not None:
                    values[key] = value
        return values

    def _write(self, model: str, values: Mapping[bytes, bytes], stale: str = "0") -> None:
        """Keep values; those that are too old go, the oldest when there are too many, and `stale` ones.

        `stale` is a condition about a row of this model.
        """
        now = time.time()
        rows = [(key, model, now, value) for key, value in values.items()]
        if not rows:
            return
        with self._forgiving(), self._database.transaction() as connection:
            old = f"DELETE FROM entries WHERE made <= ? OR (model = ? AND {stale})"
            connection.execute(old, (now - self._max_age_s, model))
            connection.executemany("INSERT OR REPLACE INTO entries VALUES(?, ?, ?, ?)", rows)
            count = connection.execute("SELECT count(*) FROM entries").get
            if count > self.limit:
                surplus = count - self.limit + int(self.limit * _SPARE)
                oldest = "SELECT key FROM entries ORDER BY made, key LIMIT ?"
                connection.execute(f"DELETE FROM entries WHERE key IN ({oldest})", (surplus,))


class VectorCache(_DiskCache):
    """Vectors as the index keeps them, so that an index filled from here equals one filled by the model."""

    def __init__(self, path: Path | None = None, limit: int = MAX_VECTORS) -> None:
        """Name the file, by default the one in the user's cache folder; it is made with the first vector."""
        super().__init__(path or paths.user_cache_dir() / "vectors.sqlite", limit)

    find = _DiskCache._read

    def keep(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors of a model; its others of another length go: a server has another model there now."""
        length = len(next(iter(vectors.values()), b""))
        self._write(model, vectors, f"length(value) <> {length}")

    def complete(
        self, model: str, kind: Kind, texts: Sequence[str], embed: Callable[[Sequence[str]], Floats]
    ) -> list[bytes]:
        """Return the vector of each text (int8); `embed` gets the unknown texts, whose vectors are kept."""
        keys = [vector_key(model, kind, text) for text in texts]
        known = self.find(keys)
        if missing := {key: text for key, text in zip(keys, texts, strict=True) if key not in known}:
            rows = quantize(embed(list(missing.values())))
            made = dict(zip(missing, (row.tobytes() for row in rows), strict=True))
            self.keep(model, made)  # which deletes those of another length: a second call asks for all
            known |= made
        return [known[key] for key in keys]


class AnswerCache(_DiskCache):
    """Completions by request; one that holds a secret, or calls a tool, is not kept."""

    def __init__(self, path: Path | None = None, limit: int = MAX_ANSWERS) -> None:
        """Name the file, by default the one in the user's cache folder; it is made with the first answer."""
        super().__init__(path or paths.user_cache_dir() / "answers.sqlite", limit, MAX_AGE_S)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Completion]:
        """Return the known answers that are not too old, marked as cached."""
        from commonplace.providers.llm.base import Completion

        answers = {}
        for key, text in self._read(keys).items():
            data = json.loads(text)
            likely = tuple(map(tuple, data["logprobs"]))
            answers[key] = Completion(**{**data, "calls": (), "logprobs": likely, "cached": True})
        return answers

    def keep(self, model: str, answers: Mapping[bytes, Completion]) -> None:
        """Keep answers that hold no secret and call no tool."""
        from commonplace.redaction import redact

        for key, completion in answers.items():
            texts = [completion.text, json.dumps(completion.data, ensure_ascii=False)]
            texts.append("".join(token for token, _ in completion.logprobs))
            # A lone surrogate is no UTF-8; such an answer is not kept.
            with suppress(UnicodeEncodeError):
                answer = json.dumps(asdict(completion), ensure_ascii=False).encode()
                fits = len(answer) <= MAX_ANSWER_BYTES and not completion.calls
                if fits and not redact.holds_secret("\n".join(texts)):
                    self._write(completion.model, {key: answer})


def sweep_answers(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count cached answers that contain a forgotten text; with `change`, delete them."""
    from commonplace.types.changes import Erased

    cache = AnswerCache()
    count = cache.forget(lambda answer: targets.matches(answer.decode()), change=change)
    return [Erased("answers", paths.shown(cache.path), count=count)] if count else []


def sweep_vectors(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """With `change`, delete all cached vectors: text can be guessed from a vector. They are not counted.

    Indexes keep those of texts that are still there.
    """
    if change:
        VectorCache().forget()
    return []


def vector_key(model: str, kind: str, text: str) -> bytes:
    """Return the identity of a text as a model embeds it for a purpose: 16 bytes."""
    return hashlib.blake2b(
        f"{model}\n{kind}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def answer_key(model: str, request: Request) -> bytes:
    """Return a hash of the model and of everything that shapes its answer: not of purpose and deadline."""
    asked = repr((model, replace(request, purpose="", deadline_s=0.0)))
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).digest()
