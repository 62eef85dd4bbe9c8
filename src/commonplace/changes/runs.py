"""The record of generated changes: a folder for each, with the bytes before and after it.

    history/20260213-033000-0001f2/
        run.json                  what it is, whose, and how far it has come
        0.z, 1.z …                bytes of its files, by their place in run.json: both sides, compressed

A folder is made under a name that ends in `.tmp` and renamed once all of it is on disk, and again before it
is removed. All of it happens under the lock of the notes, so what ends so belongs to no living process.
Version 0.1 kept the bytes as they are, in `0.before` and `0.after`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, fields
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from commonplace.base import paths, records
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.changes import diffs
from commonplace.render import screen
from commonplace.types.changes import About, Change, ChangedFile, Run, RunState

RECORD = "run.json"
SIDES = ("before", "after")
ENDINGS = (".z", ".before", ".after")  # of the bytes of a file
WAITING = "not committed yet"  # what `uncommitted` says until git was asked
_TEMPORARY = ".tmp"
# The second it was made, its place among those of the same second, and three digits by chance.
_NAME = re.compile(r"\d{8}-\d{6}-[0-9a-f]{6}")
_STAMP, _STAMP_LENGTH, _PLACES = "%Y%m%d-%H%M%S", 15, 0xFFF
_ALWAYS_KEPT = 200  # runs, whatever a clock says
_WEIGHED = 8  # by chance, after one run in so many, all runs are weighed: of thousands it takes a while
_LARGEST = 10_000_000  # bytes of run.json that are read; ours has some hundred a file
_TYPES = {"bool": bool, "int": int}
Read = Callable[[str], bytes | None]  # a file by its path, None for none
_Kind = TypeVar("_Kind", About, ChangedFile, Run)


def read(workspace: paths.Workspace, path: str) -> bytes | None:
    """Return the bytes of a file that a run may change, None for none; raises as `contain` does."""
    try:
        return paths.read_real(contain(workspace, path), Path(path), [workspace.root])
    except NoteNotFound:
        return None


def contain(workspace: paths.Workspace, path: str) -> Path:
    """Return the real path of a file that a run may change: in the workspace, hidden nowhere, no settings.

    Raises OutsideRoots, NoteUnreadable.
    """
    real = paths.contain(workspace.root / path, [workspace.root], missing_ok=True)
    inside = real.relative_to(os.path.realpath(workspace.root))
    if any(part.startswith(".") for part in inside.parts) or inside.name == paths.FORMER_SETTINGS:
        raise OutsideRoots(paths.shown(path), "is no note, so no generated change may touch it")
    return real


def digest(data: bytes | None) -> str:
    """The SHA-256 of a file's bytes; empty for no file."""
    return "" if data is None else hashlib.sha256(data).hexdigest()


def begin(
    workspace: paths.Workspace,
    changes: Sequence[Change],
    about: About,
    now: datetime,
    *,
    keep: bool,
    uncommitted: str = "",
    state: RunState = "begun",
) -> Run:
    """Write down what is about to be changed, with all bytes, before anything is; return the run.

    Called under the lock of the notes. Raises NoteUnreadable, with nothing written.
    """
    files = tuple(
        ChangedFile(
            change.path,
            digest(change.before),
            digest(change.after),
            "",
            *diffs.counted(change.before or b"", change.after or b""),
            change.mode,
        )
        for change in changes
    )
    seed = json.dumps([asdict(about), [asdict(file) for file in files], os.getpid(), now.isoformat()])
    name = _next_name(workspace, now, seed)
    at = now.isoformat(timespec="seconds")
    run = Run(name, about, at, files, state, kept=keep, uncommitted=uncommitted)
    folder = workspace.history / f"{name}{_TEMPORARY}"
    paths.prepare_state(workspace)
    door = workspace.kept
    try:
        door.make_folder(folder)
        for place, change in enumerate(changes):
            packed = pack(change.before if keep else None, change.after)
            door.create(folder / f"{place}.z", packed, durable=True)
        door.create(folder / RECORD, _encode(run), durable=True)
        door.sync(folder)
        door.rename(folder, workspace.history / name)
        door.sync(workspace.history)
    except OSError as error:
        with suppress(OSError):
            door.remove(folder)
        raise NoteUnreadable(paths.shown(folder), records.trouble(error, folder)) from error
    return run


