"""SQLite files: the one way to open them, and `Database`, one that many processes write to.

They are opened below a root, no link is followed, no trigger or view of a foreign schema is run:
https://sqlite.org/security.html says what to switch off for files that somebody else may have made. What is
in a file, others know.
"""

from __future__ import annotations

import errno
import os
import stat
import time
from _thread import RLock  # `threading` costs a search 3 ms of its start
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import apsw

from commonplace.base import fork, paths, remedies
from commonplace.base.errors import NoteUnreadable
from commonplace.base.messages import message
from commonplace.base.root import Root, Unsafe, irregular

Connection = apsw.Connection
BUSY_S = 10.0
DAMAGED = "damaged; delete it to begin anew"  # reason of a NoteUnreadable
SHORT_LOG = 1 << 19  # bytes of a log that may be left behind: whoever opens the file next reads them all
PATIENCE_S = 5.0  # for the readers of a file to end, before it is written anew
_PAUSE_S = 0.01
_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # at the end: a super-journal is named before it
_FULL_TEXT = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5(%' ORDER BY 1"
SIDE_FILES = ("-wal", "-shm", "-journal")
FULL = message("disk.is_full", "the disk is full")
QUOTA = message("disk.quota", "your quota on this disk is used up; delete what you do not need")
# We use no trigger and no view; those of a foreign file are never run.
_HARDENED = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1), (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0), (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
)  # fmt: skip


# --- opening --------------------------------------------------------------------------------------------


def connect(
    root: Root, path: str | os.PathLike[str], *, make: bool = False, readonly: bool = False, query: str = ""
) -> apsw.Connection:
    """Open a SQLite file below a root; `query` holds parameters of SQLite's file URIs, as `immutable=1`.

    With `make` a missing file and the folders above it are made, for their owner's eyes only; SQLite gives
    its side files the same mode. Raises OSError (`Unsafe` for a link, a hard one too, or a special
    file) and apsw.Error.
    """
    if make:
        # Only what is missing is made: to open and close the file of a connection that this process has
        # would drop its locks (https://sqlite.org/howtocorrupt.html, 2.2).
        with suppress(FileExistsError):
            root.create(path, b"")
    is_alone = "immutable" in query  # SQLite neither reads nor makes side files
    if not is_alone:
        _drop_journal(root, f"{os.fspath(path)}-journal")
    for suffix in ("",) if is_alone else ("", *SIDE_FILES):
        with suppress(FileNotFoundError):
            if not stat.S_ISREG(mode := root.stat(f"{os.fspath(path)}{suffix}").st_mode):
                raise Unsafe(irregular(mode), f"{root.absolute(path)}{suffix}")
    name = root.absolute(path)
    # SQLite refuses a link anywhere in a path, and the root's own may be one.
    name = os.path.realpath(root.path) + name[len(root.path) :] if name.startswith(root.path) else name
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    if query:
        from urllib.parse import quote

        name, flags = f"file:{quote(name)}?{query}", flags | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_NOFOLLOW)
    for option, value in _HARDENED:
        connection.config(option, value)
    return connection


def memory() -> apsw.Connection:
    """Open a database that lives as long as its connection."""
    return apsw.Connection(":memory:")


def full_text(connection: apsw.Connection) -> list[str]:
    """Return the names of the full-text tables of a database, whichever there are; see `quoted`."""
    return [str(name) for (name,) in connection.execute(_FULL_TEXT)]


def quoted(name: str) -> str:
    """Return a name as SQL has it; a file that came with somebody's folder may have tables of any name."""
    return '"' + name.replace('"', '""') + '"'


def refusal(error: apsw.Error) -> str:
    """Say what the disk has refused to SQLite, with the remedy; empty for an error that is not the disk's."""
    if not isinstance(error, apsw.FullError | apsw.IOError):
        return ""
    # SHMSIZE: shared memory, a file, cannot grow.
    is_full = (
        isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE
    )
    return FULL if is_full else f"{error}; {remedies.say('doctor.disk')}"


def shortage(error: OSError) -> str:
    """Say whether the disk is full or a quota used up; empty for another error."""
    return {errno.ENOSPC: FULL, errno.EDQUOT: QUOTA}.get(error.errno or 0, "")


