"""Vectors that were paid for once, shared by all workspaces of a user; derived, bounded, never in the way.

One SQLite file, keyed by the model's fingerprint, the kind and the text, holds vectors as the index keeps
them, so that an index filled from here is byte for byte the one filled by the model. It holds no text.
Whatever goes wrong with it (locked, full, damaged) costs a call to the model, never an error.
"""

from __future__ import annotations

import hashlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import apsw

from commonplace.base.connection import connect
from commonplace.database import shrink, translated
from commonplace.paths import root_of

LIMIT = 50_000  # entries; at 384 dimensions 20 MB, at 3,072 some 150
# Pruning takes away this share, so that it does not come back at every call.
_SPARE = 0.1
_BUSY_MS = 2000
_TOUCH_S = 3600  # a use is noted this often at most: reading should not write
_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors(
    key BLOB PRIMARY KEY, model TEXT NOT NULL, used_s INTEGER NOT NULL, vector BLOB NOT NULL) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS vectors_by_use ON vectors(used_s);
"""


class CacheStats(NamedTuple):
    """What a cache holds: entries, bytes on disk, entries by the model's fingerprint.

    `oldest_s` is when the least recently used one was used, in seconds since 1970, 0 for none.
    """

    entries: int
    bytes: int
    limit: int
    models: Mapping[str, int]
    oldest_s: float = 0.0


class VectorCache:
    """One cache file; safe to share between threads and processes."""

    def __init__(self, path: str, limit: int = LIMIT) -> None:
        """Bind to a file; it is made when something is first kept."""
        self.path = path
        self.limit = limit
        self._lock = threading.Lock()
        self._connection: apsw.Connection | None = None

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """Vectors that are known, by key."""
        found: dict[bytes, bytes] = {}
        with self._lock, suppress(apsw.Error, OSError):
            connection = self._open(make=False)
            if connection is None:
                return found
            now, stale = int(time.time()), []
            for key in keys:
                row = connection.execute(
                    "SELECT vector, used_s FROM vectors WHERE key = ?", (key,)
                ).fetchone()
                if row is not None:
                    found[key] = row[0]
                    if now - row[1] > _TOUCH_S:
                        stale.append((now, key))
            if stale:
                self._write(connection, "UPDATE vectors SET used_s = ? WHERE key = ?", stale)
        return found

    def keep(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors of a model; the least recently used go when there are too many."""
        now = int(time.time())
        rows = [(key, model, now, vector) for key, vector in vectors.items()]
        if not rows or self.limit <= 0:
            return
        with self._lock, suppress(apsw.Error, OSError):
            connection = self._open(make=True)
            assert connection is not None
            self._write(connection, "INSERT OR REPLACE INTO vectors VALUES(?, ?, ?, ?)", rows)
            self._prune(connection)

    def stats(self) -> CacheStats:
        """Count what is there; all zero where nothing is, or it cannot be read."""
        with self._lock, suppress(apsw.Error, OSError):
            connection = self._open(make=False)
            if connection is not None:
                models = dict(
                    connection.execute("SELECT model, count(*) FROM vectors GROUP BY model ORDER BY model")
                )
                oldest = connection.execute("SELECT ifnull(min(used_s), 0) FROM vectors").get
                names = (self.path, f"{self.path}-wal")
                size = sum(os.path.getsize(name) for name in names if os.path.exists(name))
                return CacheStats(sum(models.values()), size, self.limit, models, float(oldest))
        return CacheStats(0, 0, self.limit, {})

    def clear(self) -> int:
        """Forget everything; return how many entries went.

        The file stays, so that whoever has it open goes on with it. Raises NoteUnreadable where it cannot be
        had in time or written.
        """
        with self._lock, translated(Path(self.path)):
            connection = self._open(make=False)
            if connection is None:
                return 0
            with connection:
                entries = connection.execute("SELECT count(*) FROM vectors").get
                connection.execute("DELETE FROM vectors")
            shrink(connection)
            return int(entries)

    def close(self) -> None:
        """Release the file; the next call opens it again."""
        with self._lock:
            self._close()

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _open(self, *, make: bool) -> apsw.Connection | None:
        """Open the file; a damaged one is begun anew, as it holds nothing that cannot be had again."""
        if self._connection is not None and not os.path.exists(self.path):
            self._close()  # cleared by another process
        if self._connection is None:
            if not make and not os.path.exists(self.path):
                return None
            try:
                self._connection = _connect(self.path)
            except (apsw.NotADBError, apsw.CorruptError):
                root_of(self.path).unlink(self.path)
                self._connection = _connect(self.path)
        return self._connection

    @staticmethod
    def _write(connection: apsw.Connection, sql: str, rows: Sequence[tuple[object, ...]]) -> None:
        with connection:  # a savepoint: all rows or none
            connection.executemany(sql, rows)

    def _prune(self, connection: apsw.Connection) -> None:
        count = connection.execute("SELECT count(*) FROM vectors").get
        if count > self.limit:
            surplus = count - self.limit + int(self.limit * _SPARE)
            sql = "DELETE FROM vectors WHERE key IN (SELECT key FROM vectors ORDER BY used_s, key LIMIT ?)"
            self._write(connection, sql, [(surplus,)])


def key(model: str, kind: str, text: str) -> bytes:
    """Identity of a text as a model embeds it for a purpose: 16 bytes."""
    told = f"{model}\n{kind}\n{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(told, digest_size=16).digest()


def _connect(path: str) -> apsw.Connection:
    # For its owner's eyes only: of vectors something can be guessed.
    connection = connect(root_of(path), path, make=True)
    try:
        connection.set_busy_timeout(_BUSY_MS)
        for pragma in ("journal_mode=wal", "synchronous=off"):  # derived: a torn one is begun anew
            connection.execute(f"PRAGMA {pragma}").fetchall()
        connection.execute(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection
