"""What surrounds a moment: passages of dated notes in the order of their days, files and lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from commonplace.base.errors import NoteNotFound
from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.index.base import DOCID, Has, Index, Key, NoteRow, Scope
from commonplace.index.store import Store
from commonplace.markdown.references import Reference, parse_reference
from commonplace.markdown.structure import atx
from commonplace.search import references
from commonplace.types import Moment, Timeline

MOST_ANCHORS = 50  # passages of a day or a whole note that are shown as the anchor
_DAY = r"\d{4}-\d{2}-\d{2}"


def around(store: Store, anchor: str, before: int, after: int) -> Timeline:
    """Return what surrounds a day or a reference as `get` takes it. Raises NoteNotFound."""
    stale, index = store.freshen(), store.index
    if wanted_day := day(anchor.strip()):
        return Timeline(wanted_day, tuple(around_day(index, wanted_day, before, after)), stale)
    wanted = parse_reference(anchor)
    key = references.key_of(store, references.find(store, wanted)[0])
    return Timeline(anchor, tuple(around_note(index, key, wanted, before, after)), stale)


def day(text: str) -> str | None:
    """Return the day that a text is, or None."""
    try:
        return date.fromisoformat(text).isoformat() if re.fullmatch(_DAY, text) else None
    except ValueError:
        return None


def around_day(index: Index, wanted: str, before: int, after: int) -> list[Moment]:
    """Return what was written down for a day, and so many passages before and after it.

    Raises NoteNotFound where no note has a date.
    """
    notes = _in_order(index, wanted)
    first = next((place for place, note in enumerate(notes) if str(note.date) >= wanted), len(notes))
    last = next((place for place, note in enumerate(notes) if str(note.date) > wanted), len(notes))
    own = _moments(index, notes[first:last])
    return _surrounded(index, notes, (first, last), [], list(own), [], before, after)


def around_note(index: Index, key: Key, wanted: Reference, before: int, after: int) -> list[Moment]:
    """Return the passages of a note that hold the wanted lines, and so many before and after them.

    A line without its end stands for itself, the first one for the whole note. Raises NoteNotFound for a
    note without a date and for one that is not indexed.
    """
    shown = references.shown(*key)
    notes = _in_order(index, shown)
    own = [place for place, note in enumerate(notes) if (note.collection, note.path) == key]
    place = next((place for place in own if _holds(index, notes[place], wanted)), own[0] if own else None)
    if place is None:
        undated = "has no date, so nothing stands before or after it"
        raise NoteNotFound(shown, reason=undated if index.notes(keys=[key]) else "is not indexed")
    passages = list(_moments(index, [notes[place]]))
    last = wanted.last or (wanted.first if wanted.first > 1 else notes[place].lines)
    start = next((n for n, one in enumerate(passages) if one.end_line >= wanted.first), len(passages) - 1)
    end = next((n for n, one in enumerate(passages) if one.start_line > last), len(passages))
    start, end = max(0, start), max(start + 1, end)
    parts = passages[:start], passages[start:end], passages[end:]
    return _surrounded(index, notes, (place, place + 1), *parts, before, after)


def _holds(index: Index, note: NoteRow, wanted: Reference) -> bool:
    """Whether some of the wanted lines are of the day of a note."""
    last = wanted.last or wanted.first
    return any(start <= last and end >= wanted.first for start, end, *_ in _passages(index, note))


def _in_order(index: Index, asked: str) -> list[NoteRow]:
    """Dated notes by day, once for each day that entries in them say; of a day the workspace's own first."""
    every = {(note.collection, note.path): note for note in index.notes()}
    notes = [note for note in every.values() if note.date]
    dated = index.sources(index.select(Scope((Has("day"),)))).values()
    days = {(source.collection, source.path, source.date) for source in dated}
    notes += [
        every[collection, path]._replace(date=day)
        for collection, path, day in days
        if day != every[collection, path].date
    ]
    notes.sort(key=lambda n: (n.date, n.collection != WORKSPACE, n.collection, n.path))
    if not notes:
        raise NoteNotFound(asked, reason="no note has a date, so there is no order in time")
    return notes


def _surrounded(
    index: Index,
    notes: Sequence[NoteRow],
    range_: tuple[int, int],
    earlier: Sequence[Moment],
    own: Sequence[Moment],
    later: Sequence[Moment],
    before: int,
    after: int,
) -> list[Moment]:
    """Passages around the anchor: those of its own notes first, then those of the notes further away."""
    behind = list(reversed(earlier))[:before]
    behind += islice(_backwards(index, reversed(notes[: range_[0]])), before - len(behind))
    ahead = list(later)[:after]
    ahead += islice(_moments(index, notes[range_[1] :]), after - len(ahead))
    anchors = [replace(one, is_anchor=True) for one in own[:MOST_ANCHORS]]
    return [*reversed(behind), *anchors, *ahead]


def _backwards(index: Index, notes: Iterable[NoteRow]) -> Iterator[Moment]:
    for note in notes:
        yield from reversed(list(_moments(index, [note])))


def _moments(index: Index, notes: Iterable[NoteRow]) -> Iterator[Moment]:
    """The passages of notes that say something, read a note at a time."""
    for note in notes:
        path = references.shown(note.collection, note.path)
        for start, end, text, headings in _passages(index, note):
            if not _is_structure(text, start):
                yield Moment(path, start, end, str(note.date), headings, text, note.hash[:DOCID])


def _passages(index: Index, note: NoteRow) -> list[tuple[int, int, str, tuple[str, ...]]]:
    """First and last line, text and headings of what stands in a file of its `date`, in order."""
    ids = range(note.first_passage, note.last_passage + 1)
    sources = index.sources(ids)
    rows = [row for row in index.passages(ids) if row.until is None and sources[row.id].date == note.date]
    rows.sort(key=lambda row: (row.start_line, row.id))
    return [(row.start_line, row.end_line, row.text, sources[row.id].headings) for row in rows]


def _is_structure(text: str, start: int) -> bool:
    """Whether a passage is front matter, or headings alone."""
    lines = [line for line in text.split("\n") if line.strip()]
    return (start == 1 and lines[:1] == ["---"]) or all(atx(line) is not None for line in lines)