def _drop_journal(root: Root, path: str) -> None:
    """Remove a rollback journal that names another file, before SQLite sees it. Raises `Unsafe`.

    SQLite opens and deletes the super-journal that a journal names, wherever it lies
    (https://sqlite.org/fileformat2.html#rollbackjournal). None of our transactions has more than one file.
    """
    try:
        with root.open(path) as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - len(_JOURNAL_MAGIC)))
            if file.read() == _JOURNAL_MAGIC:
                root.unlink(path, missing_ok=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    except Unsafe:
        raise
    except OSError as error:
        stuck = message("unsafe.journal", "a rollback journal that cannot be read or removed; remove it")
        raise Unsafe(stuck, root.absolute(path)) from error


# --- one file of many writers ---------------------------------------------------------------------------


class Database:
    """An open file, safe to share between threads and carried over a fork; made when it is first needed."""

    def __init__(self, path: Path, tables: str, *, busy_s: float = BUSY_S, hurried: bool = False) -> None:
        """Name the file; `tables` are statements without effect where the tables exist.

        `busy_s` is how long a writer waits for others. One who is `hurried` leaves a short log behind when
        the file is closed: writing it back waits for the disk.
        """
        self.path, self._tables = path, tables
        self._busy_s, self._hurried = busy_s, hurried
        self._lock = fork.held(RLock())
        self._connection: apsw.Connection | None = None
        self._process = 0
        self._left: list[apsw.Connection] = []  # of the process this one was forked from: not ours to close

    @contextmanager
    def transaction(self) -> Iterator[apsw.Connection]:
        """Hold the only write transaction; it is committed whole or not at all. Raises NoteUnreadable."""
        with self._lock, translated(self.path):
            connection = self._open()
            _patiently(connection, "BEGIN IMMEDIATE", self._busy_s)
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
        root = paths.root_of(self.path)
        for suffix in ("", *SIDE_FILES):
            with suppress(OSError):
                root.unlink(f"{self.path}{suffix}")

    def _open(self) -> apsw.Connection:
        if self._connection is not None and self._process == os.getpid():
            return self._connection
        if self._connection is not None:
            self._left.append(self._connection)
        with ExitStack() as stack:
            connection = connect(paths.root_of(self.path), self.path, make=True)
            stack.callback(connection.close)
            connection.set_busy_timeout(int(self._busy_s * 1000))
            _patiently(connection, "PRAGMA journal_mode=wal", self._busy_s)
            connection.execute("PRAGMA synchronous=normal")
            if self._hurried:
                log = 0
                with suppress(OSError):
                    log = os.path.getsize(f"{self.path}-wal")
                connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, int(log < SHORT_LOG))
            _patiently(connection, f"BEGIN IMMEDIATE; {self._tables}; COMMIT", self._busy_s)
            stack.pop_all()
        self._connection, self._process = connection, os.getpid()
        return connection


def shrink(connection: apsw.Connection) -> None:
    """Give back the room of what was deleted, unless another connection is reading."""
    with suppress(apsw.BusyError, apsw.LockedError):
        for statement in ("VACUUM", "PRAGMA wal_checkpoint(TRUNCATE)"):
            connection.execute(statement).fetchall()


def compact(connection: apsw.Connection, path: Path) -> None:
    """Write a file anew without the bytes of deleted rows, and empty its log.

    Raises NoteUnreadable where other programs go on reading it.
    """
    until = time.monotonic() + PATIENCE_S
    for pragma in ("temp_store=memory", "secure_delete=ON"):  # a temporary file would be one more copy
        connection.execute(f"PRAGMA {pragma}").fetchall()
    while True:
        try:
            connection.execute("VACUUM")
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()[0]
        except (apsw.BusyError, apsw.LockedError):
            busy = True
        if not busy:
            return
        if time.monotonic() > until:
            why = "another program reads it, so what was deleted is still in the file; end that and try again"
            raise NoteUnreadable(paths.shown(path), why)
        time.sleep(5 * _PAUSE_S)


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors, and those of opening its file, into ours."""
    try:
        yield
    except OSError as error:
        reason = shortage(error) or paths.reason(error)
        if isinstance(error, Unsafe):
            reason = message("file.remove", "{reason}; remove it", reason=reason)
        raise NoteUnreadable(paths.shown(path), reason) from error
    except UnicodeDecodeError as error:  # we wrote UTF-8
        raise NoteUnreadable(paths.shown(path), DAMAGED) from error
    except apsw.Error as error:
        if isinstance(error, apsw.NotADBError | apsw.CorruptError):
            reason = DAMAGED
        elif isinstance(error, apsw.BusyError | apsw.LockedError):
            reason = "locked by another process; try again"
        else:
            reason = refusal(error) or str(error) or type(error).__name__
        raise NoteUnreadable(paths.shown(path), reason) from error


def _patiently(connection: apsw.Connection, statements: str, busy_s: float) -> None:
    """Run statements that SQLite may refuse without waiting, as it does while a file is new or recovered."""
    until = time.monotonic() + busy_s
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
