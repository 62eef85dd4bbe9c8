"""Opening an index so that an answer always comes: repaired, read-only, elsewhere, or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from pathlib import Path

import apsw

from commonplace.base import remedies
from commonplace.base.database import connect
from commonplace.base.errors import IndexUnavailable, NoteUnreadable
from commonplace.base.locks import locked
from commonplace.base.messages import message
from commonplace.base.paths import (
    DERIVED_FOLDER,
    Workspace,
    keeps_key,
    keyless,
    root_of,
    shown,
    tighten,
    user_config_dir,
)
from commonplace.base.signature import KEY_FILE
from commonplace.base.tuples import NamedTuple
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import KEPT_META, SqliteIndex

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_ANEW = {
    schema.DAMAGED: message("index.mended", "the index was damaged and has been rebuilt"),
    schema.FOREIGN: message("index.foreign", "the index came from elsewhere and is built anew"),
    schema.OTHER_KEY: "the index was made with another key and is built anew; if another home of yours made"
    f" it, add the line of its {KEY_FILE} to yours",
}
_TAKEN = "taken"  # a mark in the user's cache: an index that another key signed was made his own once
_NOTED = f"SELECT key, value FROM meta WHERE key IN ({', '.join('?' * len(KEPT_META))})"
# Of a file that somebody else may have made: what is no hash and no vector is left.
_VECTORS = (
    "SELECT key, vector FROM vectors WHERE typeof(key) = 'blob' AND length(key) = 16"
    f" AND {schema.USABLE.format('vector')} AND length(vector) < 65536"
)
_WORDS = _VECTORS.replace("vectors", "words").replace("vector", "signs")


class Opened(NamedTuple):
    """An open index; `in_memory` is true for one that must be filled by scanning the files (level 3).

    `anew` is true for one in the place of another that was not to be used, though it could be read, and
    `stands_in` for one in the user's cache, since the one of the workspace was made with another key.
    `reason` says why none can be had.
    """

    index: SqliteIndex  # type: ignore[assignment]
    in_memory: bool = False
    warnings: tuple[str, ...] = ()
    anew: bool = False
    stands_in: bool = False
    reason: str = ""


def open_index(
    path: str, fallback: Callable[[], str], identity: Mapping[str, str], like: str | None = None
) -> Opened:
    """Open the index at `path`, or the best stand-in for it.

    A damaged one is deleted and begun anew (it is derived), and so is one that came from elsewhere or was
    redacted by other rules: nothing of it is answered. One that was made with another key is left to whoever
    made it (see `take_over`), and one at `fallback()` in the user's cache used. Where nothing may be written,
    an index that is there already is used as it stands, and otherwise one at `fallback()`. If neither can be
    had, an index in memory serves this process. A new one begins with the vectors of the one at `like`, if
    this user made that.
    """
    folder = Path(path).parent
    told = tighten(Workspace(folder.parent) if folder.name == DERIVED_FOLDER else None)
    begins = like is not None and not os.path.lexists(path)
    opened = _open(path, fallback, identity)
    if like and begins and not opened.in_memory and (other := _open_readonly(like, identity)):
        other.index.close()
        opened.index.take(_vectors(like))
    return opened._replace(warnings=(*told, *opened.warnings)) if told else opened


def _open(path: str, fallback: Callable[[], str], identity: Mapping[str, str]) -> Opened:
    try:
        return _open_or_repair(path, identity)
    except IndexUnavailable as error:
        reason = error.reason
    if reason == schema.OTHER_KEY and (opened := _stand_in(path, fallback(), identity)):
        return opened
    if reason == schema.UNWRITABLE:
        opened = _open_readonly(path, identity) or _open_elsewhere(fallback(), identity)
        if opened:
            return opened
    return unusable(identity, reason)


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


def _open_or_repair(path: str, identity: Mapping[str, str], *, is_own: bool = False) -> Opened:
    """Open an index, begun anew if it must be; one of another key only if the place `is_own`."""
    index, reason = _usable(path, identity)
    if index:
        return Opened(index)
    if reason == schema.OTHER_KEY and not is_own:
        raise IndexUnavailable(path, reason)
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
    if index.unfit in (schema.FOREIGN, schema.OTHER_KEY) and not keeps_key():
        raise IndexUnavailable(path, keyless())
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


def _open_elsewhere(fallback: str, identity: Mapping[str, str]) -> Opened | None:
    try:
        return _open_or_repair(fallback, identity, is_own=True)
    except IndexUnavailable:
        return None


def _stand_in(path: str, fallback: str, identity: Mapping[str, str]) -> Opened | None:
    is_new = not os.path.lexists(fallback)
    opened = _open_elsewhere(fallback, identity)
    if opened is None or not is_new:
        return opened and opened._replace(stands_in=True)
    if vectors := _vectors(path):
        opened.index.take(vectors)
    key = shown(user_config_dir() / KEY_FILE)
    share = f"add the line of the {KEY_FILE} of the home that made it to {key}"
    if not os.path.lexists(_mark(fallback)):
        share += f", or {remedies.say('sync.adopt')}"
    told = f"the index here {schema.OTHER_KEY} and is left as it is; yours is kept in your cache; {share}"
    return opened._replace(warnings=(*opened.warnings, told), stands_in=True)


def take_over(path: str, fallback: str, identity: Mapping[str, str]) -> Opened | None:
    """Make an index that another key signed this user's own; None where that was done before.

    A workspace that moved here becomes this user's. Where two homes use one in turn, each takes it once, and
    whoever finds it taken back keeps his own in his cache: otherwise each would build it anew for ever.
    Raises IndexUnavailable.
    """
    try:
        root_of(fallback).create(_mark(fallback), b"")
    except OSError:
        return None
    opened = _open_or_repair(path, identity, is_own=True)
    with suppress(OSError):  # where it is left, `doctor` names it
        schema.remove_files(fallback)
    return opened


def _mark(fallback: str) -> str:
    return os.path.join(os.path.dirname(fallback), _TAKEN)