def _next_name(workspace: paths.Workspace, now: datetime, seed: str) -> str:
    """A name behind all others: runs are taken back by their order, whatever a clock does meanwhile."""
    stamp, place = now.strftime(_STAMP), 0
    newest = next(reversed(names(workspace)), "")
    if newest[:_STAMP_LENGTH] >= stamp:
        stamp, place = newest[:_STAMP_LENGTH], int(newest[16:19], 16) + 1
    if place > _PLACES:
        try:
            after = datetime.strptime(newest[:_STAMP_LENGTH], _STAMP) + timedelta(seconds=1)
        except (ValueError, OverflowError) as error:
            shown = paths.shown(workspace.history / newest)
            raise NoteUnreadable(shown, "has a name that none can follow; remove it") from error
        stamp, place = f"{after:{_STAMP}}", 0
    return f"{stamp}-{place:03x}{hashlib.sha256(seed.encode()).hexdigest()[:3]}"


def save(workspace: paths.Workspace, run: Run) -> None:
    """Write down how far a run has come; one whose bytes are not kept loses them once it is done.

    Called under the lock of the notes. Raises NoteUnreadable.
    """
    folder, door = workspace.history / run.id, workspace.kept
    try:
        if not run.kept and run.state != "begun":  # first: they must not outlive what says that they are gone
            for name in door.names(folder):
                if name.endswith(ENDINGS):
                    door.unlink(folder / name)
        door.exchange(folder / RECORD, _encode(run), alone=True)
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), records.trouble(error, folder)) from error


def listed(workspace: paths.Workspace) -> list[Run]:
    """Return the runs that can be read, newest first."""
    return list(newest_first(workspace))


def newest_first(workspace: paths.Workspace) -> Iterator[Run]:
    """Yield the same one by one, each read when it is asked for."""
    for name in reversed(names(workspace)):
        if (run := load(workspace, name)) is not None:
            yield run


def unfinished(workspace: paths.Workspace) -> list[Run]:
    """Return what is begun, oldest first; since nothing is begun before that is carried on, the newest."""
    begun = []
    for run in newest_first(workspace):
        if run.state != "begun":
            break
        begun.append(run)
    return begun[::-1]


