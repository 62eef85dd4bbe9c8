"""The notes one by one: listed, chosen by folder or glob, read several at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.index.base import DOCID, Index
from commonplace.notes.scan import Globs
from commonplace.search import references as places
from commonplace.types import Excerpt, FileFailure, Gathered, NoteInfo

_WILD = frozenset("*?[")


def notes(index: Index) -> list[NoteInfo]:
    """Return every indexed note, in the order of their paths as they are shown."""
    found = [
        NoteInfo(
            places.shown(row.collection, row.path),
            row.collection,
            row.title,
            row.date,
            row.size,
            row.lines,
            row.hash[:DOCID],
        )
        for row in index.notes()
    ]
    return sorted(found, key=lambda note: note.path)


def below(found: Iterable[NoteInfo], under: str) -> Iterator[NoteInfo]:
    """Keep the notes of a collection, below a folder, of a path, or that a glob matches; empty: all."""
    under = under.strip().removeprefix("./").rstrip("/")
    matches = Globs([under]) if is_glob(under) else None
    for note in found:
        inside = note.path == under or note.path.startswith(f"{under}/") or note.collection == under
        if not under or under == "." or (matches(note.path) if matches else inside):
            yield note


def is_glob(text: str) -> bool:
    """Tell whether a reference is a glob."""
    return not _WILD.isdisjoint(text)


def expand(references: Iterable[str], known: Sequence[NoteInfo]) -> list[str]:
    """Take lists with commas apart, and put the notes that a glob matches in its place.

    A glob that matches none stays as it is, to be told.
    """
    named = {note.path for note in known}
    wanted: list[str] = []
    parts = [[one] if one in named else one.split(",") for one in references]
    for reference in (part.strip() for one in parts for part in one if part.strip()):
        glob = is_glob(reference) and reference not in named
        found = [note.path for note in below(known, reference)] if glob else []
        wanted += found or [reference]
    return list(dict.fromkeys(wanted))


def gather(references: Iterable[str], get: Callable[[str], Excerpt], max_bytes: int | None) -> Gathered:
    """Read references one by one; what fails or does not fit any more is named, and the rest goes on."""
    excerpts: list[Excerpt] = []
    left_out: list[FileFailure] = []
    unfit: set[str] = set()
    room = max_bytes
    for reference in references:
        try:
            excerpt = get(reference)
        except CommonplaceError as error:
            left_out.append(FileFailure(paths.shown(reference), str(error)))
            continue
        size = sum(len(line.encode("utf-8", "replace")) + 1 for line in excerpt.lines)
        if room is not None and size > room:
            unfit.add(reference)
            left_out.append(
                FileFailure(reference, f"{size:,} bytes, of {max_bytes:,} there is room for {room:,}")
            )
            continue
        room = None if room is None else room - size
        excerpts.append(excerpt)
    return Gathered(tuple(excerpts), tuple(left_out), frozenset(unfit))
