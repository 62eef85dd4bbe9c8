"""`state.sqlite`: the state of a workspace apart from its notes, one database for all processes.

Only its owner can read its folder. A missing file reads as empty and is made by the first write. Every value
is JSON in a column `data`, or zlib-compressed bytes in a column `bytes`: the byte scan of a forgetting reads
both (`edit.forget.residue`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from commonplace.base import database, paths
from commonplace.base.database import Connection, Database
from commonplace.base.errors import NoteUnreadable
from commonplace.base.locks import locked
from commonplace.base.root import Root

TYPE_CHECKING = False  # `typing` costs a hook 3 ms
if TYPE_CHECKING:
    from typing import Any

NAME = "state.sqlite"
VERSION = 1  # of the tables below
_TABLES = """
CREATE TABLE IF NOT EXISTS value(
    kind TEXT NOT NULL, name TEXT NOT NULL, at REAL NOT NULL, data TEXT NOT NULL, PRIMARY KEY (kind, name));
CREATE TABLE IF NOT EXISTS queue(id INTEGER PRIMARY KEY AUTOINCREMENT, data TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS change(id TEXT PRIMARY KEY, state TEXT NOT NULL, data TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS change_state ON change(state);
CREATE TABLE IF NOT EXISTS change_blob(
    change TEXT NOT NULL, digest TEXT NOT NULL, PRIMARY KEY (change, digest));
CREATE INDEX IF NOT EXISTS change_blob_digest ON change_blob(digest);
CREATE TABLE IF NOT EXISTS blob(digest TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS note(
    path BLOB PRIMARY KEY, at REAL NOT NULL, data TEXT NOT NULL, bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS entry(
    key BLOB, note BLOB, ours INTEGER NOT NULL, writer TEXT NOT NULL, agent TEXT NOT NULL,
    number INTEGER NOT NULL, PRIMARY KEY (note, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS entry_key ON entry(key);
CREATE TABLE IF NOT EXISTS overwritten(
    name TEXT PRIMARY KEY, note BLOB NOT NULL, told INTEGER NOT NULL DEFAULT 0, data TEXT NOT NULL,
    bytes BLOB NOT NULL)"""


class _File(Database):
    """The state database of one workspace. Raises NoteUnreadable for a file of a later version."""

    inode = 0

    def _open(self) -> Connection:
        if self._connection is not None and self._process == os.getpid():
            if self.inode == _inode(self.path):
                return self._connection
            self.close()  # the file was deleted or replaced
        connection, self.inode = super()._open(), 0
        connection.execute("PRAGMA secure_delete=ON").fetchall()
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        if int(str(version)) > VERSION:
            newer = "was written by a newer version of commonplace; upgrade this one"
            raise NoteUnreadable(paths.shown(self.path), newer)
        if version != VERSION:  # upgrade older tables here
            connection.execute(f"PRAGMA user_version={VERSION}")
        self.inode = _inode(self.path)
        return connection

    @contextmanager
    def writing(self, *, durable: bool) -> Iterator[Connection]:
        """Hold a write transaction; a `durable` commit waits for the disk."""
        with self._lock:
            with self.reading() as connection:
                connection.execute(f"PRAGMA synchronous={'full' if durable else 'normal'}")
            with self.transaction() as connection:
                yield connection


_files: dict[Path, _File] = {}  # open files of this process


def path(workspace: paths.Workspace) -> Path:
    """Return the path of the state file, which may be missing."""
    return workspace.state / NAME


@contextmanager
def writing(workspace: paths.Workspace, *, durable: bool = True) -> Iterator[Connection]:
    """Hold a write transaction, exclusive among all processes; roll it back after an error.

    A commit survives a kill at once; one that is not `durable` survives a power cut some seconds later. A
    damaged file is renamed and a new file made. Raises NoteUnreadable.
    """
    paths.prepare_state(workspace)
    try:
        with _file(workspace).reading():  # opens it
            pass
    except NoteUnreadable as error:
        if error.reason != database.DAMAGED:
            raise
        _move_aside(workspace)
    with _file(workspace).writing(durable=durable) as connection:
        yield connection


def rows(workspace: paths.Workspace, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
    """Return the rows of a query; [] for a missing or damaged file. Raises NoteUnreadable."""
    place = path(workspace)
    try:
        os.stat(place)
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise NoteUnreadable(paths.shown(place), paths.state_trouble(error)) from error
    if not os.access(place.parent, os.W_OK):  # where SQLite cannot make its side files: a copy answers
        from commonplace.base.snapshot import standing

        with standing(place) as copy, database.translated(place):
            root = Root(os.path.dirname(copy))
            with closing(database.connect(root, copy, readonly=True, query="immutable=1")) as connection:
                return connection.execute(sql, tuple(values)).fetchall()
    try:
        with _file(workspace).reading() as connection:
            return connection.execute(sql, tuple(values)).fetchall()
    except NoteUnreadable as error:
        if error.reason != database.DAMAGED:
            raise
        _move_aside(workspace)
        return []


def erase(workspace: paths.Workspace) -> None:
    """Compact the file, so that no bytes of deleted rows remain. Raises NoteUnreadable."""
    with _file(workspace).reading() as connection:
        database.compact(connection, path(workspace))


def close(place: Path) -> None:
    """Close a file if this process has it open; the next call opens it again."""
    if (file := _files.pop(place, None)) is not None:
        file.close()


def _file(workspace: paths.Workspace) -> _File:
    place = path(workspace)
    return _files.get(place) or _files.setdefault(place, _File(place, _TABLES, hurried=True))


def _inode(place: Path) -> int:
    with suppress(OSError):
        return os.stat(place).st_ino
    return -1


def _move_aside(workspace: paths.Workspace) -> None:
    """Rename a damaged file so that new writes succeed; `sqlite3 FILE .recover` may read the old file."""
    place = path(workspace)
    with locked(paths.lock_file(workspace, "state")):
        try:
            with _file(workspace).reading() as connection:
                if connection.execute("PRAGMA quick_check(1)").fetchall() == [("ok",)]:
                    return  # another process was faster
        except NoteUnreadable as error:
            if error.reason != database.DAMAGED:
                raise
        close(place)
        for suffix in ("", *database.SIDE_FILES):
            with suppress(FileNotFoundError):
                workspace.kept.rename(f"{place}{suffix}", f"{place.with_suffix('.damaged')}{suffix}")
    import logging

    moved = "commonplace: %s was damaged and is begun anew; the old one is %s"
    logging.getLogger("commonplace.state").warning(moved, place, place.with_suffix(".damaged"))
