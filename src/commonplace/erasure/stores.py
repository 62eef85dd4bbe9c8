"""Databases without what is forgotten: the record of use, the caches of answers and of vectors.

Deleting a row leaves its bytes in the file; each file is written anew, and its log emptied.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import apsw

from commonplace import paths
from commonplace.database import DAMAGED, Database
from commonplace.erasure.files import SESSIONS, stem_of
from commonplace.erasure.ground import Ground
from commonplace.erasure.wanted import Wanted
from commonplace.errors import NoteUnreadable
from commonplace.types.erasure import Erased
from commonplace.usage import journal

PATIENCE_S = 5.0  # that readers of a file are given to end
_PAUSE_S = 0.05
_AT_ONCE = 500  # parameters of one statement


def usage(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Delete questions that hold it, and what points at notes that go. Raises NoteUnreadable."""
    own = {*wanted.notes, *(f"{SESSIONS}/{stem_of(session)}.jsonl" for session in wanted.sessions)}

    def is_gone(path: str) -> bool:
        return path in own or wanted.found(path)

    places = dict.fromkeys(
        [ground.usage, paths.fallback_index(ground.workspace.root).with_name("usage.sqlite")]
    )
    found: list[Erased] = []
    for file in places:
        if paths.root_of(file).is_file(file):
            with journal.patient(file) as database:
                count = _usage(database, wanted, is_gone, change=change)
            found += [Erased("usage", ground.shown(file), count=count)] if count else []
    return found


def _usage(database: Database, wanted: Wanted, is_gone: Callable[[str], bool], *, change: bool) -> int:
    with database.reading() as connection:
        asked: list[Any] = list(connection.execute("SELECT id, question, agent FROM questions"))
        questions = [row[0] for row in asked if wanted.found(row[1]) or wanted.found(row[2])]
        gone = {
            table: [
                row for row in connection.execute(f"SELECT DISTINCT path FROM {table}") if is_gone(row[0])
            ]
            for table in ("hits", "openings")
        }
        count = len(questions) + sum(
            connection.execute(f"SELECT count(*) FROM {table} WHERE path = ?", row).get
            for table, rows in gone.items()
            for row in rows
        )
    if change:
        with database.transaction() as connection:
            for table, column in (("hits", "question"), ("questions", "id")):
                connection.executemany(
                    f"DELETE FROM {table} WHERE {column} = ?", [(one,) for one in questions]
                )
            for table, rows in gone.items():
                connection.executemany(f"DELETE FROM {table} WHERE path = ?", rows)
        with database.reading() as connection:
            compact(connection, database.path)
    return int(count)


def answers(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Delete answers of language models that hold it. Raises NoteUnreadable."""
    path = paths.user_cache_dir() / "answers.sqlite"

    def keys(connection: apsw.Connection) -> list[bytes]:
        rows: Iterable[Any] = connection.execute("SELECT key, answer FROM answers")
        return [key for key, answer in rows if wanted.found(str(answer))]

    count = _pruned(path, "answers", keys, change=change)
    return [Erased("answers", paths.shown(path), count=count)] if count else []


def vectors(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Delete vectors of texts that go from the cache of vectors, by their keys. Raises NoteUnreadable."""
    path = vector_cache()
    wanted_keys = [bytes.fromhex(key) for key in wanted.vectors]

    def keys(connection: apsw.Connection) -> list[bytes]:
        found: list[bytes] = []
        for at in range(0, len(wanted_keys), _AT_ONCE):
            some = wanted_keys[at : at + _AT_ONCE]
            places = ", ".join("?" * len(some))
            rows: Iterable[Any] = connection.execute(f"SELECT key FROM vectors WHERE key IN ({places})", some)
            found += [row[0] for row in rows]
        return found

    count = _pruned(path, "vectors", keys, change=change)
    return [Erased("vectors", paths.shown(path), count=count)] if count else []


def vector_cache() -> Path:
    """Return where vectors are kept that were paid for."""
    return paths.user_cache_dir() / "vectors.sqlite"


def models(path: Path) -> list[str]:
    """Return the fingerprints of the models whose vectors a cache holds; none of a damaged one."""
    if not paths.root_of(path).is_file(path):
        return []
    database = Database(path, "")
    try:
        with database.reading() as connection:
            rows: Iterable[Any] = connection.execute("SELECT DISTINCT model FROM vectors")
            return [row[0] for row in rows]
    except NoteUnreadable:
        return []
    finally:
        database.close()


def _pruned(
    path: Path, table: str, keys: Callable[[apsw.Connection], Sequence[bytes]], *, change: bool
) -> int:
    """Delete rows of a cache; a damaged one goes whole, as whoever uses it next would do."""
    if not paths.root_of(path).is_file(path):
        return 0
    database = Database(path, "")
    try:
        with database.reading() as connection:
            found = keys(connection)
        if change:
            if found:
                with database.transaction() as connection:
                    connection.execute("PRAGMA secure_delete=ON")
                    connection.executemany(f"DELETE FROM {table} WHERE key = ?", [(key,) for key in found])
            with database.reading() as connection:
                compact(connection, path)
        return len(found)
    except NoteUnreadable as error:
        if error.reason != DAMAGED:
            raise
        if change:
            database.remove()
        return 1
    finally:
        database.close()


def compact(connection: apsw.Connection, path: Path) -> None:
    """Write a database anew without what was deleted, and empty its log.

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
            told = (
                "another program reads it, so what was deleted is still in the file; end that and try again"
            )
            raise NoteUnreadable(paths.shown(path), told)
        time.sleep(_PAUSE_S)
