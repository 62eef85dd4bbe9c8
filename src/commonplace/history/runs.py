"""The record of generated changes: a folder for each, with the bytes before and after it.

    .commonplace/history/20260213-033000-0001f2/
        run.json                  what it is, whose, and how far it has come
        0.before, 0.after …       the bytes of its files, by their place in run.json; missing for no file

A folder is made under a name that ends in `.tmp` and renamed once all of it is on disk, and again before it
is removed: what ends so belongs to nobody who is alive, since all of it happens under the lock of the notes.
`run.json` is signed, and the bytes are bound by the digests in it; a run that is not ours is passed over, and
set aside by whoever changes notes next.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from commonplace import paths, records
from commonplace.errors import NoteUnreadable
from commonplace.history import lines
from commonplace.types.revisions import About, Change, ChangedFile, Run

KIND = "history"
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
    door = workspace.files
    try:
        door.make_folder(folder)
        for place, change in enumerate(changes):
            if keep and change.before is not None:
                door.create(folder / f"{place}.before", change.before, durable=True)
            if change.after is not None:
                door.create(folder / f"{place}.after", change.after, durable=True)
        door.create(folder / RECORD, _encode(run), durable=True)
        door.sync(folder)
        door.rename(folder, workspace.history / name)
        door.sync(workspace.history)
    except OSError as error:
        with suppress(OSError):
            door.remove(folder)
        raise NoteUnreadable(paths.shown(folder), records.trouble(error)) from error
    return run


def _changed(change: Change) -> ChangedFile:
    added, removed = lines.counted(change.before or b"", change.after or b"")
    return ChangedFile(
        change.path, digest(change.before), digest(change.after), added=added, removed=removed,
        mode=change.mode,
    )  # fmt: skip


def _next_name(workspace: paths.Workspace, now: datetime, told: str) -> str:
    """A name behind all others: runs are taken back by their order, whatever a clock does meanwhile."""
    stamp, place = now.strftime(_STAMP), 0
    newest = next(reversed(names(workspace)), "")
    if newest[:_STAMP_LENGTH] >= stamp:
        stamp, place = newest[:_STAMP_LENGTH], int(newest[16:19], 16) + 1
    if place > _PLACES:
        stamp, place = _second_after(workspace, newest), 0
    return f"{stamp}-{place:03x}{hashlib.sha256(told.encode()).hexdigest()[:3]}"


def _second_after(workspace: paths.Workspace, name: str) -> str:
    try:
        return f"{datetime.strptime(name[:_STAMP_LENGTH], _STAMP) + timedelta(seconds=1):{_STAMP}}"
    except (ValueError, OverflowError) as error:
        shown = paths.shown(workspace.history / name)
        raise NoteUnreadable(shown, "has a name that none can follow; remove it") from error


def save(workspace: paths.Workspace, run: Run) -> None:
    """Write down how far a run has come; one whose bytes are not kept loses them once it is done.

    Called under the lock of the notes. Raises NoteUnreadable.
    """
    folder, door = workspace.history / run.id, workspace.files
    try:
        if not run.kept and run.state != "begun":  # first: they must not outlive what says that they are gone
            for name in door.names(folder):
                if name.endswith((".before", ".after")):
                    door.unlink(folder / name)
        door.exchange(folder / RECORD, _encode(run), alone=True)
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), records.trouble(error)) from error


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
    """Return the names of runs whose record cannot be read; those that are not ours are not among them."""
    return [name for name in names(workspace) if _loaded(workspace, name) == ""]


def trouble(workspace: paths.Workspace, name: str) -> str:
    """Return what is wrong with the record of a run that cannot be used."""
    try:
        workspace.files.read(workspace.history / name / RECORD, limit=_LARGEST)
    except OSError as error:
        return f"cannot be read ({paths.reason(error)})"
    return "is damaged"


def foreign(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs that are not ours, from the newest to the first that is: what comes next."""
    found: list[str] = []
    for name in reversed(names(workspace)):
        run = _loaded(workspace, name)
        if isinstance(run, Run):
            break
        if run:
            found.append(name)
    return found


