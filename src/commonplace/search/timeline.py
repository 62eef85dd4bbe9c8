"""What surrounds a moment: passages of dated notes in the order of their days, files and lines."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import islice

from commonplace.base.errors import NoteNotFound
from commonplace.base.messages import message
from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.index import facts
from commonplace.index.base import ALL, DOCID, Candidate, Has, Index, Key, NoteRow, Scope
from commonplace.index.store import Store
from commonplace.language import dates
from commonplace.language.dates import Span
from commonplace.markdown.references import Reference, lines, parse_reference
from commonplace.search import candidates, coming, ranking, references
from commonplace.types import Moment, Timeline
from commonplace.types.results import NO_NOTE_OF

NEITHER = message(
    "timeline.neither",
    "no such note, and no day that is understood (2026-02-13, yesterday, last Tuesday, 上周三)",
)
MOST_ANCHORS = 50  # passages of a day or a whole note that are shown as the anchor


def around(store: Store, anchor: str, before: int, after: int, now: date | None = None) -> Timeline:
    """Return what surrounds a reference as `get` takes it, or a day or longer time in any words for it.

    So many passages before and after. Raises NoteNotFound where nothing has a date, for a note without one,
    for one that is not indexed and for lines that it does not have.
    """
    stale, index = store.freshen(), store.index
    today = now or date.today()
    if (span := _span(store, anchor, today)) is None:
        try:
            reference = parse_reference(anchor)
            key = references.key_of(store, references.find(store, reference)[0])
        except NoteNotFound as error:
            raise NoteNotFound(error.path, error.suggestions, NEITHER) from error
    with index.transaction(write=False):  # other processes replace passages meanwhile
        if span is not None:
            anchor = span.written
            notes = _in_order(index, anchor)
            days = [str(note.date) for note in notes]
            first = bisect_left(days, span.first.isoformat())
            last = bisect_right(days, span.last.isoformat())
            own = [moment for note in notes[first:last] for moment in _moments(index, note, today)]
            if span.last > today or not own:
                own += _naming(index, coming.naming(index, ALL, [span]), today)
            parts: _Parts = (), own, ()
            warning = message("search.no_note_of", NO_NOTE_OF, day=anchor)
        else:
            notes = _in_order(index, references.shown(*key))
            first = _place(index, notes, key, reference)
            last, parts = (
                first + 1,
                _parted(list(_moments(index, notes[first], today)), notes[first], reference),
            )
            warning = message("timeline.headings", "nothing but headings stands in {place}", place=anchor)
        earlier, own_part, later = parts
        # Passages of the anchor's own notes come first, then those of the notes further away.
        further = (
            one for note in reversed(notes[:first]) for one in reversed(list(_moments(index, note, today)))
        )
        behind = [*reversed(earlier)][:before]
        behind += islice(further, before - len(behind))
        own_part, more = own_part[:MOST_ANCHORS], own_part[MOST_ANCHORS:]
        ahead = [*more, *later][:after]
        ahead += islice(
            (one for note in notes[last:] for one in _moments(index, note, today)), after - len(ahead)
        )
    anchors = (replace(one, is_anchor=True) for one in own_part)
    warnings = () if own_part else (warning,)
    return Timeline(anchor, (*reversed(behind), *anchors, *ahead), stale, warnings)


def days(store: Store) -> dict[str, int]:
    """Count the passages of each day, the last day first: of dated notes, and of days that entries name."""
    store.freshen()
    counts = Counter[str]()
    with store.index.transaction(write=False):
        for of_note in facts.days(store.index).values():
            counts.update(of_note)
    return {day: counts[day] for day in sorted(counts, reverse=True)}


_Parts = tuple[Sequence[Moment], Sequence[Moment], Sequence[Moment]]


def _span(store: Store, anchor: str, today: date) -> Span | None:
    """The time that an anchor is as seen from `today`, or None; a note of that name goes before it."""
    span = dates.read(anchor, today)
    if span is None or os.path.lexists(os.path.join(store.sources[0].root, span.text)):
        return None
    return span


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


def _place(index: Index, notes: Sequence[NoteRow], key: Key, reference: Reference) -> int:
    """Which of the notes in order a reference names: of several days of one the first with its lines."""
    own = [at for at, note in enumerate(notes) if (note.collection, note.path) == key]
    if not own:
        undated = "has no date, so nothing stands before or after it"
        indexed = index.notes(keys=[key])
        raise NoteNotFound(references.shown(*key), reason=undated if indexed else "is not indexed")
    lines(references.shown(*key), reference, notes[own[0]].lines)
    first, last = reference.first, reference.end
    for at in own:
        rows, _ = _rows(index, notes[at])
        if any(row.start_line <= last and row.end_line >= first for row in rows):
            return at
    return own[0]


def _parted(moments: Sequence[Moment], note: NoteRow, reference: Reference) -> _Parts:
    """What stands before, in and behind the lines of a reference.

    A line without its end stands for itself, the first one for the whole note.
    """
    last = reference.last or (reference.first if reference.first > 1 else note.lines)
    start = next((n for n, one in enumerate(moments) if one.end_line >= reference.first), len(moments) - 1)
    end = next((n for n, one in enumerate(moments) if one.start_line > last), len(moments))
    start, end = max(0, start), max(start + 1, end)
    return moments[:start], moments[start:end], moments[end:]


def _moments(index: Index, note: NoteRow, today: date) -> Iterator[Moment]:
    """The passages of a note that say something: no front matter, no headings alone."""
    path = references.shown(note.collection, note.path)
    rows, headings = _rows(index, note)
    for row in rows:
        if candidates.tells(row):
            yield Moment(
                path,
                row.start_line,
                row.end_line,
                str(note.date),
                headings[row.id],
                row.text,
                note.hash[:DOCID],
                labels=ranking.labels(ranking.said(row), lambda: today),
            )


def _naming(index: Index, naming: Mapping[int, Span], today: date) -> Iterator[Moment]:
    """The passages of other days that name some days, in the order of what they name."""
    for row in sorted(index.passages(naming), key=lambda row: (naming[row.id].last, row.id)):
        source = row.source
        yield Moment(
            references.shown(source.collection, source.path),
            row.start_line,
            row.end_line,
            source.date or "",
            source.headings,
            row.text,
            source.docid,
            labels=(*ranking.labels(ranking.said(row), lambda: today), f"names {naming[row.id].written}"),
        )


def _rows(index: Index, note: NoteRow) -> tuple[list[Candidate], dict[int, tuple[str, ...]]]:
    """What stands in a file of its `date`, in order, and the headings above each."""
    ids = range(note.first_passage, note.last_passage + 1)
    sources = index.sources(ids)
    rows = [row for row in index.passages(ids) if row.until is None and sources[row.id].date == note.date]
    rows.sort(key=lambda row: (row.start_line, row.id))
    return rows, {row.id: sources[row.id].headings for row in rows}
