"""Answers by what was asked, shared by all processes of a user, bounded by age and size.

A cache may fail: what cannot be read is asked again, what cannot be written is not kept. It holds answers and
hashes of questions, for their owner's eyes only; an answer that holds a secret is not kept.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NamedTuple

from commonplace import paths
from commonplace.database import DAMAGED, Database, shrink
from commonplace.errors import NoteUnreadable
from commonplace.llm.base import Completion, Request, TokenChance, ToolCall

MAX_AGE_S = 30 * 86_400.0
MAX_BYTES = 64_000_000  # of answers
_ROOM = 0.9  # of the size is left when the least recently used had to go
_TOUCH_S = 60.0  # a use within this time of the last is not worth a write
_TABLES = """
CREATE TABLE IF NOT EXISTS answers(
    key BLOB PRIMARY KEY, made REAL NOT NULL, used REAL NOT NULL, size INTEGER NOT NULL, answer TEXT NOT NULL)
    WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS answers_by_use ON answers(used, size)
"""
_VERSION = "answers-1"
_BY_MODEL = (
    "SELECT json_extract(answer, '$.model') AS name, count(*) FROM answers GROUP BY name ORDER BY name"
)


class CacheStats(NamedTuple):
    """What a cache holds: answers, bytes on disk, the most bytes of answers, answers by the model's name.

    `oldest_s` is when the oldest was made, in seconds since 1970, 0 for none; `max_age_s` how long one stays.
    """

    entries: int
    bytes: int
    limit: int
    models: Mapping[str, int]
    oldest_s: float = 0.0
    max_age_s: float = MAX_AGE_S


class Cache:
    """The answers of one user; safe with many threads and processes."""

    def __init__(
        self,
        path: Path | None = None,
        *,
        max_age_s: float = MAX_AGE_S,
        max_bytes: int = MAX_BYTES,
        holds_secret: Callable[[str], bool] = lambda text: False,
    ) -> None:
        """Name the file, by default the one in the user's cache folder; it is made with the first answer.

        `holds_secret` knows a text that may not reach a disk (`notes.redact.holds_secret`).
        """
        self._holds_secret = holds_secret
        self._database = Database(path or paths.user_cache_dir() / "answers.sqlite", _TABLES)
        self._max_age_s, self._max_bytes = max_age_s, max_bytes

    @property
    def path(self) -> Path:
        """Where the file is, or will be."""
        return self._database.path

    def get(self, fingerprint: str, request: Request) -> Completion | None:
        """Return the answer kept for a request to a model, marked as cached, or None."""
        if not self._database.path.exists():
            return None
        key, now = _key(fingerprint, request), time.time()
        row: Any = None
        with self._forgiving():
            with self._database.reading() as connection:
                row = connection.execute(
                    "SELECT answer, used FROM answers WHERE key = ? AND made > ?",
                    (key, now - self._max_age_s),
                ).fetchone()
            if row is not None and now - row[1] > _TOUCH_S:
                with self._database.transaction() as connection:
                    connection.execute("UPDATE answers SET used = ? WHERE key = ?", (now, key))
        return None if row is None else _read(row[0])

    def put(self, fingerprint: str, request: Request, completion: Completion) -> None:
        """Keep an answer that holds no secret; the oldest and the least recently used go."""
        answer = json.dumps(asdict(completion), ensure_ascii=False)
        size, now = len(answer.encode("utf-8", "surrogatepass")), time.time()
        if size > self._max_bytes or self._holds_secret(_said(completion)):
            return
        # A lone surrogate is no UTF-8; such an answer is not kept.
        with self._forgiving(), suppress(UnicodeEncodeError), self._database.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO answers VALUES(?, ?, ?, ?, ?)",
                (_key(fingerprint, request), now, now, size, answer),
            )
            connection.execute("DELETE FROM answers WHERE made <= ?", (now - self._max_age_s,))
            self._make_room(connection)

    def stats(self) -> CacheStats:
        """Count what is there; nothing where there is no file. Raises NoteUnreadable."""
        path = self._database.path
        if not path.exists():
            return CacheStats(0, 0, self._max_bytes, {}, 0.0, self._max_age_s)
        with self._database.reading() as connection:
            rows: list[Any] = list(connection.execute(_BY_MODEL))
            oldest: Any = connection.execute("SELECT ifnull(min(made), 0) FROM answers").get
        names = (path, path.with_name(f"{path.name}-wal"))
        size = sum(name.stat().st_size for name in names if name.exists())
        models = {str(name or ""): int(count) for name, count in rows}
        return CacheStats(sum(models.values()), size, self._max_bytes, models, float(oldest), self._max_age_s)

    def clear(self) -> int:
        """Forget all answers; return how many went. A damaged file is deleted. Raises NoteUnreadable.

        The file stays, so that whoever has it open goes on with it.
        """
        if not self._database.path.exists():
            return 0
        try:
            with self._database.transaction() as connection:
                count = int(connection.execute("SELECT count(*) FROM answers").get)
                connection.execute("DELETE FROM answers")
            with self._database.reading() as connection:
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

    @contextmanager
    def _forgiving(self) -> Iterator[None]:
        """Go on without the cache; a damaged one is deleted, and begun anew with the next answer."""
        try:
            yield
        except NoteUnreadable as error:
            if error.reason == DAMAGED:
                self._database.remove()

    def _make_room(self, connection: Any) -> None:  # noqa: ANN401
        total = connection.execute("SELECT ifnull(sum(size), 0) FROM answers").fetchone()[0]
        if total <= self._max_bytes:
            return
        surplus, gone = total - int(self._max_bytes * _ROOM), []
        for key, size in connection.execute("SELECT key, size FROM answers ORDER BY used, made"):
            if surplus <= 0:
                break
            gone.append((key,))
            surplus -= size
        connection.executemany("DELETE FROM answers WHERE key = ?", gone)


def _key(fingerprint: str, request: Request) -> bytes:
    """A hash of the model and of everything that shapes its answer: not of purpose and deadline."""
    turns = [asdict(message) for message in request.messages]
    tools = [(tool.name, tool.description, tool.parameters) for tool in request.tools]
    rest = (request.schema, request.max_tokens, request.temperature, request.logprobs)
    asked = [_VERSION, fingerprint, turns, tools, rest]
    text = json.dumps(asked, sort_keys=True, ensure_ascii=True, default=dict)
    return hashlib.sha256(text.encode()).digest()


def _said(completion: Completion) -> str:
    """All that an answer says, without the escapes of JSON."""
    parts = [completion.text, json.dumps(completion.data, ensure_ascii=False)]
    for call in completion.calls:
        parts.append(call.arguments)
        with suppress(ValueError, RecursionError):
            parts.append(json.dumps(json.loads(call.arguments), ensure_ascii=False))
    parts.append("".join(chance.token for chance in completion.logprobs))
    return "\n".join(parts)


def _read(text: str) -> Completion:
    data = json.loads(text)
    data["calls"] = tuple(ToolCall(**call) for call in data["calls"])
    data["logprobs"] = tuple(
        TokenChance(chance["token"], chance["logprob"], tuple(map(tuple, chance["alternatives"])))
        for chance in data["logprobs"]
    )
    return replace(Completion(**data), cached=True)
