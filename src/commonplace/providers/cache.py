"""Caches of paid answers: vectors and completions on disk for all workspaces, scores in memory.

A cache on disk is one SQLite file, derived, bounded and private. It fails no call: what cannot be read is
asked again, what cannot be written is not kept. Keys are hashes of requests; their text is not in it.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.database import DAMAGED, Database, prune, shrink
from commonplace.base.errors import NoteUnreadable
from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    from commonplace.providers.llm.base import Completion, Request
    from commonplace.types.changes import Erased, Where
    from commonplace.types.store import Site, Targets

MAX_VECTORS = 50_000  # at 384 dimensions 20 MB, at 3,072 some 150
MAX_SCORES = 20_000  # some 3 MB
MAX_AGE_S = 30 * 86_400.0  # of completions
MAX_BYTES = 64_000_000
_SPARE = 0.1  # of the limit is free after the least recently used had to go, so that this comes seldom
_BUSY_S = 2.0
_AT_ONCE = 500  # parameters of one statement
_TOUCH_S = {
    "vectors": 3600.0,
    "answers": 60.0,
}  # a use is written down this often at most: reading should not write


class CacheStats(NamedTuple):
    """The size of a cache on disk: entries, bytes on disk, its limit, entries by model.

    `limit` is in vectors or in bytes of answers, models go by fingerprint or name. `oldest_s` is when the
    oldest was used or made, in seconds since 1970, 0 for none; `max_age_s` how long one stays.
    """

    entries: int
    bytes: int
    limit: int
    models: Mapping[str, int]
    oldest_s: float = 0.0
    max_age_s: float = MAX_AGE_S


class _DiskCache:
    """One file with one table; safe to share between threads and processes."""

    _table = _schema = _by_model = _age = ""

    def __init__(self, path: Path, limit: int) -> None:
        self.path, self.limit = Path(path), limit
        self._database = Database(self.path, self._schema, busy_s=_BUSY_S)

    def stats(self) -> CacheStats:
        """Count the entries; an empty count without a file. Raises NoteUnreadable."""
        if not self.path.exists():
            return CacheStats(0, 0, self.limit, {})
        with self._opened.reading() as connection:
            rows: list[Any] = list(connection.execute(self._by_model))
            oldest: Any = connection.execute(f"SELECT ifnull(min({self._age}), 0) FROM {self._table}").get
        names = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        size = sum(name.stat().st_size for name in names if name.exists())
        models = {str(name or ""): int(count) for name, count in rows}
        return CacheStats(sum(models.values()), size, self.limit, models, float(oldest))

    def clear(self) -> int:
        """Forget everything; return how many entries went. A damaged file is deleted.

        The file stays, so that a process that has it open goes on with it. Raises NoteUnreadable where it
        cannot be had in time or written.
        """
        if not self.path.exists():
            return 0
        try:
            with self._opened.transaction() as connection:
                count = int(connection.execute(f"SELECT count(*) FROM {self._table}").get)
                connection.execute(f"DELETE FROM {self._table}")
            with self._opened.reading() as connection:
                shrink(connection)
        except NoteUnreadable as error:
            if error.reason != DAMAGED:
                raise
            self._database.remove()
            return 0
        return count

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        self._database.close()

    @property
    def _opened(self) -> Database:
        """The file; one that another process has deleted while it was open here is made anew."""
        if not self.path.exists():
            self._database.close()
        return self._database

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Go on without the cache; a damaged one is deleted, and made anew with the next answer."""
        try:
            yield
        except NoteUnreadable as error:
            if error.reason == DAMAGED:
                self._database.remove()

    def _rows(self, keys: Sequence[bytes], column: str, used: str, since: float = -1.0) -> dict[bytes, Any]:
        """A column of the rows with these keys that are newer than `since`; their use is recorded."""
        rows: dict[bytes, Any] = {}
        if not self.path.exists():
            return rows
        now, stale = int(time.time()), []
        select = f"SELECT {column}, {used} FROM {self._table} WHERE key = ? AND {self._age} > ?"
        with self._forgiving():
            with self._database.reading() as connection:
                for key in keys:
                    row: Any = connection.execute(select, (key, since)).fetchone()
                    if row is not None:
                        rows[key] = row[0]
                        if now - row[1] > _TOUCH_S[self._table]:
                            stale.append((now, key))
            if stale:
                with self._opened.transaction() as connection:
                    connection.executemany(f"UPDATE {self._table} SET {used} = ? WHERE key = ?", stale)
        return rows


