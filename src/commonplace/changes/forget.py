"""The record of generated changes without what is forgotten: the bytes kept of notes, titles and reasons.

Undoing a run stays exact: the bytes after it are changed as the note itself was, and hashed anew. A note that
is forgotten as a whole is not brought back. `run.json` is written before the bytes: a process that is killed
in between leaves hashes that are those of the bytes once they are cleaned, and the next one cleans them.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path

from commonplace.base import paths, records
from commonplace.base.locks import locked
from commonplace.base.root import Root
from commonplace.changes import diffs, overwritten, runs
from commonplace.notes import writes
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
    folder, door = workspace.history / name, workspace.kept
    files, run = records.listed(door, folder), runs.load(workspace, name)
    if run is None:
        if not _holding(door, files, targets):
            return 0
        if change:
            runs.remove(workspace, name)
        return len(files)
    # Beside the record and the bytes of notes a killed writer may have left others.
    others = [path for path in files if path.suffix not in (*runs.ENDINGS, ".json")]
    sides: Sides = dict.fromkeys(_holding(door, others, targets))
    changed = (_file(workspace, run, place, targets, sides) for place in range(len(run.files)))
    cleaned = _unnamed(run, tuple(changed), targets)
    if cleaned == run and not sides:
        return 0
    if change:
        runs.save(workspace, cleaned)
        _write(door, sides)
    return max(1, len(sides))


def _write(door: Root, sides: Sides) -> None:
    for path, rest in sides.items():
        with records.translated(path):
            door.unlink(path) if rest is None else door.exchange(path, rest, alone=True)


def _holding(door: Root, files: Sequence[Path], targets: Targets) -> list[Path]:
    """Those of some files that hold any of it."""
    return [path for path in files if targets.matches(records.load(door, path).decode("utf-8", "replace"))]


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


def _file(workspace: paths.Workspace, run: Run, place: int, targets: Targets, sides: Sides) -> ChangedFile:
    """A file of a run as it is to be recorded; of its bytes those that change are added to `sides`."""
    file, folder = run.files[place], workspace.history / run.id
    kept = [path for end in runs.ENDINGS if workspace.kept.is_file(path := folder / f"{place}{end}")]
    if targets.owns(file.path) or file.path == FORGOTTEN:
        sides |= dict.fromkeys(kept)
        return ChangedFile(FORGOTTEN, "", "", "was forgotten")
    with records.translated(folder):
        before = runs.sides(workspace, folder, place)
    if not any(side is not None for side in before.values()):  # damaged, so that nobody can look into it
        sides |= dict.fromkeys(kept)
    after = {
        side: data if data is None else edited(workspace, file.path, data, targets)
        for side, data in before.items()
    }
    for side, data in before.items():
        if getattr(file, side) == runs.digest(data):
            file = replace(file, **{side: runs.digest(after[side])})  # type: ignore[arg-type]
    packed = folder / f"{place}.z"
    is_left = packed in kept and len(kept) > 1  # a process was killed before it removed what this replaced
    if after != before or is_left:
        sides |= {packed: runs.pack(**after), **dict.fromkeys(path for path in kept if path != packed)}
    file = replace(file, left=targets.mask(file.left))
    if after != before:
        added, removed = diffs.counted(after["before"] or b"", after["after"] or b"")
        file = replace(file, added=added, removed=removed)
    return file


def edited(workspace: paths.Workspace, path: str, data: bytes, targets: Targets) -> bytes | None:
    """Return the bytes of a note without it: exactly as the note itself became, where they were its bytes."""
    digest = runs.digest(data)
    for note in targets.known:
        if (note.path, note.before) == (path, digest):
            current = runs.read(workspace, path)
            if runs.digest(current) == note.after:
                return current
    return targets.edit(path, data)


def sweep_versions(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name the notes of whose versions some hold any of it, and what was overwritten; remove it to `change`.

    All versions of a note that is forgotten go. Hashes of lines that were taken out stay: by them it is
    noticed where an old version comes back.
    """
    workspace, erased = site.workspace, list[Erased]()
    with locked(paths.lock_file(workspace, "notes")) if change else nullcontext():
        known: set[str] = set()
        for one in writes.recorded(workspace):
            path = site.shown(workspace.state / writes.FOLDER / f"{one.key}.json")
            if _owns(targets, one.note):
                erased.append(Erased("copies", path, count=len(one.record.versions)))
                continue
            known |= one.files
            count = one.edit(lambda data, one=one: edited(workspace, one.note, data, targets), change=change)  # type: ignore[misc]
            erased += [Erased("copies", path, count=count)] if count else []
        for name in set(writes.listed(workspace, writes.FOLDER)) - known if change else ():
            with suppress(OSError):
                workspace.kept.remove(f"{writes.FOLDER}/{name}")
        for copy in overwritten.copies(workspace):
            if (rest := _copy_without(workspace, copy, targets)) != copy:
                path = site.shown(workspace.state / writes.COPIES / f"{copy.name}.md")
                erased.append(Erased("copies", path))
                if change:
                    overwritten.save(workspace, rest)
    return erased


def _owns(targets: Targets, note: str) -> bool:
    return targets.owns(note) or targets.matches(note)


def _copy_without(workspace: paths.Workspace, copy: overwritten.Copy, targets: Targets) -> overwritten.Copy:
    """What was overwritten without it; no lines are left of a note that is forgotten."""
    keys = set(map(writes.key_of, targets.notes))
    if _owns(targets, copy.note) or copy.name.rpartition("-")[2] in keys:
        return copy._replace(ours=b"", base=b"", back=frozenset())
    path = copy.note or f"{writes.COPIES}/{copy.name}.md"
    ours, base = (edited(workspace, path, side, targets) or b"" for side in (copy.ours, copy.base))
    return copy._replace(ours=ours, base=base)
