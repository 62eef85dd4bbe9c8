"""The one way to open SQLite files: below a root, no link followed, nothing of a foreign schema run.

https://sqlite.org/security.html says what to switch off for files that somebody else may have made.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress

import apsw

from commonplace.base.root import Root, Unsafe, kind, refuse_linked

_JOURNAL_MAGIC = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"  # at the end: a super-journal is named before it
SIDE_FILES = ("-wal", "-shm", "-journal")
FULL = "the disk is full"
QUOTA = "your quota on this disk is used up; delete what you do not need"
_PROBE = 64 << 10  # bytes, more than SQLite writes at once
_WRITING = frozenset({apsw.SQLITE_IOERR_WRITE, apsw.SQLITE_IOERR_FSYNC, apsw.SQLITE_IOERR_DIR_FSYNC})
# Nothing of ours is a trigger or a view; one that a file brings is never run.
_HARDENED = (
    (apsw.SQLITE_DBCONFIG_DEFENSIVE, 1),
    (apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
    (apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0),
)


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
    _drop_journal(root, f"{os.fspath(path)}-journal")
    for suffix in ("", *SIDE_FILES):
        _check(root, f"{os.fspath(path)}{suffix}", writes=bool(suffix) or not readonly)
    name = root.absolute(path)
    # SQLite refuses a link anywhere in a path, and the root's own may be one.
    name = os.path.realpath(root.path) + name[len(root.path) :] if name.startswith(root.path) else name
    flags = apsw.SQLITE_OPEN_READONLY if readonly else apsw.SQLITE_OPEN_READWRITE
    if query:
        from urllib.parse import quote

        name, flags = f"file:{quote(name)}?{query}", flags | apsw.SQLITE_OPEN_URI
    return hardened(apsw.Connection(name, flags=flags | apsw.SQLITE_OPEN_NOFOLLOW))


def memory() -> apsw.Connection:
    """Open a database that lives as long as its connection."""
    return apsw.Connection(":memory:")


def hardened(connection: apsw.Connection) -> apsw.Connection:
    """Switch off what a foreign schema could make a connection do, and return it."""
    for option, value in _HARDENED:
        connection.config(option, value)
    return connection


def refusal(root: Root, path: str | os.PathLike[str], error: apsw.Error) -> str:
    """Say what the disk has refused to SQLite, with the remedy; empty for an error that is not the disk's."""
    if isinstance(error, apsw.FullError):
        return FULL
    if not isinstance(error, apsw.IOError):
        return ""
    code = getattr(error, "extendedresult", 0)
    if code == apsw.SQLITE_IOERR_SHMSIZE:  # how SQLite calls it that shared memory cannot grow
        return FULL
    short = _shortage(root, path) if code in _WRITING else ""
    return short or f"{error}; `commonplace doctor` looks at disk and permissions"


def _shortage(root: Root, path: str | os.PathLike[str]) -> str:
    """Say what a new file beside one meets: SQLite does not tell why a write failed."""
    probe = f"{os.fspath(path)}.{os.urandom(4).hex()}.probe"
    try:
        try:
            root.create(probe, bytes(_PROBE), durable=True)
        finally:
            root.unlink(probe, missing_ok=True)
    except OSError as error:
        return shortage(error)
    return ""


def shortage(error: OSError) -> str:
    """Say whether the disk is full or a quota used up; empty for another error."""
    return {errno.ENOSPC: FULL, errno.EDQUOT: QUOTA}.get(error.errno or 0, "")


def _drop_journal(root: Root, path: str) -> None:
    """Remove a rollback journal that names another file, before SQLite sees it. Raises `Unsafe`.

    SQLite opens and deletes the super-journal that a journal names, wherever it lies
    (https://sqlite.org/fileformat2.html#rollbackjournal). No transaction of ours has more than one file.
    """
    try:
        with root.open(path) as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - len(_JOURNAL_MAGIC)))
            names_another = file.read() == _JOURNAL_MAGIC
        if names_another:
            root.unlink(path, missing_ok=True)
    except (FileNotFoundError, NotADirectoryError):
        return
    except Unsafe:
        raise
    except OSError as error:
        raise Unsafe(
            "a rollback journal that cannot be read or removed; remove it", root.absolute(path)
        ) from error


def _check(root: Root, path: str, *, writes: bool) -> None:
    try:
        status = root.stat(path)
    except FileNotFoundError:
        return
    if not stat.S_ISREG(status.st_mode):
        raise Unsafe(f"{kind(status.st_mode)}, not a regular file", root.absolute(path))
    if writes:
        refuse_linked(status, root.absolute(path))
