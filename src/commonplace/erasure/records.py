"""The record of generated changes without what is forgotten: the bytes kept of notes, titles, reasons.

Undoing a run stays exact: the bytes after it are changed as the note itself was, and hashed anew. A note that
is forgotten as a whole is not brought back. `run.json` is written before the bytes: who is killed in between
leaves hashes that are those of the bytes once they are cleaned, so that the next one can tell.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from commonplace import atomic
from commonplace import records as signed
from commonplace.erasure import cutting
from commonplace.erasure.ground import Ground
from commonplace.erasure.wanted import Wanted
from commonplace.erasure.words import MARK
from commonplace.history import lines, runs
from commonplace.types.erasure import Erased
from commonplace.types.revisions import About, ChangedFile, Run

LEFT = "was forgotten"


def clean(ground: Ground, wanted: Wanted, *, change: bool) -> list[Erased]:
    """Take it out of all runs; return how much of each. Raises NoteUnreadable."""
    if not change:
        return [
            one
            for name in runs.names(ground.workspace)
            if (one := _clean(ground, name, wanted, change=False))
        ]
    with atomic.locked(ground.lock):
        runs.sweep(ground.workspace)
        found = [_clean(ground, name, wanted, change=True) for name in runs.names(ground.workspace)]
    return [one for one in found if one]


def _clean(ground: Ground, name: str, wanted: Wanted, *, change: bool) -> Erased | None:
    folder = ground.workspace.history / name
    run = runs.load(ground.workspace, name)
    if run is None:
        return _clean_unreadable(ground, folder, wanted, change=change)
    files: list[ChangedFile] = []
    sides: dict[Path, bytes | None] = {}
    for place, file in enumerate(run.files):
        kept, changed = _file(ground, folder, place, file, wanted)
        files.append(kept)
        sides |= changed
    lacks = _unnamed(run.uncommitted, wanted)
    told = replace(run, files=tuple(files), about=_about(run, wanted), uncommitted=lacks)
    others = _others(ground, folder, wanted)
    if told == run and not sides and not others:
        return None
    if change:
        runs.save(ground.workspace, told)
        for path, data in sides.items():
            _put(ground, path, data)
        for path in others:
            _put(ground, path, None)
    return Erased("history", ground.shown(folder), count=max(1, len(sides) + len(others)))


def _file(
    ground: Ground, folder: Path, place: int, file: ChangedFile, wanted: Wanted
) -> tuple[ChangedFile, dict[Path, bytes | None]]:
    """A file of a run as it is to be recorded, and its bytes that change."""
    files = ground.workspace.files
    known = {side: path for side in runs.SIDES if files.is_file(path := folder / f"{place}.{side}")}
    if wanted.owns(file.path):
        return ChangedFile(MARK, "", "", LEFT), dict.fromkeys(known.values())
    changed: dict[Path, bytes | None] = {}
    digests = {"before": file.before, "after": file.after}
    now: dict[str, bytes] = {}
    for side, path in known.items():
        data = _read(ground, path)
        after = _cleaned(ground, file.path, data, wanted)
        if after != data:
            changed[path] = after
        now[side] = after or b""
        if digests[side] == runs.digest(data):
            digests[side] = runs.digest(after)
    kept = replace(file, before=digests["before"], after=digests["after"], left=wanted.replaced(file.left))
    if changed:
        added, removed = lines.counted(now.get("before", b""), now.get("after", b""))
        kept = replace(kept, added=added, removed=removed)
    return kept, changed


def _cleaned(ground: Ground, path: str, data: bytes, wanted: Wanted) -> bytes | None:
    """Bytes of a note as it would be now: exactly as the note itself became, where they were its bytes."""
    digest = runs.digest(data)
    for known in wanted.known:
        if known.path == path and known.before == digest:
            now = ground.read(path)
            if runs.digest(now) == known.after:
                return now
    found = cutting.cut(path, data, wanted)
    return found.data if found else data


def _about(run: Run, wanted: Wanted) -> About:
    about = run.about
    sessions = {*wanted.sessions, *wanted.told_sessions}
    return replace(
        about,
        title=_unnamed(about.title, wanted),
        why=_unnamed(about.why, wanted),
        agent=wanted.replaced(about.agent),
        session="" if about.session in sessions else wanted.replaced(about.session),
    )


def _unnamed(text: str, wanted: Wanted) -> str:
    """A text without the notes that were forgotten, and without what they say."""
    for path in wanted.notes:
        text = text.replace(path, MARK)
    return wanted.replaced(text)


def _others(ground: Ground, folder: Path, wanted: Wanted) -> list[Path]:
    """Files beside the bytes of notes that hold it, such as one that a killed writer left."""
    found = []
    for path in _inside(ground, folder):
        plain = path.name == runs.RECORD or path.suffix in (".before", ".after")
        if not plain and wanted.found(_read(ground, path).decode("utf-8", "replace")):
            found.append(path)
    return found


def _clean_unreadable(ground: Ground, folder: Path, wanted: Wanted, *, change: bool) -> Erased | None:
    """A run that cannot be read cannot be undone either: one that holds it goes whole."""
    files = _inside(ground, folder)
    if not any(wanted.found(_read(ground, path).decode("utf-8", "replace")) for path in files):
        return None
    if change:
        runs.remove(ground.workspace, folder.name)
    return Erased("history", ground.shown(folder), count=len(files))


def _inside(ground: Ground, folder: Path) -> list[Path]:
    """The files of a run; what is a link is none of it."""
    files = ground.workspace.files
    with signed.translated(folder):
        names = files.names(folder) if files.is_folder(folder) else []
    return [folder / name for name in names if files.is_file(folder / name)]


def _read(ground: Ground, path: Path) -> bytes:
    with signed.translated(path):
        return ground.workspace.files.read(path)


def _put(ground: Ground, path: Path, data: bytes | None) -> None:
    """Exchange a file under the lock of notes, which the caller holds; None removes it."""
    with signed.translated(path):
        if data is None:
            ground.workspace.files.unlink(path)
        else:
            ground.workspace.files.exchange(path, data, alone=True)
