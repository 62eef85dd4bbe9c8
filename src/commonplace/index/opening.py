"""Opening an index so that an answer always comes: repaired, read-only, elsewhere, or in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import NamedTuple

import apsw

from commonplace.errors import IndexUnavailable
from commonplace.index import schema
from commonplace.index.sqlite import SqliteIndex


class Opened(NamedTuple):
    """An open index; `in_memory` is true for one that must be filled by scanning the files (level 3)."""

    index: SqliteIndex  # type: ignore[assignment]
    in_memory: bool = False
    warnings: tuple[str, ...] = ()


def open_index(path: str, fallback: Callable[[], str], identity: Mapping[str, str]) -> Opened:
    """Open the index at `path`, or the best stand-in for it.

    A damaged one is deleted and begun anew (it is derived). Where nothing may be written, an index that is
    there already is used as it stands, and otherwise one at `fallback()` in the user's cache. If neither can
    be had, an index in memory serves this process.
    """
    try:
        return _open_or_repair(path, identity)
    except IndexUnavailable as error:
        reason = error.reason
    if reason == "cannot be written here":
        opened = _open_readonly(path, identity) or _open_elsewhere(fallback(), identity)
        if opened:
            return opened
    return in_memory(identity, f"the index is not usable ({reason}): the files themselves were searched")


def in_memory(identity: Mapping[str, str], warning: str) -> Opened:
    """An empty index that lives as long as the process, to be filled by scanning the files."""
    return Opened(SqliteIndex(":memory:", identity), in_memory=True, warnings=(warning,))


def answers(path: str) -> bool:
    """Whether the index at `path` can be read, or does not exist yet; never waits for a lock."""
    if not os.path.exists(path):
        return True
    try:
        with schema.translated(path):
            connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                return schema.exists(connection)
            finally:
                connection.close()
    except IndexUnavailable:
        return False


def _open_or_repair(path: str, identity: Mapping[str, str]) -> Opened:
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
    except OSError as error:
        raise IndexUnavailable(path, "cannot be written here") from error
    try:
        return Opened(SqliteIndex(path, identity))
    except IndexUnavailable as error:
        if error.reason != "damaged":
            raise
    return discard(path, identity)


def discard(path: str, identity: Mapping[str, str]) -> Opened:
    """Delete a damaged index and begin a new one in its place."""
    try:
        schema.remove_files(path)
    except OSError as error:
        raise IndexUnavailable(path, "cannot be written here") from error
    return Opened(SqliteIndex(path, identity), warnings=("the index was damaged and has been rebuilt",))


def _open_readonly(path: str, identity: Mapping[str, str]) -> Opened | None:
    if not os.path.exists(path):
        return None
    try:
        index = SqliteIndex(path, identity, readonly=True)
    except IndexUnavailable:
        return None
    return Opened(index, warnings=("the index cannot be written here and is used as it stands",))


def _open_elsewhere(fallback: str, identity: Mapping[str, str]) -> Opened | None:
    try:
        return _open_or_repair(fallback, identity)
    except IndexUnavailable:
        return None
