"""The record of generated changes: a folder for each, with the bytes before and after it.

    .commonplace/history/20260213-033000-0001f2/
        run.json                  what it is, whose, and how far it has come
        0.before, 0.after …       the bytes of its files, by their place in run.json; missing for no file

A folder is made under a name that ends in `.tmp` and renamed once all of it is on disk, and again before it
is removed: what ends so belongs to nobody who is alive, since all of it happens under the lock of the notes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from commonplace import atomic, paths
from commonplace.errors import NoteUnreadable
from commonplace.history import lines
from commonplace.types.revisions import About, Change, ChangedFile, Run

RECORD = "run.json"
SIDES = ("before", "after")
WAITING = "not committed yet"  # what `uncommitted` says until git was asked
_TEMPORARY = ".tmp"
# The second it was made, its place among those of the same second, and three digits by chance.
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_LITTER = re.compile(rf"{_NAME.pattern}\.tmp")
_STAMP, _STAMP_LENGTH, _PLACES = "%Y%m%d-%H%M%S", 15, 0xFFF
_LARGEST = 10_000_000  # bytes of run.json that are read; ours has some hundred a file
_TYPES = {"bool": bool, "int": int}
_Kind = TypeVar("_Kind", About, ChangedFile, Run)


def digest(data: bytes | None) -> str:
    """The SHA-256 of a file's bytes; empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def begin(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About,
    now: datetime,
    *,
    keep: bool,
    uncommitted: str = "",
) -> Run:
    """Write down what is about to be changed, with all bytes, before anything is; return the run.

    Called under the lock of the notes. Raises NoteUnreadable, with nothing written.
    """
    files = tuple(_changed(change) for change in changes)
    told = json.dumps([asdict(about), [asdict(file) for file in files], os.getpid(), now.isoformat()])
    name = _next_name(workspace, now, told)
    at = now.isoformat(timespec="seconds")
    run = Run(name, about, at, files, kept=keep, uncommitted=uncommitted)
    folder = workspace.history / f"{name}{_TEMPORARY}"
    paths.prepare_derived(workspace, workspace.history)
    try:
        folder.mkdir(parents=True)
        for place, change in enumerate(changes):
            _put(workspace, folder, place, change, keep=keep)
        _write(folder / RECORD, _encode(run))
        atomic.sync_folder(folder)
        os.rename(folder, workspace.history / name)
        atomic.sync_folder(workspace.history)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error
    return run


def _changed(change: Change) -> ChangedFile:
    added, removed = lines.counted(change.before or b"", change.after or b"")
    return ChangedFile(change.path, digest(change.before), digest(change.after), added=added, removed=removed)


def _next_name(workspace: paths.Workspace, now: datetime, told: str) -> str:
    """A name behind all others: runs are taken back by their order, whatever a clock does meanwhile."""
    stamp, place = now.strftime(_STAMP), 0
    newest = next(reversed(names(workspace)), "")
    if newest[:_STAMP_LENGTH] >= stamp:
        stamp, place = newest[:_STAMP_LENGTH], int(newest[16:19], 16) + 1
    if place > _PLACES:
        stamp, place = f"{datetime.strptime(stamp, _STAMP) + timedelta(seconds=1):{_STAMP}}", 0
    return f"{stamp}-{place:03x}{hashlib.sha256(told.encode()).hexdigest()[:3]}"


def _put(workspace: paths.Workspace, folder: Path, place: int, change: Change, *, keep: bool) -> None:
    """Write the bytes of a file, for nobody who may not read the file; those before only if kept."""
    mode = 0o666
    with suppress(OSError):
        mode = stat.S_IMODE(os.stat(workspace.root / change.path).st_mode) & 0o666 | 0o600
    if keep and change.before is not None:
        _write(folder / f"{place}.before", change.before, mode)
    if change.after is not None:
        _write(folder / f"{place}.after", change.after, mode)


def _write(path: Path, data: bytes, mode: int = 0o666) -> None:
    with open(path, "wb", opener=lambda name, flags: os.open(name, flags, mode)) as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def save(workspace: paths.Workspace, run: Run) -> None:
    """Write down how far a run has come; one whose bytes are not kept loses them once it is done.

    Called under the lock of the notes. Raises NoteUnreadable.
    """
    folder = workspace.history / run.id
    temporary = folder / f"{RECORD}{_TEMPORARY}"
    try:
        if not run.kept and run.state != "begun":  # first: they must not outlive what says that they are gone
            for path in [*folder.glob("*.before"), *folder.glob("*.after")]:
                path.unlink()
        _write(temporary, _encode(run))
        os.replace(temporary, folder / RECORD)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink()
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error
    atomic.sync_folder(folder)


