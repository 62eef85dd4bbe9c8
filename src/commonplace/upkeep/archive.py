"""The daily notes that a rollup moved to the archive folder, until their owner confirms that they may go."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable, PreviewOutdated
from commonplace.changes import runs, transaction
from commonplace.language import compare
from commonplace.markdown import comments, metadata, references
from commonplace.markdown.document import Document, decode, parse
from commonplace.types.changes import About, Change, Run
from commonplace.upkeep.rollup import ARCHIVE, NotRolledUp, original, own_notes, rolled_up
from commonplace.upkeep.schedule import due

if TYPE_CHECKING:
    from commonplace.changes.transaction import Read
    from commonplace.memory import Memory
    from commonplace.types import Note

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

    They are files below `archive/` that a rollup put there, by the history of changes or by the monthly note
    that points at them. Raises ConfigError for what is no month, NoteUnreadable.
    """
    if month and not metadata.month_of(f"{paths.MEMORY_FOLDER}/{month}.md"):
        raise ConfigError("month", f"{month!r} is no month; write it as 2026-01")
    transaction.recover(memory.workspace)
    written = _written(memory.workspace)
    found = []
    for own, digests in sorted(_present(memory, {*written, *_pointed_at(memory)}).items()):
        if month in ("", own):
            kept = {
                path: digest for path, digest in digests.items() if digest in written.get(path, (digest,))
            }
            changed = tuple(sorted(digests.keys() - kept.keys()))
            found.append(Originals(own, tuple(kept), changed, tuple(kept.values())))
    return found


def _present(memory: Memory, originals: Collection[str]) -> dict[str, dict[str, str]]:
    """The SHA-256 of those files that are there, by their paths in order, by the months of their days."""
    months: dict[str, dict[str, str]] = {}
    for path in sorted(originals):
        month = (metadata.date_of(path) or "")[:7]
        if month and (digest := runs.digest(_data(memory, path))):
            months.setdefault(month, {})[path] = digest
    return months


def _written(workspace: paths.Workspace) -> Mapping[str, set[str]]:
    """What rollups wrote below the archive folder, by path: SHA-256 of the bytes."""
    written: dict[str, set[str]] = {}
    for run in runs.listed(workspace):
        for file in run.files if run.about.kind == "rollup" and not run.undone else ():
            if file.path.startswith(f"{ARCHIVE}/") and not file.before:
                written.setdefault(file.path, set()).add(file.after)
    return written


def _pointed_at(memory: Memory) -> set[str]:
    """The files below the archive folder that monthly notes lead to."""
    pointed: set[str] = set()
    for path in own_notes(memory):
        month = metadata.month_of(path)
        if month and (data := _data(memory, path)):
            pointed |= set(_originals(memory, parse(decode(data), path), f"{ARCHIVE}/{month[:4]}/"))
    return pointed


def _originals(memory: Memory, note: Note, folder: str) -> Iterator[str]:
    """The files that the comments and the headings of days of a monthly note lead to."""
    for said in note.annotations.values():
        places = (references.parse_reference(reference).path for reference in comments.sources(said))
        yield from (place for place in places if place.startswith(folder))
    for heading in note.headings:
        place = original(heading.text[:10])
        said = note.annotations.get(heading.line, {})
        is_of_its_day = said.get("since") == heading.text[:10] and "from" not in said
        if heading.level == 1 and is_of_its_day and _holds(note, _data(memory, place)):
            yield place


def _holds(month: Note, data: bytes | None) -> bool:
    """Whether a month holds what a file says; nothing but its place says that it is an original."""
    lines = {line.strip() for line in month.lines}
    return bool(data) and {line.strip() for line in parse(decode(data or b""), "x.md").lines} - {""} <= lines


def _data(memory: Memory, path: str) -> bytes | None:
    with suppress(NoteUnreadable):
        return transaction.read(memory.workspace, path)
    return None


def confirm(memory: Memory, originals: Originals, *, now: datetime | None = None) -> Run | None:
    """Delete the originals of a month, and drop what refers to them; None where there is nothing.

    What stands in the monthly note keeps its day. The run can be undone as any other. Raises Running,
    PreviewOutdated where one of them was edited meanwhile, NotRolledUp where the monthly note lacks a line of
    one, FileChanged, NoteUnreadable, with nothing changed.
    """
    now = now or datetime.now().astimezone()
    gone = originals.paths

    def compose(read: Read) -> Sequence[Change]:
        edited = [
            path
            for path, digest in zip(gone, originals.digests, strict=True)
            if runs.digest(read(path)) != digest
        ]
        if edited:
            raise PreviewOutdated(edited)
        for path in gone:
            _check_held(originals.month, path, read)
        changes = [change for path in own_notes(memory) for change in _without(path, gone, read)]
        return [*changes, *(Change(path, read(path), None) for path in gone)]

    about = About("rollup", f"rollup {originals.month} confirmed", "the originals of a month are deleted")
    with due.held(memory.workspace):
        run = transaction.rewrite(memory.workspace, compose, about, now=now, settings=memory.settings.history)
    transaction.drop_empty_folders(memory.workspace, gone)
    return run


def _check_held(month: str, path: str, read: Read) -> None:
    """See that the monthly note says all that an original does, struck or not. Raises NotRolledUp."""
    place = f"{paths.MEMORY_FOLDER}/{month}.md"
    held = set(map(_wording, decode(read(place) or b"").split("\n")))
    for line in rolled_up(path, decode(read(path) or b"")):
        if (words := _wording(line)) and words not in held:
            shown = paths.shown(" ".join(line.split())[:_SHOWN])
            raise NotRolledUp(month, f"{place} lacks a line of {path} ({shown}); put it back")


def _wording(line: str) -> tuple[str, ...]:
    return compare.read(comments.without(line).replace("~~", "")).tokens


def _without(path: str, gone: Sequence[str], read: Read) -> list[Change]:
    """How a note changes that refers to what is deleted."""
    before = read(path) or b""
    with suppress(NoteUnreadable):
        text = Document.read(before, path).checked().text
        after = text
        for original in gone:
            if original.rpartition("/")[2] in after:
                after = references.shifted(after, {original: lambda _: None})
        if after != text:
            return [Change(path, before, Document.read(before).with_text(after).data)]
    return []
