"""What is being forgotten, written down until it is done: a file for each, for its owner's eyes only."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from datetime import datetime
from pathlib import Path

from commonplace import atomic, paths
from commonplace.erasure import wanted
from commonplace.erasure.wanted import Wanted
from commonplace.errors import NoteUnreadable
from commonplace.types.erasure import Erased

ENDING, _TEMPORARY = ".json", ".tmp"


def pending(workspace: paths.Workspace) -> list[Path]:
    """Return what was begun and is not done, oldest first."""
    return sorted(workspace.erasing.glob(f"*{ENDING}"))


def note(workspace: paths.Workspace, told: Wanted) -> Path:
    """Write down what is to be forgotten, before anything is. Raises NoteUnreadable."""
    paths.prepare_derived(workspace, workspace.erasing)
    path = workspace.erasing / f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}{ENDING}"
    try:
        workspace.erasing.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    write(path, told)
    atomic.sync_folder(workspace.derived)
    return path


def write(path: Path, told: Wanted) -> None:
    """Put a note in its place as a whole. Raises NoteUnreadable."""
    temporary = path.with_suffix(_TEMPORARY)
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o600), "wb") as file:
            file.write(wanted.encode(told))
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    atomic.sync_folder(path.parent)


def read(path: Path) -> Wanted:
    """Return what a note says. Raises NoteUnreadable for one that is none."""
    try:
        return wanted.decode(path.read_bytes())
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
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    atomic.sync_folder(path.parent)
    return []


def tidy(workspace: paths.Workspace) -> None:
    """Remove the folder with the last note, and what was half written: nothing was done for it yet."""
    for left in workspace.erasing.glob(f"*{_TEMPORARY}"):
        left.unlink(missing_ok=True)
    with suppress(OSError):
        workspace.erasing.rmdir()
