"""Small values of a workspace by kind and name, each a JSON object: state of sessions, receipts."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping

from commonplace.base import paths
from commonplace.base.digests import sha256
from commonplace.storage import state

TYPE_CHECKING = False  # `typing` costs a hook 3 ms
if TYPE_CHECKING:
    from typing import Any

_PUT = "INSERT OR REPLACE INTO value(kind, name, at, data) VALUES (?, ?, ?, ?)"
_GET = "SELECT data FROM value WHERE kind = ? AND name = ?"


def of_session(session: str) -> str:
    """Return the name of a session's value: the first 24 hex digits of the SHA-256 of its id."""
    return sha256(session.encode("utf-8", "surrogateescape")).hexdigest()[:24]


def read(workspace: paths.Workspace, kind: str, name: str = "") -> dict[str, Any] | None:
    """Return a value; None if it is missing. Raises NoteUnreadable."""
    return next((json.loads(data) for (data,) in state.rows(workspace, _GET, (kind, name))), None)


def each(
    workspace: paths.Workspace, kind: str, *, since_s: float | None = None
) -> list[tuple[str, dict[str, Any]]]:
    """Return the names and values of a kind, oldest write first.

    With `since_s`, only values written in the last `since_s` seconds. Raises NoteUnreadable.
    """
    oldest = 0.0 if since_s is None else time.time() - since_s
    query = "SELECT name, data FROM value WHERE kind = ? AND at >= ? ORDER BY at, name"
    return [(name, json.loads(data)) for name, data in state.rows(workspace, query, (kind, oldest))]


def update(
    workspace: paths.Workspace,
    kind: str,
    name: str,
    change: Callable[[dict[str, Any] | None], Mapping[str, Any] | None],
) -> None:
    """Replace a value by the result of `change` in one transaction; None: no value.

    Raises NoteUnreadable.
    """
    with state.writing(workspace) as connection:
        known = next((json.loads(str(data)) for (data,) in connection.execute(_GET, (kind, name))), None)
        if (value := change(known)) is None:
            connection.execute("DELETE FROM value WHERE kind = ? AND name = ?", (kind, name))
        else:
            connection.execute(_PUT, (kind, name, time.time(), json.dumps(value)))


def write(workspace: paths.Workspace, kind: str, name: str, value: Mapping[str, Any]) -> None:
    """Insert or replace a value. Raises NoteUnreadable."""
    update(workspace, kind, name, lambda _: value)


def remove(workspace: paths.Workspace, kind: str, names: Iterable[str], *, erase: bool = False) -> None:
    """Remove values; with `erase`, also their bytes in the file. Raises NoteUnreadable."""
    if rows := [(kind, name) for name in names]:
        with state.writing(workspace) as connection:
            connection.executemany("DELETE FROM value WHERE kind = ? AND name = ?", rows)
        if erase:
            state.erase(workspace)


def drop_old(workspace: paths.Workspace, kind: str, kept_s: float) -> None:
    """Remove the values of a kind older than `kept_s` seconds. Raises NoteUnreadable."""
    oldest = time.time() - kept_s
    found = state.rows(workspace, "SELECT name FROM value WHERE kind = ? AND at < ?", (kind, oldest))
    remove(workspace, kind, [name for (name,) in found])
