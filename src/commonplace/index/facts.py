"""Front matter, annotations and references of all notes in an index."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from commonplace.base.errors import IndexUnavailable, NoteNotFound
from commonplace.base.tuples import NamedTuple
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index.base import Has, In, Index, Key, Lines, Scope

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

_LAST_LINE = 1 << 40


class NoteFacts(NamedTuple):
    """A note with its front matter."""

    id: int
    collection: str
    path: str
    metadata: dict[str, Any]


class LinkTarget(NamedTuple):
    """A note that another names, and the lines of it, if it names some (1-based, inclusive)."""

    note_id: int
    first: int = 1
    last: int | None = None

    def holds(self, note_id: int, start_line: int, end_line: int) -> bool:
        """Tell if a passage touches this place."""
        return self.note_id == note_id and end_line >= self.first and start_line <= (self.last or end_line)

    @property
    def lines(self) -> Lines:
        """The passages of this place."""
        return Lines(self.note_id, self.first, self.last or _LAST_LINE)


def annotated(index: Index, key: str) -> Sequence[tuple[int, str]]:
    """Every passage that says something of a key, and all that it says (JSON); see `markdown.comments`."""
    ids = index.select(Scope((Has(key),)), struck=True)
    return [(row.id, row.annotations or "{}") for row in index.passages(ids)] if ids else ()


def days(index: Index) -> dict[Key, dict[str, int]]:
    """Count the passages of each note by their days (ISO): its own, and those that entries in it name."""
    notes = {(note.collection, note.path): note for note in index.notes()}
    counts: dict[Key, dict[str, int]] = {
        key: {note.date: note.last_passage - note.first_passage + 1} if note.date else {}
        for key, note in notes.items()
    }
    for row in index.passages(index.select(Scope((Has("day"),)))):
        key = row.source.collection, row.source.path
        own, day = notes[key].date, str(row.source.date)
        if own:
            counts[key][own] -= 1
        counts[key][day] = counts[key].get(day, 0) + 1
    return {
        key: {day: of_day[day] for day in sorted(of_day) if of_day[day] > 0} for key, of_day in counts.items()
    }


def within(index: Index, passages: Iterable[int], scope: Scope) -> set[int]:
    """Which of these passages a question covers."""
    if not scope.conditions:
        return set(passages)
    return set(index.select(scope & In("passage", frozenset(passages)), struck=True))


def places(index: Index, references: Iterable[str]) -> Mapping[str, Sequence[LinkTarget]]:
    """Where references lead: `#docid`, or a path as hits show it, with lines or without."""
    from commonplace.markdown.references import parse_reference

    found: dict[str, Sequence[LinkTarget]] = {}
    for text in references:
        try:
            wanted = parse_reference(text)
        except NoteNotFound:
            continue
        if wanted.docid:
            notes = index.notes(docids=[wanted.docid])
        else:
            collection, _, rest = wanted.path.partition("/")
            notes = index.notes(keys=[(WORKSPACE_COLLECTION, wanted.path), (collection, rest)])
        found[text] = [LinkTarget(note.id, wanted.first, wanted.last) for note in notes]
    return found


def keys(index: Index) -> frozenset[str]:
    """Return the keys of all front matter, in lower case, and those of annotations."""
    from commonplace.markdown.comments import FILTERS  # few questions ask

    found = frozenset(key for fact in facts(index) for key in fact.metadata)
    known = {said for said in set(FILTERS.values()) if index.select(Scope((Has(said),)), 1, struck=True)}
    return found | {key for key, said in FILTERS.items() if said in known}


def facts(index: Index) -> Iterator[NoteFacts]:
    """Every note with its front matter, whose keys are in lower case."""
    for note in index.notes():
        try:
            loaded = dict(json.loads(note.metadata)) if note.metadata else {}
        except (ValueError, TypeError) as error:  # we did not write it
            raise IndexUnavailable(index.path, "damaged") from error
        metadata = {key.lower(): value for key, value in loaded.items()}
        yield NoteFacts(note.id, note.collection, note.path, metadata)