def names(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs, oldest first, without reading them."""
    return sorted(name for name in _entries(workspace) if _NAME.fullmatch(name))


def damaged(workspace: paths.Workspace) -> list[str]:
    """Return the names of runs whose record cannot be read."""
    return [name for name in names(workspace) if load(workspace, name) is None]


def trouble(workspace: paths.Workspace, name: str) -> str:
    """Return what is wrong with the record of a run that cannot be used."""
    try:
        workspace.kept.read(workspace.history / name / RECORD, limit=_LARGEST)
    except OSError as error:
        return f"cannot be read ({paths.reason(error)})"
    return "is damaged"


def litter(workspace: paths.Workspace) -> list[str]:
    """Return the names of folders that were being made or removed."""
    temporary = (name for name in _entries(workspace) if name.endswith(_TEMPORARY))
    return [name for name in temporary if _NAME.fullmatch(name.removesuffix(_TEMPORARY))]


def _entries(workspace: paths.Workspace) -> list[str]:
    try:
        return workspace.kept.names(workspace.history)
    except OSError:
        return []


def sweep(workspace: paths.Workspace) -> None:
    """Remove, under the lock of the notes, the folders that a killed process was making or removing."""
    for name in litter(workspace):
        with suppress(OSError):
            workspace.kept.remove(workspace.history / name)


def load(workspace: paths.Workspace, name: str) -> Run | None:
    """Return a run by its name; None where there is none, or it cannot be read."""
    if not _NAME.fullmatch(name):
        return None
    try:
        return decode(name, records.read(workspace.kept, workspace.history / name / RECORD, limit=_LARGEST))
    except (OSError, ValueError, TypeError, KeyError, AttributeError):
        return None


def content(workspace: paths.Workspace, run: Run, place: int, side: str) -> bytes | None:
    """Return the bytes of a file of a run, `before` or `after` it; None for no file.

    Raises NoteUnreadable where they are not kept, or are not those that were written.
    """
    expected = getattr(run.files[place], side)
    if not expected:
        return None
    path = workspace.history / run.id / f"{place}.z"
    try:
        data = sides(workspace, path.parent, place)[side]
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), records.trouble(error, path)) from error
    if digest(data) != expected:
        raise NoteUnreadable(paths.shown(path), "is not as it was written")
    return data


def pack(before: bytes | None, after: bytes | None) -> bytes:
    """Compress both sides of a file as one, so that what they share costs little; their sizes come first."""
    sizes = b" ".join(b"-" if side is None else b"%d" % len(side) for side in (before, after))
    return zlib.compress(b"".join([sizes, b"\n", before or b"", after or b""]))


def sides(workspace: paths.Workspace, folder: Path, place: int) -> dict[str, bytes | None]:
    """Return the bytes of a file of the run in a folder, by their side; None for those that are not kept.

    Raises OSError.
    """
    door, paths_of = workspace.kept, {side: folder / f"{place}.{side}" for side in SIDES}
    if not door.is_file(packed := folder / f"{place}.z"):
        return {side: door.read(path) if door.is_file(path) else None for side, path in paths_of.items()}
    sizes, _, data = records.unpacked(door.read(packed)).partition(b"\n")
    before, _, after = sizes.partition(b" ")
    end = int(before) if before.isdigit() else 0
    return {
        "before": data[:end] if before.isdigit() else None, "after": data[end:] if after.isdigit() else None,
    }  # fmt: skip


def remove(workspace: paths.Workspace, name: str) -> None:
    """Remove a run with its bytes; it can no longer be undone. Called under the lock of the notes."""
    folder = workspace.history / name
    gone = workspace.history / f"{name}{_TEMPORARY}"
    with suppress(OSError):
        workspace.kept.rename(folder, gone)
    with suppress(OSError):
        workspace.kept.remove(gone)


def prune(workspace: paths.Workspace, keep_days: int, keep_mb: int, now: datetime) -> None:
    """Remove the runs that are older than so many days, and the oldest beyond a size; none that is begun.

    Of the days the newest stay at any age: the clock may be wrong. The size is looked at now and then.
    """
    known = names(workspace)[:-_ALWAYS_KEPT]
    cutoff = (now - timedelta(days=keep_days)).strftime(_STAMP)
    for name in known[: bisect_left(known, cutoff)]:
        run = load(workspace, name)
        if run is None or run.state != "begun":
            remove(workspace, name)
    _prune_future(workspace, known[bisect_right(known, f"{now:{_STAMP}}~") :], cutoff)
    known = names(workspace)
    if int(known[-1][-1], 16) % _WEIGHED == 0:
        room = keep_mb * 1_000_000 - size(workspace, known[-1])
        for name in known[-2::-1]:
            room -= size(workspace, name)
            kept = load(workspace, name)
            if room < 0 and (kept is None or kept.state != "begun"):
                remove(workspace, name)


def size(workspace: paths.Workspace, name: str) -> int:
    """Return the bytes that a run takes on disk."""
    folder, door = workspace.history / name, workspace.kept
    with suppress(OSError):
        return sum(door.stat(folder / file).st_size for file in door.names(folder))
    return 0


def _prune_future(workspace: paths.Workspace, known: Sequence[str], cutoff: str) -> None:
    """Remove of the runs whose names lie in the future those that note a moment before the cutoff.

    One that was made while a clock was ahead has a name of that day, as all have that came after it.
    """
    for name in known:
        if (run := load(workspace, name)) is None or run.state == "begun":
            continue
        with suppress(ValueError):
            if f"{datetime.fromisoformat(run.at):{_STAMP}}" < cutoff:
                remove(workspace, name)


def _encode(run: Run) -> bytes:
    # With its name, so that it is the record of no other. A path may hold bytes that are no UTF-8.
    return records.encode(asdict(run), indent=1)


def decode(name: str, record: Mapping[str, Any]) -> Run:
    """Read the record of a run by its name. Raises ValueError, TypeError, KeyError, AttributeError."""
    about = _made(About, record["about"])
    files = tuple(_made(ChangedFile, file) for file in record["files"])
    if record.get("id", name) != name:
        raise ValueError("the record of another run")
    return _made(Run, record, id=name, about=about, files=files)


def _made(kind: type[_Kind], record: Mapping[str, Any], **decoded: object) -> _Kind:
    """Make a value of a record; what a later version added is passed over. Raises TypeError."""
    values: dict[str, Any] = dict(decoded)
    for field in fields(kind):
        if field.name in record and field.name not in decoded:
            value = record[field.name]
            if type(value) is not _TYPES.get(str(field.type), str):
                raise TypeError(field.name)
            values[field.name] = value
    return kind(**values)


def diff(workspace: paths.Workspace, run: Run) -> str:
    """Return the diff of a run, file by file; a line says so of what is no longer kept."""
    parts = []
    for place, file in enumerate(run.files):
        path = screen.one_line(file.path)
        try:
            if not run.kept:
                raise NoteUnreadable(path, "what it was before is not kept")
            before, after = (content(workspace, run, place, side) for side in SIDES)
        except NoteUnreadable as error:
            parts.append(f"# {path}: {screen.one_line(error.reason)}")
            continue
        parts.append(diffs.of_change(Change(file.path, before, after)))
        if file.left:
            parts.append(f"# {path} {file.left}")
    return "\n".join(parts)
