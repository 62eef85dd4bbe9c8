"""The record of generated changes without what is forgotten: the bytes kept of notes, titles and reasons.

Undoing a run stays exact: the bytes after it are changed as the note itself was, and hashed anew. A note that
is forgotten as a whole is not brought back. `run.json` is written before the bytes: a process that is killed
in between leaves hashes that are those of the bytes once they are cleaned, and the next one cleans them.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from commonplace.base import paths, records
from commonplace.base.locks import locked
from commonplace.changes import diffs, runs
from commonplace.types.changes import ChangedFile, Erased, Run
from commonplace.types.store import Site, Targets

FORGOTTEN = "[forgotten]"  # stands for the path of a note that was forgotten

Sides = dict[Path, bytes | None]  # files below the folder of a run as they are to be; None for none


def sweep(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the runs that hold any of it, and in how many files; remove it to `change`.

    A run that cannot be read, and so not be undone either, goes whole.
    """
    erased, workspace = [], site.workspace
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        if change:
            runs.sweep(workspace)
        for name in runs.names(workspace):
            if count := _clean(workspace, name, targets, change=change):
                erased.append(Erased("history", site.shown(workspace.history / name), count=count))
    return erased


def _clean(workspace: paths.Workspace, name: str, targets: Targets, *, change: bool) -> int:
    """How many files of a run hold any of it; at least 1 where its record does."""
    folder, door = workspace.history / name, workspace.files

    def holds(path: Path) -> bool:
        with records.translated(path):
            return targets.matches(door.read(path).decode("utf-8", "replace"))

    files = records.listed(door, folder)
    run = runs.load(workspace, name)
    if run is None:
        if not any(map(holds, files)):
            return 0
        if change:
            runs.remove(workspace, name)
        return len(files)
    sides: Sides = {}
    changed = tuple(
        _file(workspace, run.id, place, file, targets, sides) for place, file in enumerate(run.files)
    )
    # Beside the bytes of notes a killed writer may have left others.
    others = (path for path in files if path.name != runs.RECORD and path.suffix not in (".before", ".after"))
    sides |= {path: None for path in others if holds(path)}
    cleaned = _unnamed(run, changed, targets)
    if cleaned == run and not sides:
        return 0
    if change:
        runs.save(workspace, cleaned)
        for path, data in sides.items():
            with records.translated(path):
                if data is None:
                    door.unlink(path)
                else:
                    door.exchange(path, data, alone=True)
    return max(1, len(sides))


def _unnamed(run: Run, files: tuple[ChangedFile, ...], targets: Targets) -> Run:
    """The record of a run with these files, which says nothing of it."""

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
    workspace: paths.Workspace, name: str, place: int, file: ChangedFile, targets: Targets, sides: Sides
) -> ChangedFile:
    """A file of a run as it is to be recorded; its bytes that change are added to `sides`."""
    folder, door = workspace.history / name, workspace.files
    stored = {side: path for side in runs.SIDES if door.is_file(path := folder / f"{place}.{side}")}
    if targets.owns(file.path):
        sides |= dict.fromkeys(stored.values())
        return ChangedFile(FORGOTTEN, "", "", "was forgotten")
    digests = {"before": file.before, "after": file.after}
    now: dict[str, bytes] = {}
    is_changed = False
    for side, path in stored.items():
        with records.translated(path):
            data = door.read(path)
        digest = runs.digest(data)
        after = targets.edit(file.path, data)
        # Exactly as the note itself became, where they were its bytes.
        for note in targets.known:
            if (note.path, note.before) == (file.path, digest):
                current = runs.read(workspace, file.path)
                if runs.digest(current) == note.after:
                    after = current
                    break
        if after != data:
            sides[path], is_changed = after, True
        now[side] = after or b""
        if digests[side] == digest:
            digests[side] = runs.digest(after)
    file = replace(file, before=digests["before"], after=digests["after"], left=targets.mask(file.left))
    if is_changed:
        added, removed = diffs.counted(now.get("before", b""), now.get("after", b""))
        file = replace(file, added=added, removed=removed)
    return file
