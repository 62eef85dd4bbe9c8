"""The record of generated changes: a folder for each, with the bytes before and after it.

    .commonplace/history/20260213-033000-1f2a3b/
        run.json                  what it is, whose, and how far it has come
        0.before, 0.after …       the bytes of its files, by their place in run.json; missing for no file

A folder is made under a name that ends in `.tmp` and renamed once all of it is on disk.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any

from commonplace import atomic, paths
from commonplace.errors import NoteUnreadable
from commonplace.types.revisions import About, Change, ChangedFile, Run

RECORD = "run.json"
SIDES = ("before", "after")
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_LARGEST = 10_000_000  # bytes of run.json that are read; ours has some hundred a file


def digest(data: bytes | None) -> str:
    """The SHA-256 of a file's bytes; empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def begin(
    workspace: paths.Workspace, changes: Sequence[Change], about: About, now: datetime, *, keep: bool
) -> Run:
    """Write down what is about to be changed, with all bytes, before anything is; return the run.

    Raises NoteUnreadable, with nothing written.
    """
    files = tuple(ChangedFile(c.path, digest(c.before), digest(c.after)) for c in changes)
    told = json.dumps([asdict(about), [asdict(file) for file in files], os.getpid(), now.isoformat()])
    name = f"{now:%Y%m%d-%H%M%S}-{hashlib.sha256(told.encode()).hexdigest()[:6]}"
    run = Run(name, about, now.isoformat(timespec="seconds"), files, kept=keep)
    folder = workspace.history / f"{name}.tmp"
    paths.prepare_derived(workspace)
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for place, change in enumerate(changes):
            _put(folder, place, change, keep=keep)
        _write(folder / RECORD, _encode(run))
        atomic.sync_folder(folder)
        os.rename(folder, workspace.history / name)
        atomic.sync_folder(workspace.history)
    except OSError as error:
        shutil.rmtree(folder, ignore_errors=True)
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error
    return run


def _put(folder: Path, place: int, change: Change, *, keep: bool) -> None:
    """Write the bytes of a file; those before only if they are to be kept."""
    if keep and change.before is not None:
        _write(folder / f"{place}.before", change.before)
    if change.after is not None:
        _write(folder / f"{place}.after", change.after)


def _write(path: Path, data: bytes) -> None:
    with open(path, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def save(workspace: paths.Workspace, run: Run) -> None:
    """Write down how far a run has come; one whose bytes are not kept loses them once it is done.

    Raises NoteUnreadable.
    """
    folder = workspace.history / run.id
    temporary = folder / f"{RECORD}.tmp"
    try:
        _write(temporary, _encode(run))
        os.replace(temporary, folder / RECORD)
        atomic.sync_folder(folder)
        if not run.kept and run.state != "begun":
            for path in [*folder.glob("*.before"), *folder.glob("*.after")]:
                path.unlink()
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error


def listed(workspace: paths.Workspace) -> list[Run]:
    """Return the runs that are kept, newest first; a folder that holds none is passed over."""
    return [run for name in reversed(names(workspace)) if (run := load(workspace, name)) is not None]


def names(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs, oldest first, without reading them."""
    try:
        return sorted(name for name in os.listdir(workspace.history) if _NAME.fullmatch(name))
    except OSError:
        return []


def load(workspace: paths.Workspace, name: str) -> Run | None:
    """Return a run by its name; None where there is none, or none that can be read."""
    try:
        with open(workspace.history / name / RECORD, "rb") as file:
            return _decode(name, json.loads(file.read(_LARGEST)))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
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
    """Remove a run with its bytes; it can no longer be undone."""
    folder = workspace.history / name
    with suppress(FileNotFoundError):
        os.unlink(folder / RECORD)  # first: a folder without it is no run
    shutil.rmtree(folder, ignore_errors=True)


def _encode(run: Run) -> bytes:
    told = asdict(run)
    del told["id"]
    return json.dumps(told, ensure_ascii=False, indent=1).encode("utf-8", "replace") + b"\n"


def _decode(name: str, told: Mapping[str, Any]) -> Run:
    about = About(**told["about"])
    files = tuple(ChangedFile(**file) for file in told["files"])
    rest = {key: value for key, value in told.items() if key not in ("about", "files")}
    return Run(name, about, files=files, **rest)
