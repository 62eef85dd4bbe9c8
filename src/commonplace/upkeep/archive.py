"""The daily notes that a rollup moved to the archive folder, until their owner confirms that they may go."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable, PreviewOutdated
from commonplace.markdown import metadata
from commonplace.markdown.document import decode
from commonplace.storage import journal, transaction
from commonplace.types.changes import About, Change, Run
from commonplace.upkeep.rollup import ARCHIVE, NotRolledUp, said_in, wording_of
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.storage.transaction import Read

_SHOWN = 80  # characters of a line that is missing


@dataclass(frozen=True, slots=True)
class Originals:
    """The originals of a month that are still there; `changed` are those that somebody has edited since.

    `digests` are the SHA-256 of the bytes of `paths`.
    """

    month: str
    paths: tuple[str, ...]
    changed: tuple[str, ...] = ()
    digests: tuple[str, ...] = ()


def found(memory: Memory, month: str = "") -> list[Originals]:
    """Return the originals of a month (YYYY-MM), or of all months, oldest first.

    They are files below `archive/` that a rollup put there by the history of changes, or whose lines the
    note of their month holds. Raises ConfigError for a malformed month, NoteUnreadable.
    """
    if month and not metadata.month_of(f"{paths.MEMORY_FOLDER}/{month}.md"):
        raise ConfigError("month", f"{month!r} is no month; write it as 2026-01")
    transaction.recover(memory.workspace)
    written = _written(memory.workspace)
    months: dict[str, dict[str, str]] = {}
    edited: dict[str, list[str]] = {}
    for path in sorted(_files(memory.workspace)):
        own, data = (metadata.date_of(path) or "")[:7], _data(memory, path)
        if data is None or month not in ("", own) or not (path in written or _holds(memory, own, path, data)):
            continue
        kept, digest = months.setdefault(own, {}), journal.digest(data)
        if digest in written.get(path, (digest,)):
            kept[path] = digest
        else:
            edited.setdefault(own, []).append(path)
    return [
        Originals(own, tuple(kept), tuple(edited.get(own, ())), tuple(kept.values()))
        for own, kept in sorted(months.items())
    ]


def _files(workspace: paths.Workspace) -> Iterator[str]:
    """Yield the files below the archive folder whose names have a day."""
    waiting = [ARCHIVE]
    while waiting:
        path = waiting.pop()
        if workspace.files.is_folder(path):
            waiting += [f"{path}/{name}" for name in workspace.files.names(path)]
        elif metadata.date_of(path) and path.endswith(".md"):
            yield path


def _written(workspace: paths.Workspace) -> Mapping[str, set[str]]:
    """Return what rollups wrote below the archive folder, by path: SHA-256 of the bytes."""
    written: dict[str, set[str]] = {}
    for run in journal.listed(workspace):
        for file in run.files if run.about.kind == "rollup" and not run.undone else ():
            if file.path.startswith(f"{ARCHIVE}/") and not file.before:
                written.setdefault(file.path, set()).add(file.after)
    return written


def _holds(memory: Memory, month: str, path: str, data: bytes) -> bool:
    """Tell whether the note of a month holds what a file says, if it says anything."""
    held = _data(memory, f"{paths.MEMORY_FOLDER}/{month}.md")
    return bool(data.strip()) and held is not None and not _missing(held, path, data)


def _data(memory: Memory, path: str) -> bytes | None:
    with suppress(NoteUnreadable):
        return transaction.read(memory.workspace, path)
    return None


def confirm(memory: Memory, originals: Originals, *, now: datetime | None = None) -> Run | None:
    """Delete the originals of a month; return the run, None without originals.

    The run can be undone. Raises Running, PreviewOutdated if an original was edited meanwhile, NotRolledUp if
    the monthly note lacks a line of an original, FileChanged, NoteUnreadable; then no file is changed.
    """
    now = now or datetime.now().astimezone()
    gone = originals.paths

    def compose(read: Read) -> Sequence[Change]:
        edited = [
            path
            for path, digest in zip(gone, originals.digests, strict=True)
            if journal.digest(read(path)) != digest
        ]
        if edited:
            raise PreviewOutdated(edited)
        for path in gone:
            place = f"{paths.MEMORY_FOLDER}/{originals.month}.md"
            if line := _missing(read(place) or b"", path, read(path) or b""):
                lacks = f"{place} lacks a line of {path} ({paths.shown(line)}); put it back"
                raise NotRolledUp(originals.month, lacks)
        return [Change(path, read(path), None) for path in gone]

    about = About("rollup", f"rollup {originals.month} confirmed", "the originals of a month are deleted")
    with due.held(memory.workspace):
        run = transaction.rewrite(memory.workspace, compose, about, now=now, settings=memory.settings.history)
    transaction.drop_empty_folders(memory.workspace, gone)
    return run


def _missing(month: bytes, path: str, data: bytes) -> str:
    """Return the first line of an original that a month does not hold, struck or not; empty if it has all."""
    held = set(map(wording_of, decode(month).split("\n")))
    for line in said_in(path, decode(data)):
        if (words := wording_of(line)) and words not in held:
            return " ".join(line.split())[:_SHOWN]
    return ""
