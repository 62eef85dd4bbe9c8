"""Open a SQLite file without a trace: no lock, no side file, no recovery in place.

Even a reader of a file in WAL mode makes a `-shm` file, the last to close it writes the log back, and
who finds a journal rolls it back. So a file without either is opened as immutable, and one with a log or a
journal is copied to a temporary folder with it first.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path

import apsw

from commonplace.base import paths
from commonplace.base.database import connect, translated
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root

LARGEST = 1 << 30  # bytes; a larger file that is being written is not copied
BUSY = "being written now"  # reason of a NoteUnreadable
_LOGS = ("-wal", "-journal")
CHECK_S = 5.0  # how long SQLite may check a file
_ATTEMPTS = 3
# Of SQLite's machine, some ten milliseconds, between two looks at the time: each look may wait for the
# interpreter while other checks run.
_STEPS = 500_000


@contextmanager
def standing(path: Path) -> Iterator[str]:
    """Yield the path of a file that says what `path` says and can be opened as immutable.

    Raises NoteUnreadable, with `reason` BUSY if it changed whenever it was copied.
    """
    if not any(_bytes(path, log) for log in _LOGS):
        yield os.fspath(path)
        return
    if sum(_bytes(path, suffix) for suffix in ("", *_LOGS)) > LARGEST:
        raise NoteUnreadable(paths.shown(path), BUSY)
    with tempfile.TemporaryDirectory(prefix="commonplace-") as folder:
        copy = os.path.join(folder, path.name)
        with translated(path):
            _copy(path, copy)
            with closing(connect(Root(folder), copy)) as connection:
                connection.execute("PRAGMA journal_mode=delete").fetchall()
        yield copy


def marks(path: Path) -> tuple[tuple[int, int, int], ...]:
    """Return what changes whenever a file, its log or its journal is written."""
    return tuple(_status(path, suffix) for suffix in ("", *_LOGS))


def check(connection: apsw.Connection) -> list[str] | None:
    """Return what SQLite finds damaged in a file, full-text tables included; None if its time was over.

    `PRAGMA integrity_check` asks FTS5 for its own check as well, as its command `integrity-check` does, which
    would have to write (https://sqlite.org/pragma.html#pragma_integrity_check).
    """
    until = time.monotonic() + CHECK_S
    connection.set_progress_handler(lambda: time.monotonic() > until, _STEPS)
    try:
        found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(5)")]
    except apsw.InterruptError:
        return None
    except apsw.Error as error:  # damaged beyond being checked
        return [str(error)]
    finally:
        connection.set_progress_handler(None)
    return [] if found == ["ok"] else found


def _copy(path: Path, copy: str) -> None:
    """Copy a database with its logs, by SQLite's own reader.

    Closing our own descriptor would drop the locks that this process has on it
    (https://sqlite.org/howtocorrupt.html, 2.2).
    """
    root = paths.root_of(path)
    for _ in range(_ATTEMPTS):
        before = marks(path)
        with open(copy, "wb") as target:
            if root.is_file(path):  # a fifo would be waited for
                flags = [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0]
                file = apsw.VFSFile("", os.path.abspath(path), flags)
                try:
                    for start in range(0, size := file.xFileSize(), 1 << 22):
                        target.write(file.xRead(min(1 << 22, size - start), start))
                finally:
                    file.xClose()
        for log in filter(partial(_bytes, path), _LOGS):
            with root.open(f"{path}{log}") as source, open(f"{copy}{log}", "wb") as target:
                shutil.copyfileobj(source, target)
        if marks(path) == before:
            return
    raise NoteUnreadable(paths.shown(path), BUSY)


def _status(path: Path, suffix: str) -> tuple[int, int, int]:
    with suppress(OSError):
        status = os.stat(f"{path}{suffix}")
        return status.st_ino, status.st_size, status.st_mtime_ns
    return 0, 0, 0


def _bytes(path: Path, suffix: str) -> int:
    return _status(path, suffix)[1]
