"""The record of generated changes (runs): their description, and the bytes of files before and after.

A run is recorded whole before its files are replaced, and carried on after a kill. Bytes are stored once for
all runs, by their digest. Writers hold the lock of the notes.
"""

from __future__ import annotations

import hashlib
import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.render import screen
from commonplace.storage import diffs, state
from commonplace.types.changes import About, Change, ChangedFile, Run, RunState

WAITING = "not committed yet"  # prefix of `uncommitted` of a run without a commit
SIDES = ("before", "after")
# Time to the second, number within that second (3 hex digits), hash (3 hex digits).
_STAMP, _STAMP_LENGTH, _PLACES = "%Y%m%d-%H%M%S", 15, 0xFFF
_MOST = 1_000  # runs that are kept
_AT_ONCE = 50  # runs read by one query
Read = Callable[[str], bytes | None]  # returns the bytes of a path; None: no file
_Kind = TypeVar("_Kind", About, ChangedFile, Run)
_NEWEST = "SELECT max(id) FROM change"
_MARK_UNDONE = "UPDATE change SET data = json_set(data, '$.undone', ?) WHERE id = ?"
_MARK_REDONE = """UPDATE change SET data = json_set(data, '$.undone', '') WHERE data ->> '$.undone' = ?
    AND id = (SELECT data ->> '$.about.undoes' FROM change WHERE id = ?)"""
_UNUSED = "DELETE FROM blob WHERE digest NOT IN (SELECT digest FROM change_blob)"


def read(workspace: paths.Workspace, path: str) -> bytes | None:
    """Return the bytes of a file that a run may change; None: no file. Raises as `contain` does."""
    try:
        return paths.read_real(contain(workspace, path), Path(path), [workspace.root])
    except NoteNotFound:
        return None


def contain(workspace: paths.Workspace, path: str) -> Path:
    """Return the real path of a file that a run may change: in the workspace, not hidden, not the settings.

    Raises OutsideRoots, NoteUnreadable.
    """
    real = paths.contain(workspace.root / path, [workspace.root], missing_ok=True)
    inside = real.relative_to(os.path.realpath(workspace.root))
    if any(part.startswith(".") for part in inside.parts) or inside.name == paths.FORMER_SETTINGS:
        raise OutsideRoots(paths.shown(path), "is no note, so no generated change may touch it")
    return real