class VectorCache(_DiskCache):
    """Vectors as the index keeps them, so that an index filled from here equals one filled by the model."""

    _table, _age = "vectors", "used_s"
    _by_model = "SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model"
    _schema = """
CREATE TABLE IF NOT EXISTS vectors(
    key BLOB PRIMARY KEY, model TEXT NOT NULL, used_s INTEGER NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors(used_s)
"""

    def __init__(self, path: Path | None = None, limit: int = MAX_VECTORS) -> None:
        """Name the file, by default the one in the user's cache folder; it is made with the first vector."""
        super().__init__(path or vectors_file(), limit)

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Return the known vectors by key; vectors of several lengths are deleted instead."""
        found = self._rows(keys, "vector", "used_s")
        if len({len(vector) for vector in found.values()}) < 2:
            return found
        with self._forgiving(), self._opened.transaction() as connection:
            connection.executemany("DELETE FROM vectors WHERE key = ?", [(key,) for key in found])
        return {}

    def keep(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors of a model; the least recently used go when there are too many.

        Those of another length go as well: a server has another model behind that name now.
        """
        rows = [(key, model, int(time.time()), vector) for key, vector in vectors.items()]
        if not rows or self.limit <= 0:
            return
        length = len(rows[0][3])
        with self._forgiving(), self._opened.transaction() as connection:
            latest = "SELECT length(vector) FROM vectors WHERE model = ? ORDER BY used_s DESC LIMIT 1"
            if connection.execute(latest, (model,)).get not in (None, length):
                connection.execute(
                    "DELETE FROM vectors WHERE model = ? AND length(vector) <> ?", (model, length)
                )
            connection.executemany("INSERT OR REPLACE INTO vectors VALUES(?, ?, ?, ?)", rows)
            count = connection.execute("SELECT count(*) FROM vectors").get
            if count > self.limit:
                surplus = count - self.limit + int(self.limit * _SPARE)
                oldest = "SELECT key FROM vectors ORDER BY used_s, key LIMIT ?"
                connection.execute(f"DELETE FROM vectors WHERE key IN ({oldest})", (surplus,))

    def stats(self) -> CacheStats:
        """Count what is there; an empty count where it cannot be read."""
        try:
            return super().stats()
        except NoteUnreadable:
            return CacheStats(0, 0, self.limit, {})


class AnswerCache(_DiskCache):
    """Completions by request, bounded by age and size; one that holds a secret is not kept."""

    _table, _age = "answers", "made"
    _by_model = (
        "SELECT json_extract(answer, '$.model') AS name, count(*) FROM answers GROUP BY name ORDER BY name"
    )
    _schema = """
CREATE TABLE IF NOT EXISTS answers(
    key BLOB PRIMARY KEY, made REAL NOT NULL, used REAL NOT NULL, size INTEGER NOT NULL, answer TEXT NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_use ON answers(used, size)
"""

    def __init__(
        self,
        path: Path | None = None,
        limit: int = MAX_BYTES,
        *,
        max_age_s: float = MAX_AGE_S,
        holds_secret: Callable[[str], bool] = lambda text: False,
    ) -> None:
        """Name the file, by default the one in the user's cache folder; it is made with the first answer.

        `holds_secret` recognizes a text that may not reach a disk (`redaction.redact.holds_secret`).
        """
        super().__init__(path or paths.user_cache_dir() / "answers.sqlite", limit)
        self._max_age_s, self._holds_secret = max_age_s, holds_secret

    def find(self, keys: Sequence[bytes]) -> dict[bytes, Completion]:
        """Return the known answers that are not too old, marked as cached."""
        from commonplace.providers.llm.base import Completion, TokenChance, ToolCall

        answers = {}
        for key, text in self._rows(keys, "answer", "used", time.time() - self._max_age_s).items():
            data = json.loads(text)
            data["calls"] = tuple(ToolCall(**call) for call in data["calls"])
            data["logprobs"] = tuple(
                TokenChance(chance["token"], chance["logprob"], tuple(map(tuple, chance["alternatives"])))
                for chance in data["logprobs"]
            )
            answers[key] = replace(Completion(**data), cached=True)
        return answers

    def keep(self, model: str, answers: Mapping[bytes, Completion]) -> None:
        """Keep answers that hold no secret; the oldest and the least recently used go."""
        for key, completion in answers.items():
            answer, now = json.dumps(asdict(completion), ensure_ascii=False), time.time()
            size = len(answer.encode("utf-8", "surrogatepass"))
            if size > self.limit or self._holds_secret(_content(completion)):
                continue
            # A lone surrogate is no UTF-8; such an answer is not kept.
            with self._forgiving(), suppress(UnicodeEncodeError), self._opened.transaction() as connection:
                row = (key, now, now, size, answer)
                connection.execute("INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, ?)", row)
                connection.execute("DELETE FROM answers WHERE made <= ?", (now - self._max_age_s,))
                if connection.execute("SELECT ifnull(sum(size), 0) FROM answers").get > self.limit:
                    connection.execute(
                        "DELETE FROM answers WHERE key IN (SELECT key FROM (SELECT key, sum(size) OVER"
                        " (ORDER BY used DESC, made DESC) AS total FROM answers) WHERE total > ?)",
                        (self.limit * (1 - _SPARE),),
                    )


