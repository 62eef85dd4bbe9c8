"""The passages around a moment: of dated notes, in the order of their days, files and lines."""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date
from itertools import chain, islice
from operator import attrgetter

from commonplace.base.errors import NoteNotFound
from commonplace.base.messages import message
from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.index import facts
from commonplace.index.base import ALL, Candidate, Has, Index, Key, NoteRow, Scope
from commonplace.index.store import Store
from commonplace.language import dates
from commonplace.language.dates import Span
from commonplace.markdown.references import Reference, lines, parse_reference
from commonplace.search import coming, ranking, references
from commonplace.types import Moment, Timeline
from commonplace.types.results import NO_NOTE_OF

NEITHER = message(
    "timeline.neither",
    "no such note, and no day that is understood (2026-02-13, yesterday, last Tuesday, 上周三)",
)
MOST_ANCHORS = 50  # passages of a day or a whole note that are shown as the anchor


def around(store: Store, anchor: str, before: int, after: int, now: date | None = None) -> Timeline:
    """Return what surrounds a reference as `get` takes it, or a day or longer time in any words for it.

    So many passages before and after. Raises NoteNotFound if no note has a date, for a note without one,
    for one that is not indexed and for lines that it does not have.
    """
    stale, index, today = store.freshen(), store.index, now or date.today()
    if (span := _span(store, anchor, today)) is None:
        try:
            reference = parse_reference(anchor)
            key = references.key_of(store, references.find(store, reference)[0])
        except NoteNotFound as error:
            raise NoteNotFound(error.path, error.suggestions, NEITHER) from error
    with index.transaction(write=False):  # other processes replace passages meanwhile
        if span is None:
            notes = _in_order(index, references.shown(*key))
            first = _place(index, notes, key, reference, today)
            last = first + 1
            # A line without its end stands for itself, the first one for the whole note.
            end = reference.last or (reference.first if reference.first > 1 else notes[first].lines)
            every = _moments(index, notes[first], today)
            start = next(
                (n for n, one in enumerate(every) if one.end_line >= reference.first), len(every) - 1
            )
            stop = next((n for n, one in enumerate(every) if one.start_line > end), len(every))
            start, stop = max(0, start), max(start + 1, stop)
            earlier, own, later = every[:start], every[start:stop], every[stop:]
            warning = message("timeline.headings", "nothing but headings stands in {place}", place=anchor)
        else:
            anchor, earlier, later = span.written, [], []
            notes = _in_order(index, anchor)
            first = bisect_left(notes, span.first.isoformat(), key=attrgetter("date"))
            last = bisect_right(notes, span.last.isoformat(), key=attrgetter("date"))
            own = [*_all(index, notes[first:last], today)]
            own += _naming(index, span, today) if span.last > today or not own else []
            warning = message("search.no_note_of", NO_NOTE_OF, day=anchor)
        # Passages of the anchor's own notes come first, then those of the notes further away.
        own, more = own[:MOST_ANCHORS], own[MOST_ANCHORS:]
        further = (reversed(_moments(index, note, today)) for note in reversed(notes[:first]))
        behind = [*islice(chain(reversed(earlier), chain.from_iterable(further)), before)]
        ahead = [*islice(chain(more, later, _all(index, notes[last:], today)), after)]
    moments = (*reversed(behind), *(replace(one, is_anchor=True) for one in own), *ahead)
    return Timeline(anchor, moments, stale, () if own else (warning,))


def days(store: Store) -> dict[str, int]:
    """Count the passages of each day, the last day first: of dated notes, and of days that entries name."""
    store.freshen()
    counts = Counter[str]()
    with store.index.transaction(write=False):
        for of_note in facts.days(store.index).values():
            counts.update(of_note)
    return {day: counts[day] for day in sorted(counts, reverse=True)}


def _span(store: Store, anchor: str, today: date) -> Span | None:
    """The time that an anchor is as seen from `today`, or None; a note of that name goes before it."""
    span = dates.read(anchor, today)
    is_note = span and os.path.lexists(os.path.join(store.sources[0].root, span.text))
    return None if is_note else span


def _in_order(index: Index, asked: str) -> list[NoteRow]:
    """Dated notes by day, once for each day that entries in them say; of a day the workspace's own first."""
    every = {(note.collection, note.path): note for note in index.notes()}
    days = {(*key, str(note.date)) for key, note in every.items() if note.date}
    dated = [row.source for row in index.passages(index.select(Scope((Has("day"),))))]
    days |= {(source.collection, source.path, str(source.date)) for source in dated}
    notes = [every[collection, path]._replace(date=day) for collection, path, day in days]
    notes.sort(key=lambda n: (n.date, n.collection != WORKSPACE, n.collection, n.path))
    if not notes:
        raise NoteNotFound(asked, reason="no note has a date, so there is no order in time")
    return notes


def _place(index: Index, notes: Sequence[NoteRow], key: Key, reference: Reference, today: date) -> int:
    """Which of the notes in order a reference names: of several days of one the first with its lines."""
    own = [at for at, note in enumerate(notes) if (note.collection, note.path) == key]
    if not own:
        undated = "has no date, so nothing stands before or after it"
        indexed = index.notes(keys=[key])
        raise NoteNotFound(references.shown(*key), reason=undated if indexed else "is not indexed")
    lines(references.shown(*key), reference, notes[own[0]].lines)
    first, last = reference.first, reference.end
    for at in own if len(own) > 1 else ():
        moments = _moments(index, notes[at], today)
        if any(one.start_line <= last and one.end_line >= first for one in moments):
            return at
    return own[0]


def _all(index: Index, notes: Iterable[NoteRow], today: date) -> Iterable[Moment]:
    return chain.from_iterable(_moments(index, note, today) for note in notes)


def _moments(index: Index, note: NoteRow, today: date) -> list[Moment]:
    """The passages of a note on its `date`, in order: no front matter, no headings alone."""
    rows = index.passages(range(note.first_passage, note.last_passage + 1))
    rows.sort(key=lambda row: (row.start_line, row.id))
    standing = (row for row in rows if row.until is None and row.source.date == note.date)
    return [_moment(row, today) for row in standing if not ranking.role_of(row)]


def _naming(index: Index, span: Span, today: date) -> list[Moment]:
    """The passages of other days that name some days, in the order of what they name."""
    naming = coming.naming(index, ALL, [span])
    rows = sorted(index.passages(naming), key=lambda row: (naming[row.id].last, row.id))
    return [_moment(row, today, f"names {naming[row.id].written}") for row in rows]


def _moment(row: Candidate, today: date, *labels: str) -> Moment:
    source = row.source
    return Moment(
        references.shown(source.collection, source.path), row.start_line, row.end_line, source.date or "",
        source.headings, row.text, source.docid,
        labels=(*ranking.labels(ranking.said(row), lambda: today), *labels),
    )  # fmt: skip
