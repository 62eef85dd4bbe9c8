"""One SQLite file that many processes write to: opening, transactions, errors. What is in it, others know."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import apsw

from commonplace import paths
from commonplace.errors import NoteUnreadable

BUSY_S = 10.0
DAMAGED = "damaged; delete it to begin anew"  # reason of a NoteUnreadable
_PAUSE_S = 0.01


class Database:
    """An open file, safe to share between threads and carried over a fork; made when it is first needed."""

    def __init__(self, path: Path, tables: str) -> None:
        """Name the file; `tables` are statements that do nothing where the tables are there."""
        self.path = path
        self._tables = tables
        self._lock = threading.RLock()
        self._connection: apsw.Connection | None = None
        self._process = 0
        self._left: list[apsw.Connection] = []  # of the process this one was forked from: not ours to close

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Hold the one write transaction of all processes: all of it or nothing. Raises NoteUnreadable."""
        with self._lock, translated(self.path):
            connection = self._open()
            _patiently(connection, "BEGIN IMMEDIATE")
            try:
                yield connection
                connection.execute("COMMIT")
            finally:
                if connection.in_transaction:
                    with suppress(apsw.Error):
                        connection.execute("ROLLBACK")

    @contextmanager
    def reading(self) -> Iterator[apsw.Connection]:
        """Read without waiting for whoever writes. Raises NoteUnreadable."""
        with self._lock, translated(self.path):
            yield self._open()

    def close(self) -> None:
        """Close the file; it is opened again when it is needed."""
        with self._lock:
            connection, self._connection = self._connection, None
            if connection is not None and self._process == os.getpid():
                connection.close()

    def remove(self) -> None:
        """Delete the file with its side files; it is made again when it is needed."""
        self.close()
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):
                os.unlink(f"{self.path}{suffix}")

    def _open(self) -> apsw.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            self._left.append(self._connection)
        self._make_file()
        with ExitStack() as stack:
            connection = apsw.Connection(os.fspath(self.path))
            stack.callback(connection.close)
            connection.set_busy_timeout(int(BUSY_S * 1000))
            _patiently(connection, "PRAGMA journal_mode=wal")
            connection.execute("PRAGMA synchronous=normal")
            _patiently(connection, f"BEGIN IMMEDIATE; {self._tables}; COMMIT")
            stack.pop_all()
        self._connection, self._process = connection, os.getpid()
        return connection

    def _make_file(self) -> None:
        """Make the file for its owner's eyes only; SQLite gives its side files the same mode."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600))
        except OSError as error:
            raise NoteUnreadable(paths.shown(self.path), paths.reason(error)) from error


def shrink(connection: apsw.Connection) -> None:
    """Give back the room of what was deleted, as far as nobody else is reading."""
    with suppress(apsw.BusyError, apsw.LockedError):
        for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            connection.execute(statement).fetchall()


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours."""
    try:
        yield
    except apsw.Error as error:
        if isinstance(error, apsw.NotADBError | apsw.CorruptError):
            reason = DAMAGED
        elif isinstance(error, apsw.BusyError | apsw.LockedError):
            reason = "locked by another process; try again"
        else:
            reason = str(error) or type(error).__name__
        raise NoteUnreadable(paths.shown(path), reason) from error


def _patiently(connection: apsw.Connection, statements: str) -> None:
    """Run statements that SQLite may refuse without waiting, as it does while a file is new or recovered."""
    until = time.monotonic() + BUSY_S
    while True:
        try:
            connection.execute(statements).fetchall()
        except apsw.BusyError:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            if time.monotonic() > until:
                raise
            time.sleep(_PAUSE_S)
        else:
            return
