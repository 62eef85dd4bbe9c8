"""What is being forgotten, written down until it is done: a signed file for each, for its owner alone."""

from __future__ import annotations

import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from commonplace import paths, records
from commonplace.erasure import wanted
from commonplace.erasure.wanted import Wanted
from commonplace.errors import NoteUnreadable
from commonplace.types.erasure import Erased

KIND = "erasing"
ENDING, _TEMPORARY = ".json", ".tmp"


def pending(workspace: paths.Workspace) -> list[Path]:
    """Return what was begun and is not done, oldest first; what is not ours is not among it."""
    return [path for path in _notes(workspace) if not _is_foreign(path)]


def _notes(workspace: paths.Workspace) -> list[Path]:
    try:
        names = workspace.files.names(workspace.erasing)
    except OSError:
        return []
    return [workspace.erasing / name for name in names if name.endswith(ENDING)]


def _is_foreign(path: Path) -> bool:
    with suppress(OSError, ValueError):
        try:
            records.read(paths.root_of(path), path, KIND)
        except records.Foreign:
            return True
    return False


def note(workspace: paths.Workspace, told: Wanted) -> Path:
    """Write down what is to be forgotten, before anything is. Raises NoteUnreadable, OutsideRoots."""
    paths.prepare_derived(workspace, workspace.erasing)
    path = workspace.erasing / f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}{ENDING}"
    write(path, told)
    workspace.files.sync(workspace.derived)
    return path


def write(path: Path, told: Wanted) -> None:
    """Put a note in its place as a whole. Raises NoteUnreadable."""
    with records.translated(path):
        paths.root_of(path).exchange(path, records.seal(KIND, wanted.encode(told)), alone=True)


def read(path: Path) -> Wanted:
    """Return what a note says. Raises NoteUnreadable for one that is none, or not ours."""
    try:
        return wanted.decode(records.read(paths.root_of(path), path, KIND))
    except (OSError, ValueError, TypeError, KeyError) as error:
        told = "cannot be read; delete it, and forget what it was once more"
        raise NoteUnreadable(paths.shown(path), told) from error


def told(workspace: paths.Workspace) -> list[str]:
    """Return what was begun and is not done in the words of who asked; a note that is none by its name."""
    found: list[str] = []
    for path in pending(workspace):
        try:
            found += read(path).told
        except NoteUnreadable:
            found.append(paths.shown(path))
    return found


def end(path: Path) -> list[Erased]:
    """Remove a note: what it says is forgotten. Raises NoteUnreadable."""
    root = paths.root_of(path)
    with records.translated(path):
        root.unlink(path, missing_ok=True)
    root.sync(path.parent)
    return []


def tidy(workspace: paths.Workspace) -> None:
    """Remove the folder with the last note, and what was half written: nothing was done for it yet.

    What is not ours is set aside.
    """
    files = workspace.files
    for path in _notes(workspace):
        if _is_foreign(path):
            records.set_aside(files, path)
    with suppress(OSError):
        for name in files.names(workspace.erasing):
            if name.endswith(_TEMPORARY):
                files.remove(workspace.erasing / name)
        files.rmdir(workspace.erasing)
