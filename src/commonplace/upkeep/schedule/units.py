"""Files that a system reads what to start from: put there whole, and taken away with folders made for them.

`.commonplace/schedule.json` holds the folders that were made, so that removing leaves what was there before.
It is signed: a foreign one would have folders removed.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from commonplace.base import atomic, paths, records
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root

KIND = "schedule"
_STATE = "schedule.json"
_LARGEST = 1_000_000  # bytes of the state, and of a file of a starter


def read(path: Path) -> bytes | None:
    """Return the bytes of a file, None for none. Raises NoteUnreadable."""
    try:
        return Root(path.parent).read(path.name, limit=_LARGEST, links=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), records.trouble(error)) from error


def put(workspace: paths.Workspace, files: Mapping[Path, bytes | None]) -> dict[Path, bytes | None]:
    """Put files in place, None for none; return what was there before. Raises NoteUnreadable."""
    before = {path: read(path) for path in files}
    made = [folder for path, data in files.items() if data is not None for folder in _missing(path.parent)]
    lock = paths.lock_file(workspace, "schedule")
    if made:
        _note(workspace, [*_noted(workspace), *dict.fromkeys(made)])
    for path, data in files.items():
        with atomic.locked(lock):
            atomic.exchange(path, before[path], data, lock=lock)
    if all(data is None for data in files.values()):
        _leave(workspace)
    return before


def _leave(workspace: paths.Workspace) -> None:
    """Remove the folders that were made for us, if they are empty, and the note of them."""
    for folder in reversed(_noted(workspace)):
        with suppress(OSError):
            Root(os.path.dirname(folder)).rmdir(os.path.basename(folder))
    with suppress(OSError):
        workspace.files.unlink(workspace.derived / _STATE)


def _missing(folder: Path) -> list[str]:
    """The folders that making one makes, outermost first."""
    return [os.fspath(part) for part in reversed([folder, *folder.parents]) if not part.exists()]


def _noted(workspace: paths.Workspace) -> list[str]:
    try:
        told = records.read(workspace.files, workspace.derived / _STATE, KIND, limit=_LARGEST)
        return [str(folder) for folder in told["folders"]]
    except (OSError, ValueError, TypeError, KeyError, records.Foreign):
        return []


def _note(workspace: paths.Workspace, folders: list[str]) -> None:
    paths.prepare_derived(workspace)
    with atomic.locked(paths.lock_file(workspace, "schedule")):
        state = workspace.derived / _STATE
        records.update(workspace.files, state, KIND, lambda _: {"folders": folders}, limit=_LARGEST)
