"""Copies of lines that left a note when another program saved it: listed, put back, deleted.

`notes.writes` makes them, in `.commonplace/overwritten/`: a file for each, whose name
says when, and of which note.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import NamedTuple

from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, NoteUnreadable
from commonplace.markdown.document import Document
from commonplace.notes import files, writes


class Copy(NamedTuple):
    """Lines that left a note; `note` is empty where nothing says any more which one it was."""

    name: str
    note: str
    lines: tuple[str, ...]
    is_taken_out: bool  # by somebody who changed nothing else: nobody was told


def listed(workspace: paths.Workspace) -> list[Copy]:
    """Return the copies, oldest first. Raises NoteUnreadable."""
    names = [name for name in writes.listed(workspace, writes.COPIES) if name.endswith(".md")]
    notes = _notes(workspace) if names else {}
    return [_read(workspace, name.removesuffix(".md"), notes) for name in names]


def restore(workspace: paths.Workspace, copy: Copy) -> int:
    """Put the lines of a copy back into their note, delete the copy, and return how many stood there no more.

    Raises NoteNotFound where it is not known whose lines they are, NoteUnreadable, LockTimeout.
    """
    if not copy.note:
        name = paths.shown(f"{writes.COPIES}/{copy.name}.md")
        raise NoteNotFound(name, reason="its note is gone; copy what you miss by hand")
    missing: list[str] = []

    def compose(document: Document) -> Document:
        standing = {line.strip() for line in document.text.splitlines()}
        missing[:] = [line for line in copy.lines if line.strip() not in standing]
        return document.insert("\n".join(missing)).document if missing else document

    files.replace(
        workspace.root / copy.note, compose, lock=paths.lock_file(workspace, "notes"), workspace=workspace
    )
    discard(workspace, copy)
    return len(missing)


def discard(workspace: paths.Workspace, copy: Copy) -> None:
    """Delete a copy, and what nobody was told of it yet. Raises NoteUnreadable."""
    for suffix in (".json", ".md"):
        path = f"{writes.COPIES}/{copy.name}{suffix}"
        try:
            workspace.files.unlink(path, missing_ok=True)
        except OSError as error:
            raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


def _read(workspace: paths.Workspace, name: str, notes: dict[str, str]) -> Copy:
    path = f"{writes.COPIES}/{name}.md"
    try:
        data = workspace.files.read(path)
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
    is_taken_out = name.endswith(writes.TAKEN_OUT)
    note = notes.get(name.removesuffix(writes.TAKEN_OUT).rpartition("-")[2], "")
    lines = data.decode("utf-8", "surrogateescape").split("\n")
    return Copy(name, note, tuple(line for line in lines if line.strip()), is_taken_out)


def _notes(workspace: paths.Workspace) -> dict[str, str]:
    """The notes that may have been written, by what names of copies end with."""
    found = [workspace.memory_file.relative_to(workspace.root).as_posix()]
    waiting = [paths.MEMORY_FOLDER]
    while waiting:
        folder = waiting.pop()
        with suppress(OSError):
            for name in workspace.files.names(folder):
                path = os.path.join(folder, name)
                if name.endswith(".md"):
                    found.append(path)
                elif workspace.files.is_folder(path):
                    waiting.append(path)
    return {writes.key_of(note): note for note in found}
