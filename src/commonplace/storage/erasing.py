"""Removal of forgotten content from the record of changes and from stored versions of notes.

An undo stays exact: recorded bytes are edited as the note itself was, and hashed again. A note that is
forgotten as a whole cannot be restored.
"""

from __future__ import annotations

import os
from contextlib import nullcontext
from dataclasses import replace

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.locks import locked
from commonplace.storage import diffs, journal, overwritten, state, writes
from commonplace.types.changes import ChangedFile, Erased, Run
from commonplace.types.store import Site, Targets

FORGOTTEN = "[forgotten]"  # replaces the path of a forgotten note


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Return the changes that contain a target, with the number of files; with `change`, remove targets."""
    erased, workspace = list[Erased](), site.workspace
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        for run in journal.listed(workspace):
            blobs: list[bytes] = []
            files = tuple(_file(workspace, run, place, targets, blobs) for place in range(len(run.files)))
            cleaned = _unnamed(run, files, targets)
            if cleaned == run:
                continue
            count = sum(one != other for one, other in zip(files, run.files, strict=True))
            path = f"{site.shown(state.path(workspace))}: {run.id}"
            erased.append(Erased("history", path, count=max(1, count)))
            if change:
                journal.put(workspace, cleaned, blobs)
        if erased and change:
            state.erase(workspace)
    return erased


def _unnamed(run: Run, files: tuple[ChangedFile, ...], targets: Targets) -> Run:
    """Return the record of a run with these files, and without targets in its texts."""

    def unnamed(text: str) -> str:
        for path in targets.notes:
            text = text.replace(path, FORGOTTEN)
        return targets.mask(text)

    about = replace(
        run.about,
        title=unnamed(run.about.title),
        why=unnamed(run.about.why),
        agent=targets.mask(run.about.agent),
        session="" if run.about.session in targets.session_names else targets.mask(run.about.session),
    )
    return replace(run, files=files, about=about, uncommitted=unnamed(run.uncommitted))


def _file(
    workspace: paths.Workspace, run: Run, place: int, targets: Targets, blobs: list[bytes]
) -> ChangedFile:
    """Return the record of a file of a change without targets; append its changed bytes to `blobs`."""
    file, sides = run.files[place], dict[str, bytes | None]()
    if targets.owns(file.path) or file.path == FORGOTTEN:
        return ChangedFile(FORGOTTEN, "", "", "was forgotten")
    file = replace(file, left=targets.mask(file.left))
    try:
        before = {side: journal.content(workspace, run, place, side) for side in journal.SIDES}
    except NoteUnreadable:  # damaged, so not searchable; or the run keeps no bytes
        return ChangedFile(file.path, "", "", "is damaged") if run.kept and not file.left else file
    for side, data in before.items():
        rest = sides[side] = data if data is None else edited(workspace, file.path, data, targets)
        if rest != data:
            file = replace(file, **{side: journal.digest(rest)})  # type: ignore[arg-type]
            blobs += [] if rest is None else [rest]
    if sides != before:
        added, removed = diffs.counted(sides["before"] or b"", sides["after"] or b"")
        file = replace(file, added=added, removed=removed)
    return file


def edited(workspace: paths.Workspace, path: str, data: bytes, targets: Targets) -> bytes | None:
    """Return the bytes of a note without targets; if the note itself had these bytes, its new bytes."""
    digest = journal.digest(data)
    for note in targets.known:
        if (note.path, note.before) == (path, digest):
            current = journal.read(workspace, path)
            if journal.digest(current) == note.after:
                return current
    return targets.edit(path, data)


def sweep_versions(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Count the kept versions of notes that contain a target; with `change`, remove the targets from them.

    What is kept of a wholly forgotten note is deleted. Keys of removed lines stay: they detect the return of
    an old version.
    """
    workspace, count = site.workspace, 0
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        for note in (os.fsdecode(path) for (path,) in state.rows(workspace, "SELECT path FROM note")):
            last, is_owned = writes.Writes(workspace, note), _owns(targets, note)
            rest = b"" if is_owned else edited(workspace, note, last.version, targets) or b""
            if is_owned or rest != last.version:
                count += 1
                if change:
                    last.forget() if is_owned else last.put(rest)
        for copy in overwritten.copies(workspace):
            is_owned = _owns(targets, copy.note)
            rest = b"" if is_owned else edited(workspace, copy.note, copy.content, targets) or b""
            if is_owned or rest != copy.content:
                count += 1
                if change:
                    restored = () if is_owned else copy.restored
                    overwritten.save(workspace, copy._replace(content=rest, restored=restored))
        agents = state.rows(workspace, "SELECT DISTINCT agent FROM entry")
        named = [agent for agent in agents if targets.matches(agent[0])]
        if change and (count or named):
            with state.writing(workspace) as connection:
                connection.executemany("UPDATE entry SET agent = '' WHERE agent = ?", named)
            state.erase(workspace)
    return [Erased("copies", site.shown(state.path(workspace)), count=count)] if count else []


def _owns(targets: Targets, note: str) -> bool:
    return targets.owns(note) or targets.matches(note)