def listed(workspace: paths.Workspace) -> list[Run]:
    """Return the runs that are kept, newest first; a folder that holds none is passed over."""
    return list(newest_first(workspace))


def newest_first(workspace: paths.Workspace) -> Iterator[Run]:
    """Yield the runs one by one, each read when it is asked for."""
    for name in reversed(names(workspace)):
        if (run := load(workspace, name)) is not None:
            yield run


def unfinished(workspace: paths.Workspace) -> list[Run]:
    """Return what is begun, oldest first; since nothing is begun before that is carried on, the newest."""
    found = []
    for run in newest_first(workspace):
        if run.state != "begun":
            break
        found.append(run)
    return found[::-1]


def names(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs, oldest first, without reading them."""
    return sorted(name for name in _entries(workspace) if _NAME.fullmatch(name))


def damaged(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs whose record cannot be read."""
    return [name for name in names(workspace) if load(workspace, name) is None]


def litter(workspace: paths.Workspace) -> list[str]:
    """Return the names of folders that were being made or removed."""
    return [name for name in _entries(workspace) if _LITTER.fullmatch(name)]


def _entries(workspace: paths.Workspace) -> list[str]:
    try:
        return os.listdir(workspace.history)
    except OSError:
        return []


def sweep(workspace: paths.Workspace) -> None:
    """Remove, under the lock of the notes, the folders that somebody was making or removing when he died."""
    for name in litter(workspace):
        shutil.rmtree(workspace.history / name, ignore_errors=True)


def load(workspace: paths.Workspace, name: str) -> Run | None:
    """Return a run by its name; None where there is none, or none that can be read."""
    if not _NAME.fullmatch(name):
        return None
    try:
        with open(workspace.history / name / RECORD, "rb") as file:
            return _decode(name, json.loads(file.read(_LARGEST)))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def content(workspace: paths.Workspace, run: Run, place: int, side: str) -> bytes | None:
    """The bytes of a file of a run, `before` or `after` it; None for no file.

    Raises NoteUnreadable where they are not kept, or are not those that were written.
    """
    wanted = getattr(run.files[place], side)
    if not wanted:
        return None
    path = workspace.history / run.id / f"{place}.{side}"
    try:
        data = path.read_bytes()
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    if digest(data) != wanted:
        raise NoteUnreadable(paths.shown(path), "is not as it was written")
    return data


def remove(workspace: paths.Workspace, name: str) -> None:
    """Remove a run with its bytes; it can no longer be undone. Called under the lock of the notes."""
    folder = workspace.history / name
    gone = workspace.history / f"{name}{_TEMPORARY}"
    with suppress(OSError):
        os.rename(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def prune(workspace: paths.Workspace, keep_days: int, now: datetime) -> None:
    """Remove the runs that are older than so many days, but none that is begun.

    Where even the last one before now is older, the clock may be wrong: the next run decides. One that was
    made while a clock was in the future has a name of that day, as all have that came after it: of these the
    moment counts that they note.
    """
    known, today = names(workspace), now.strftime(_STAMP)
    cutoff = (now - timedelta(days=keep_days)).strftime(_STAMP)
    if len(known) > 1 and known[-2] < cutoff:
        return
    for name in known:
        ahead = name > today and name[:_STAMP_LENGTH] != today
        if not ahead and name >= cutoff:
            continue
        run = load(workspace, name)
        old = not ahead or (run is not None and _stamp_of(run.at, name) < cutoff)
        if old and (run is None or run.state != "begun"):
            remove(workspace, name)


def _stamp_of(at: str, otherwise: str) -> str:
    try:
        return datetime.fromisoformat(at).strftime(_STAMP)
    except ValueError:
        return otherwise


def _encode(run: Run) -> bytes:
    told = asdict(run)
    del told["id"]
    # A path may hold bytes that are no UTF-8; they come back as they were.
    return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "surrogatepass") + b"\n"


def _decode(name: str, told: Mapping[str, Any]) -> Run:
    about = _made(About, told["about"])
    files = tuple(_made(ChangedFile, file) for file in told["files"])
    return _made(Run, told, id=name, about=about, files=files)


def _made(kind: type[_Kind], told: Mapping[str, Any], **given: object) -> _Kind:
    """Make a value of what is told; what a later version added is passed over. Raises TypeError."""
    values: dict[str, Any] = dict(given)
    for field in fields(kind):
        if field.name in told and field.name not in given:
            value = told[field.name]
            if type(value) is not _TYPES.get(str(field.type), str):
                raise TypeError(field.name)
            values[field.name] = value
    return kind(**values)
