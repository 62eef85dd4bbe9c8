"""Opening an index so that an answer always comes: repaired, read-only, or in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import closing, suppress

import apsw

from commonplace.base.database import connect
from commonplace.base.errors import IndexUnavailable, NoteUnreadable
from commonplace.base.locks import locked
from commonplace.base.messages import message
from commonplace.base.paths import root_of
from commonplace.base.tuples import NamedTuple
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import KEPT_META, SqliteIndex

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.base.messages import Message

_ANEW: dict[str, Message] = {
    schema.DAMAGED: message("index.mended", "the index was damaged and has been rebuilt"),
    schema.FOREIGN: message("index.foreign", "the index came from elsewhere and is built anew"),
}
_NOTED = f"SELECT key, value FROM meta WHERE key IN ({', '.join('?' * len(KEPT_META))})"
# Of a file that somebody else may have made: what is no hash and no vector is left.
_VECTORS = (
    "SELECT key, vector FROM vectors WHERE typeof(key) = 'blob' AND length(key) = 16"
    f" AND {schema.USABLE.format('vector')} AND length(vector) < 65536"
)
_WORDS = _VECTORS.replace("vectors", "words").replace("vector", "signs")


class Opened(NamedTuple):
    """An open index; `in_memory` is true for one that must be filled by scanning the files (level 3).

    `anew` is true for one in the place of another that was not to be used, though it could be read. `reason`
    says why there is none in a file.
    """

    index: SqliteIndex  # type: ignore[assignment]
    in_memory: bool = False
    warnings: tuple[str, ...] = ()
    anew: bool = False
    reason: str = ""


def open_index(path: str, identity: Mapping[str, str], like: str | None = None) -> Opened:
    """Open the index at `path`, or the best there is in its place.

    A damaged one is deleted and begun anew (it is derived), and so is one that was redacted by other rules:
    nothing of it is answered. Where nothing may be written, an index that is there already is used as it
    is; otherwise one in memory serves this process. A new one begins with the vectors of the one at `like`.
    """
    begins = like is not None and not os.path.lexists(path)
    try:
        opened = _open_or_repair(path, identity)
    except IndexUnavailable as error:
        read = _open_readonly(path, identity) if error.reason == schema.UNWRITABLE else None
        return read or unusable(identity, error.reason)
    if like and begins and (other := _open_readonly(like, identity)):
        other.index.close()
        opened.index.take(_vectors(like))
    return opened


def unusable(identity: Mapping[str, str], reason: str) -> Opened:
    """An index in memory, since the one in a file cannot be had."""
    told = message(
        "index.unusable",
        "the index is not usable ({reason}): the files themselves were searched",
        reason=reason,
    )
    return in_memory(identity, told)._replace(reason=reason)


def in_memory(identity: Mapping[str, str], warning: str) -> Opened:
    """An empty index that lives as long as the process, to be filled by scanning the files."""
    return Opened(SqliteIndex(":memory:", identity), in_memory=True, warnings=(warning,))


def answers(path: str) -> bool:
    """Whether the index at `path` can be read, or does not exist yet; never waits for a lock."""
    if not os.path.lexists(path):
        return True
    try:
        with schema.translated(path), closing(connect(root_of(path), path)) as connection:
            return schema.exists(connection)
    except IndexUnavailable:
        return False


def _open_or_repair(path: str, identity: Mapping[str, str]) -> Opened:
    """Open an index, begun anew if it must be."""
    index, reason = _usable(path, identity)
    if index:
        return Opened(index)
    # One at a time, and who waited finds what the other has made.
    lock = os.path.join(os.path.dirname(path), "locks", "index.lock")
    try:
        with locked(lock):
            index, reason = _usable(path, identity)
            return Opened(index) if index else discard(path, identity, reason)
    except NoteUnreadable as error:
        raise IndexUnavailable(path, schema.UNWRITABLE) from error


def _usable(path: str, identity: Mapping[str, str]) -> tuple[SqliteIndex | None, str]:
    """The index at a path, made where there is none; or why it must be begun anew."""
    try:
        index = SqliteIndex(path, identity)
    except IndexUnavailable as error:
        if error.reason != schema.FOREIGN and not schema.is_damage(error.reason):
            raise
        return None, error.reason
    if not index.unfit:
        return index, ""
    index.close()
    return None, index.unfit


def discard(path: str, identity: Mapping[str, str], reason: str = schema.DAMAGED) -> Opened:
    """Delete an index that cannot be used, and begin a new one in its place.

    Its vectors are kept where it can be read: they hold no words, and are found by the hash of a text alone.
    """
    vectors = [] if reason == schema.DAMAGED else _vectors(path)
    try:
        schema.remove_files(path)
    except OSError as error:
        raise IndexUnavailable(path, schema.UNWRITABLE) from error
    told = _ANEW[schema.DAMAGED] if schema.is_damage(reason) else _ANEW.get(reason)
    index = SqliteIndex(path, identity)
    told = told or message("index.anew", "the index is built anew: {reason}", reason=reason)
    if vectors:
        index.take(vectors)
        index.rebuild_reason = reason  # which is told, and lets go of the vectors that no text has any more
    return Opened(index, warnings=(told,), anew=not schema.is_damage(reason))


def _vectors(path: str) -> list[tuple[str, Any, Any]]:
    """The vectors of an index, and what it notes of them; of each table none where it cannot be read."""
    found: list[tuple[str, Any, Any]] = []
    with (
        suppress(IndexUnavailable),
        schema.translated(path),
        closing(connect(root_of(path), path, readonly=True)) as connection,
    ):
        tables = ("meta", _NOTED, KEPT_META), ("vectors", _VECTORS, ()), ("words", _WORDS, ())
        for table, sql, bound in tables:
            with suppress(apsw.SQLError):
                found += [(table, *row) for row in connection.execute(sql, bound)]
    return found


def _open_readonly(path: str, identity: Mapping[str, str]) -> Opened | None:
    if not os.path.lexists(path):
        return None
    try:
        index = SqliteIndex(path, identity, readonly=True)
    except IndexUnavailable:
        return None
    if index.unfit:
        index.close()
        return None
    return Opened(
        index,
        warnings=(
            message("index.as_it_stands", "the index cannot be written here and is used as it stands"),
        ),
    )
