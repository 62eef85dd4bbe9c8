"""Opening an index so that an answer always comes: repaired, read-only, or in memory."""

from __future__ import annotations

import os
from collections.abc import Mapping

from commonplace.base.errors import IndexUnavailable, NoteUnreadable
from commonplace.base.locks import locked
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Index
from commonplace.index.sqlite import schema
from commonplace.index.sqlite.index import SqliteIndex


class Opened(NamedTuple):
    """An open index; `in_memory` is true for one that must be filled by scanning the files (level 3).

    `anew` is true for one that was emptied because it had been made by other rules. `reason` says why there
    is none in a file, or on a server: then it is `away`.
    """

    index: Index  # type: ignore[assignment]
    in_memory: bool = False
    warnings: tuple[str, ...] = ()
    anew: bool = False
    reason: str = ""
    away: bool = False


def open_index(path: str, identity: Mapping[str, str]) -> Opened:
    """Open the index at `path`, or the best there is in its place.

    A damaged one is deleted and begun anew (it is derived); one of other tables, or redacted by other rules,
    is emptied but for its vectors. Where writing is refused, an existing index is used as it
    is; otherwise one in memory serves this process.
    """
    try:
        return _open_or_repair(path, identity)
    except IndexUnavailable as error:
        read = _open_readonly(path, identity) if error.reason == schema.UNWRITABLE else None
        return read or unusable(identity, error.reason)


def unusable(identity: Mapping[str, str], reason: str) -> Opened:
    """Return an index in memory, since the one in a file cannot be used."""
    told = message(
        "index.unusable",
        "the index is not usable ({reason}): the files themselves were searched",
        reason=reason,
    )
    return in_memory(identity, told)._replace(reason=reason)


def in_memory(identity: Mapping[str, str], warning: str) -> Opened:
    """Return an empty index that lives as long as the process, to be filled by scanning the files."""
    return Opened(SqliteIndex(":memory:", identity), in_memory=True, warnings=(warning,))


def _open_or_repair(path: str, identity: Mapping[str, str], *, alone: bool = False) -> Opened:
    """Open an index; what must be begun anew is by one process `alone`, and who waited finds what it made."""
    try:
        index = SqliteIndex(path, identity)
        if not index.unfit:
            return Opened(index)
        if alone:
            return _emptied(index)
        index.close()
    except IndexUnavailable as error:
        if not schema.is_damage(error.reason):
            raise
        if alone:
            return discard(path, identity, error.reason)
    try:
        with locked(os.path.join(os.path.dirname(path), "locks", "index.lock")):
            return _open_or_repair(path, identity, alone=True)
    except NoteUnreadable as error:
        raise IndexUnavailable(path, schema.UNWRITABLE) from error


def _emptied(index: SqliteIndex) -> Opened:
    """Empty an index but for its vectors, which hold no words; the next sync forgets those without text."""
    reason, index.unfit = index.unfit, ""
    index.rows("PRAGMA secure_delete = 1")
    with index.transaction(anew=True):
        pass
    index.rebuild_reason = reason
    told = message("index.anew", "the index is built anew: {reason}", reason=reason)
    return Opened(index, warnings=(told,), anew=True)


def discard(path: str, identity: Mapping[str, str], reason: str = schema.DAMAGED) -> Opened:
    """Delete a damaged index, and begin a new one in its place."""
    try:
        schema.remove_files(path)
    except OSError as error:
        raise IndexUnavailable(path, schema.UNWRITABLE) from error
    told = message("index.mended", "the index was damaged and has been rebuilt")
    if reason == schema.FOREIGN:
        told = message("index.foreign", "the index came from elsewhere and is built anew")
    return Opened(SqliteIndex(path, identity), warnings=(told,))


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
    told = message("index.as_it_stands", "the index cannot be written here and is used as it stands")
    return Opened(index, warnings=(told,))