class ScoreCache:
    """Scores of one process by model, question and text; the least recently used go first.

    They are not kept on disk: two processes rarely score the same question.
    """

    def __init__(self, entries: int = MAX_SCORES) -> None:
        """Make an empty cache for so many scores."""
        self._entries = entries
        self._scores: OrderedDict[bytes, float] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, float]:
        """Return the known scores of these keys."""
        with self._lock:
            known = {key: self._scores[key] for key in keys if key in self._scores}
            for key in known:
                self._scores.move_to_end(key)
        return known

    def keep(self, model: str, scores: Mapping[bytes, float]) -> None:
        """Keep scores."""
        with self._lock:
            for key, score in scores.items():
                self._scores[key] = score
                self._scores.move_to_end(key)
            while len(self._scores) > self._entries:
                self._scores.popitem(last=False)


def sweep_answers(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count the answers of language models that hold any of it; delete them to `change`.

    One file serves all workspaces of a user.
    """

    def find(connection: Any) -> list[bytes]:  # noqa: ANN401
        rows = connection.execute("SELECT key, answer FROM answers")
        return [key for key, answer in rows if targets.matches(str(answer))]

    return _pruned(paths.user_cache_dir() / "answers.sqlite", "answers", find, change=change)


def sweep_vectors(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count the vectors with one of the keys; delete them to `change`.

    They hold no text, but one can be guessed from its vector.
    """

    def find(connection: Any) -> Iterator[bytes]:  # noqa: ANN401
        for at in range(0, len(targets.vectors), _AT_ONCE):
            keys = [bytes.fromhex(one) for one in targets.vectors[at : at + _AT_ONCE]]
            marks = ", ".join("?" * len(keys))
            yield from (
                row[0] for row in connection.execute(f"SELECT key FROM vectors WHERE key IN ({marks})", keys)
            )

    return _pruned(vectors_file(), "vectors", find, change=change)


def _pruned(
    path: Path, table: Where, find: Callable[[Any], Iterable[bytes]], *, change: bool
) -> list[Erased]:
    from commonplace.types.changes import Erased

    count = prune(path, table, find, change=change)
    return [Erased(table, paths.shown(path), count=count)] if count else []


def vectors_file() -> Path:
    """Return where vectors are kept that were paid for."""
    return paths.user_cache_dir() / "vectors.sqlite"


def vector_models() -> list[str]:
    """Return the fingerprints of the models with vectors in the cache; an empty list for a damaged one."""
    cache = VectorCache()
    try:
        return list(cache.stats().models) if paths.root_of(cache.path).is_file(cache.path) else []
    finally:
        cache.close()


def vector_key(model: str, kind: str, text: str) -> bytes:
    """Return the identity of a text as a model embeds it for a purpose: 16 bytes."""
    return hashlib.blake2b(
        f"{model}\n{kind}\n{text}".encode("utf-8", "surrogatepass"), digest_size=16
    ).digest()


def score_key(model: str, question: str, text: str) -> bytes:
    """Return the identity of a score: 16 bytes of all that it depends on."""
    digest = hashlib.blake2b(digest_size=16)
    for part in (part.encode("utf-8", "surrogatepass") for part in (model, question, text)):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()


def answer_key(model: str, request: Request) -> bytes:
    """Return a hash of the model and of everything that shapes its answer: not of purpose and deadline."""
    turns = [asdict(message) for message in request.messages]
    tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
    rest = (request.schema, request.max_tokens, request.temperature, request.logprobs)
    asked = ["answers-1", model, turns, tools, rest]
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True, default=dict)
    return hashlib.sha256(text.encode()).digest()


def _content(completion: Completion) -> str:
    """All texts of an answer, without the escapes of JSON."""
    parts = [completion.text, json.dumps(completion.data, ensure_ascii=False)]
    for call in completion.calls:
        parts.append(call.arguments)
        with suppress(ValueError, RecursionError):
            parts.append(json.dumps(json.loads(call.arguments), ensure_ascii=False))
    parts.append("".join(chance.token for chance in completion.logprobs))
    return "\n".join(parts)