def digest(data: bytes | None) -> str:
    """Return the SHA-256 (hex) of the bytes of a file; empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def begin(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About,
    now: datetime,
    *,
    keep: bool,
    uncommitted: str = "",
    state: RunState = "begun",
) -> Run:
    """Record a run with its bytes, before any file is replaced. Raises NoteUnreadable.

    keep: store the old bytes for undo. uncommitted: why the run has no commit yet.
    """
    files = tuple(
        ChangedFile(
            one.path,
            digest(one.before),
            digest(one.after),
            "",
            *diffs.counted(one.before or b"", one.after or b""),
            one.mode,
        )
        for one in changes
    )
    seed = json.dumps([asdict(about), [asdict(file) for file in files], os.getpid(), now.isoformat()])
    at = now.isoformat(timespec="seconds")
    run = Run(_next_name(workspace, now, seed), about, at, files, state, kept=keep, uncommitted=uncommitted)
    sides = [side for change in changes for side in (change.before if keep else None, change.after)]
    put(workspace, run, [side for side in sides if side is not None])
    return run


def _next_name(workspace: paths.Workspace, now: datetime, seed: str) -> str:
    """Return an id that sorts after all others, even if the clock was set back: undo follows this order."""
    stamp, place = now.strftime(_STAMP), 0
    newest = next((name for (name,) in state.rows(workspace, _NEWEST) if name), "")
    if newest[:_STAMP_LENGTH] >= stamp:
        stamp, place = newest[:_STAMP_LENGTH], int(newest[16:19], 16) + 1
    if place > _PLACES:
        after = datetime.strptime(newest[:_STAMP_LENGTH], _STAMP) + timedelta(seconds=1)
        stamp, place = f"{after:{_STAMP}}", 0
    return f"{stamp}-{place:03x}{hashlib.sha256(seed.encode()).hexdigest()[:3]}"


def put(workspace: paths.Workspace, run: Run, blobs: Sequence[bytes] = ()) -> None:
    """Insert or replace the record of a run, and store further bytes of its files.

    A run without `kept` loses its bytes once it is no longer begun. An undo that is done marks the run that
    it undid; if that was an undo itself, the mark that it had set is cleared. Raises NoteUnreadable.
    """
    rows = [(digest(data), zlib.compress(data)) for data in blobs]
    needed = () if not run.kept and run.state != "begun" else run.files
    held = {(run.id, getattr(file, side)) for file in needed for side in SIDES}
    with state.writing(workspace) as connection:
        connection.executemany("INSERT OR IGNORE INTO blob(digest, bytes) VALUES (?, ?)", rows)
        connection.execute("DELETE FROM change_blob WHERE change = ?", (run.id,))
        is_new = not connection.changes()
        connection.executemany("INSERT INTO change_blob(change, digest) VALUES (?, ?)", held)
        if not is_new:
            connection.execute(_UNUSED)
        values = run.id, run.state, json.dumps(asdict(run))
        connection.execute("INSERT OR REPLACE INTO change(id, state, data) VALUES (?, ?, ?)", values)
        if (target := run.about.undoes) and run.state == "done" and not run.undone:
            connection.execute(_MARK_UNDONE, (run.id, target))
            connection.execute(_MARK_REDONE, (target, target))


def listed(workspace: paths.Workspace) -> list[Run]:
    """Return all runs, newest first."""
    return list(newest_first(workspace))


def newest_first(workspace: paths.Workspace) -> Iterator[Run]:
    """Yield all runs, newest first, read in batches."""
    before = "~"
    query = "SELECT id, data FROM change WHERE id < ? ORDER BY id DESC LIMIT ?"
    while found := state.rows(workspace, query, (before, _AT_ONCE)):
        yield from (_decode(name, json.loads(data)) for name, data in found)
        before = found[-1][0]


def unfinished(workspace: paths.Workspace) -> list[Run]:
    """Return the runs in state `begun`, oldest first."""
    found = state.rows(workspace, "SELECT id, data FROM change WHERE state = 'begun' ORDER BY id")
    return [_decode(name, json.loads(data)) for name, data in found]


def names(workspace: paths.Workspace) -> list[str]:
    """Return the ids of all runs, oldest first."""
    return [name for (name,) in state.rows(workspace, "SELECT id FROM change ORDER BY id")]


def load(workspace: paths.Workspace, name: str) -> Run | None:
    """Return a run by its id; None if it is missing."""
    found = state.rows(workspace, "SELECT data FROM change WHERE id = ?", (name,))
    return next((_decode(name, json.loads(data)) for (data,) in found), None)


def content(workspace: paths.Workspace, run: Run, place: int, side: str) -> bytes | None:
    """Return the bytes of file number `place` of a run, on `side` before or after; None: no file.

    Raises NoteUnreadable if the bytes are not kept or are damaged.
    """
    if not (expected := getattr(run.files[place], side)):
        return None
    shown = f"{run.id}: {paths.shown(run.files[place].path)}"
    found = state.rows(workspace, "SELECT bytes FROM blob WHERE digest = ?", (expected,))
    if not found:
        raise NoteUnreadable(shown, "is not kept")
    try:
        data = zlib.decompress(found[0][0])
    except zlib.error:
        data = b""
    if digest(data) != expected:
        raise NoteUnreadable(shown, "is not as it was written")
    return data


def remove(workspace: paths.Workspace, *names: str) -> None:
    """Remove runs with their bytes; they can no longer be undone. Raises NoteUnreadable."""
    with state.writing(workspace) as connection:
        connection.executemany("DELETE FROM change WHERE id = ?", [(name,) for name in names])
        connection.executemany("DELETE FROM change_blob WHERE change = ?", [(name,) for name in names])
        connection.execute(_UNUSED)


def prune(workspace: paths.Workspace, keep_mb: int) -> None:
    """Remove the oldest runs beyond `keep_mb` or `_MOST`; the newest, and those in state `begun`, are kept.

    Raises NoteUnreadable.
    """
    room, gone = keep_mb * 1_000_000, list[str]()
    for number, (name, stored, run_state) in enumerate(state.rows(workspace, _SIZES)):
        room -= stored or 0
        if run_state != "begun" and number and (room < 0 or number >= _MOST):
            gone.append(name)
    if gone:
        remove(workspace, *gone)


def prune_kind(workspace: paths.Workspace, kind: str, most: int) -> None:
    """Remove the oldest runs of a kind beyond the newest `most`. Raises NoteUnreadable."""
    query = "SELECT id FROM change WHERE data ->> '$.about.kind' = ? ORDER BY id DESC LIMIT -1 OFFSET ?"
    if old := state.rows(workspace, query, (kind, most)):
        remove(workspace, *(name for (name,) in old))


_SIZES = """
SELECT change.id, sum(length(blob.bytes)), change.state FROM change
LEFT JOIN change_blob ON change_blob.change = change.id LEFT JOIN blob USING (digest)
GROUP BY change.id ORDER BY change.id DESC"""


def size(workspace: paths.Workspace) -> int:
    """Return the size of the stored bytes of all runs, compressed."""
    return sum(row[0] or 0 for row in state.rows(workspace, "SELECT sum(length(bytes)) FROM blob"))


def _decode(name: str, record: Mapping[str, Any]) -> Run:
    """Return a run from its id and record. Raises ValueError, TypeError, KeyError, AttributeError."""
    files = tuple(_made(ChangedFile, file) for file in record["files"])
    return _made(Run, record, id=name, about=_made(About, record["about"]), files=files)


def _made(kind: type[_Kind], record: Mapping[str, Any], **decoded: object) -> _Kind:
    """Return a dataclass from a record; ignore the fields that a later version added."""
    known = {field.name for field in fields(kind)}
    return kind(**{name: value for name, value in {**record, **decoded}.items() if name in known})


def diff(workspace: paths.Workspace, run: Run) -> str:
    """Return the diff of a run, file by file, with a line for a file that was left or is not kept."""
    parts = []
    for place, file in enumerate(run.files):
        path = screen.one_line(file.path)
        try:
            if not run.kept:
                raise NoteUnreadable(path, "what it was before is not kept")
            before, after = (content(workspace, run, place, side) for side in SIDES)
        except NoteUnreadable as error:
            parts.append(f"# {path}: {screen.one_line(error.reason)}")
            continue
        parts.append(diffs.of_change(Change(file.path, before, after)))
        if file.left:
            parts.append(f"# {path} {file.left}")
    return "\n".join(parts)
