"""Files that a system reads what to start from: put there whole, and taken away with folders made for them.

`.commonplace/schedule.json` holds the folders that were made, so that removing leaves what was there before.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from commonplace import atomic, paths
from commonplace.errors import NoteUnreadable

_STATE = "schedule.json"


def read(path: Path) -> bytes | None:
    """Return the bytes of a file, None for none. Raises NoteUnreadable."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


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
            os.rmdir(folder)
    with suppress(OSError):
        os.unlink(workspace.derived / _STATE)


def _missing(folder: Path) -> list[str]:
    """The folders that making one makes, outermost first."""
    return [os.fspath(part) for part in reversed([folder, *folder.parents]) if not part.exists()]


def _noted(workspace: paths.Workspace) -> list[str]:
    try:
        told = json.loads((workspace.derived / _STATE).read_bytes())
        return [str(folder) for folder in told["folders"]]
    except (OSError, ValueError, TypeError, KeyError):
        return []


def _note(workspace: paths.Workspace, folders: list[str]) -> None:
    paths.prepare_derived(workspace)
    data = json.dumps({"folders": folders}).encode() + b"\n"
    atomic.replace(workspace.derived / _STATE, lambda _: data, lock=paths.lock_file(workspace, "schedule"))