def litter(workspace: paths.Workspace) -> list[str]:
    """Return the names of folders that were being made or removed."""
    return [name for name in _entries(workspace) if _LITTER.fullmatch(name)]


def _entries(workspace: paths.Workspace) -> list[str]:
    try:
        return workspace.files.names(workspace.history)
    except OSError:
        return []


def sweep(workspace: paths.Workspace, *, looking: bool = False) -> None:
    """Remove, under the lock of the notes, the folders that somebody was making or removing when he died.

    Runs that are not ours and would be acted upon next are set aside, unless somebody is only `looking`.
    """
    door = workspace.files
    for name in litter(workspace):
        with suppress(OSError):
            door.remove(workspace.history / name)
    for name in () if looking else foreign(workspace):
        records.set_aside(door, workspace.history / name, unusable(workspace, name))


def load(workspace: paths.Workspace, name: str) -> Run | None:
    """Return a run by its name; None where there is none, or none of ours that can be read."""
    run = _loaded(workspace, name) if _NAME.fullmatch(name) else None
    return run if isinstance(run, Run) else None


def unusable(workspace: paths.Workspace, name: str) -> str:
    """Return why a run cannot be read."""
    run = _loaded(workspace, name)
    return (run if isinstance(run, str) else "") or "what is kept of it is damaged"


def _loaded(workspace: paths.Workspace, name: str) -> Run | str:
    """A run; why it is not ours, or an empty text for one that is damaged."""
    path = workspace.history / name / RECORD
    try:
        return decode(name, records.read(workspace.files, path, KIND, limit=_LARGEST))
    except records.Foreign as error:
        return error.reason
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return ""


def content(
    workspace: paths.Workspace, run: Run, place: int, side: str, folder: Path | None = None
) -> bytes | None:
    """The bytes of a file of a run, `before` or `after` it; None for no file.

    `folder` is where a run lies that was set aside. Raises NoteUnreadable where they are not kept, or are
    not those that were written.
    """
    wanted = getattr(run.files[place], side)
    if not wanted:
        return None
    path = (folder or workspace.history / run.id) / f"{place}.{side}"
    try:
        data = workspace.files.read(path)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), records.trouble(error)) from error
    if digest(data) != wanted:
        raise NoteUnreadable(paths.shown(path), "is not as it was written")
    return data


def remove(workspace: paths.Workspace, name: str) -> None:
    """Remove a run with its bytes; it can no longer be undone. Called under the lock of the notes."""
    folder = workspace.history / name
    gone = workspace.history / f"{name}{_TEMPORARY}"
    with suppress(OSError):
        workspace.files.rename(folder, gone)
    with suppress(OSError):
        workspace.files.remove(gone)


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
        run = _loaded(workspace, name)
        if isinstance(run, str):
            if run and not ahead:
                records.set_aside(workspace.files, workspace.history / name, run)
                continue
            old = not ahead
        else:
            old = (not ahead or _stamp_of(run.at, name) < cutoff) and run.state != "begun"
        if old:
            remove(workspace, name)


def _stamp_of(at: str, otherwise: str) -> str:
    try:
        return datetime.fromisoformat(at).strftime(_STAMP)
    except ValueError:
        return otherwise


def _encode(run: Run) -> bytes:
    # With its name, so that it is the record of no other. A path may hold bytes that are no UTF-8.
    return records.seal(KIND, asdict(run), indent=1)


def decode(name: str, told: Mapping[str, Any]) -> Run:
    """Read the record of a run by its name. Raises ValueError, TypeError, KeyError, AttributeError."""
    about = _made(About, told["about"])
    files = tuple(_made(ChangedFile, file) for file in told["files"])
    if told.get("id", name) != name:
        raise ValueError("the record of another run")
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
