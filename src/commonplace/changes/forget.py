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

    def load(path: Path) -> bytes:
        with records.translated(path):
            return door.read(path)

    # Beside the record and the bytes of notes a killed writer may have left others.
    files = records.listed(door, folder)
    run = runs.load(workspace, name)
    known = () if run is None else (".before", ".after", Path(runs.RECORD).suffix)
    others = [path for path in files if path.suffix not in known]
    gone = [path for path in others if targets.matches(load(path).decode("utf-8", "replace"))]
    if run is None:
        if gone and change:
            runs.remove(workspace, name)
        return len(files) if gone else 0
    sides: Sides = dict.fromkeys(gone)
    changed = []
    for place, file in enumerate(run.files):
        own = {side: folder / f"{place}.{side}" for side in runs.SIDES}
        data = {side: load(path) for side, path in own.items() if path in files}
        file, after = _file(workspace, file, data, targets)
        changed.append(file)
        sides |= {own[side]: rest for side, rest in after.items() if rest != data[side]}
    cleaned = _unnamed(run, tuple(changed), targets)
    if cleaned == run and not sides:
        return 0
    if change:
        runs.save(workspace, cleaned)
        for path, rest in sides.items():
            with records.translated(path):
                door.unlink(path) if rest is None else door.exchange(path, rest, alone=True)
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
    workspace: paths.Workspace, file: ChangedFile, data: dict[str, bytes], targets: Targets
) -> tuple[ChangedFile, dict[str, bytes | None]]:
    """A file of a run as it is to be recorded, and what becomes of the bytes of its sides."""
    if targets.owns(file.path):
        return ChangedFile(FORGOTTEN, "", "", "was forgotten"), dict.fromkeys(data)
    known = {note.before: note.after for note in targets.known if note.path == file.path}
    after: dict[str, bytes | None] = {}
    for side, before in data.items():
        after[side] = targets.edit(file.path, before)
        # Exactly as the note itself became, where they were its bytes.
        if (digest := runs.digest(before)) in known:
            current = runs.read(workspace, file.path)
            if runs.digest(current) == known[digest]:
                after[side] = current
        if getattr(file, side) == digest:
            file = replace(file, **{side: runs.digest(after[side])})  # type: ignore[arg-type]
    file = replace(file, left=targets.mask(file.left))
    if after != data:
        added, removed = diffs.counted(after.get("before") or b"", after.get("after") or b"")
        file = replace(file, added=added, removed=removed)
    return file, after
