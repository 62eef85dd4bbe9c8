"""Notes cut into pieces for a prompt: facts of long-term memory, entries of a day, open matters.

A piece is a hit without a question: cited lines with what a reader must know of them. What is tentative or no
longer holds is left out, as a recall leaves it out; what is struck is in no piece.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import groupby, pairwise
from pathlib import Path

from commonplace.agent.pieces import Piece, newness_of
from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, NoteUnreadable
from commonplace.base.expressions import lazy
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.language import dates
from commonplace.markdown import statements, struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import decode, parse
from commonplace.markdown.metadata import kind_of
from commonplace.markdown.structure import ITEM
from commonplace.memory import Memory, sources
from commonplace.notes.scan import Globs
from commonplace.search import ranking
from commonplace.search.pack import OUTDATED
from commonplace.types import Hit, Note, Section
from commonplace.upkeep.labels import DASH, OPEN_LABELS

LONG_ENTRY = 8  # lines
# A task that is not done, or the line of a summary with what is open.
_OPEN_MATTER = lazy(rf"\s*[-*+]\s+(?:(?:\d\d:\d\d\s+)?\[ \]\s+\S|(?:{'|'.join(OPEN_LABELS)}){DASH})")


def read(memory: Memory, path: str) -> Note:
    """Read a file of the workspace as it may be shown: private parts blanked, secrets redacted.

    Raises NoteNotFound, OutsideRoots for a link that leaves the workspace or leads to a
    hidden file, NoteUnreadable.
    """
    own = next(source for source in sources(memory) if source.name == WORKSPACE_COLLECTION)
    if own.ignore and Globs(own.ignore)(path):
        raise NoteNotFound(path, reason="left out by index.ignore")
    roots = [memory.workspace.root]
    return parse(decode(paths.read_contained(Path(path), roots)), path)


def daily_notes(memory: Memory, day: date) -> list[str]:
    """The paths of the notes of a day in `memory/`, also those with words behind the day.

    Raises NoteUnreadable for a folder that cannot be listed.
    """
    folder = memory.workspace.memory_dir
    try:
        names = sorted(os.listdir(folder))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error
    names_of_day = (f"{folder.name}/{name}" for name in names if name.startswith(day.isoformat()))
    return [path for path in names_of_day if kind_of(path) == "daily"]


def of_facts(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """Return a piece an entry of long-term memory, newest first, but pinned ones before all.

    An entry is as new as it says that it was written, else as the newest day up to today that it names, else
    as the newest entry above it in its section, which counts from the day of its heading. A month, a quarter
    or a year (`founded in 2026`) does not count as a day.
    """

    def newest_day(numbers: Iterable[int]) -> str:
        lines = (reader.lines[number - 1] for number in numbers)
        dated = (line for line in lines if any(character.isdigit() for character in line))
        spans = (span for line in dated for span in dates.spans(line, today) if not span.relative)
        days = (span.first for span in spans if span.names_a_day and span.first <= today)
        return max(days, default=date.min).isoformat()

    reader = _NoteReader(note, today, tentative)
    pieces: list[Piece] = []
    for section in structure.sections(note):
        body = reader.body(section)
        whole = newest_day(range(section.start_line, section.end_line + 1))
        newest = newest_day(structure.heading_lines(note, section))
        for entry in _parts(note, _entries(note, body)):
            said = reader.said(entry)
            own = max(newest_day(entry), said.get("at", "")[:10])
            newest = max(newest, own)
            when = own if own > date.min.isoformat() else newest
            pinned = "9999" if "pinned" in said else ""
            pieces += reader.pieces(section, entry, (pinned or when, whole, entry[0]))
    return sorted(pieces, key=newness_of, reverse=True)


def of_entries(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece an entry (a list item with what is indented below it, a paragraph), newest first.

    An entry is as new as the hour it begins with, or as the last one above it; of entries of one hour the
    later one is newer.
    """
    reader = _NoteReader(note, today, tentative)
    pieces: list[Piece] = []
    hour = ""
    for section in structure.sections(note):
        for entry in _entries(note, reader.body(section)):
            hour = statements.leading_time(note.lines[entry[0] - 1])[0] or hour
            pieces += reader.pieces(section, entry, (note.date or "", hour, entry[0]))
    return sorted(pieces, key=newness_of, reverse=True)


def of_open_matters(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece a task that is not done, or what a summary of a session names as open, newest first."""
    reader = _NoteReader(note, today, tentative)
    pieces: list[Piece] = []
    for section in structure.sections(note):
        for number in reader.body(section):
            if _OPEN_MATTER.match(note.lines[number - 1]):
                pieces += reader.pieces(section, [number], (note.date or "", "", number))
    return sorted(pieces, key=newness_of, reverse=True)


class _NoteReader:
    """Makes pieces of one note."""

    def __init__(self, note: Note, today: date, tentative: bool) -> None:
        self._note = struck.rest(note, struck.of_note(note))
        self._annotations, self._today = Annotations(note), today
        self._hidden = OUTDATED if tentative else OUTDATED | {"tentative"}

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the note, without what is struck in them."""
        return self._note.lines

    def body(self, section: Section) -> list[int]:
        """Return the numbers of a section's lines below its heading; empty for front matter."""
        if self._note.front_matter and section.start_line == 1:
            return []
        headings = structure.heading_lines(self._note, section)
        return [n for n in range(section.start_line, section.end_line + 1) if n not in headings]

    def said(self, lines: Sequence[int]) -> Mapping[str, str]:
        """Return the annotations of some lines."""
        return self._annotations.of(lines[0], lines[-1]) or {}

    def pieces(
        self, section: Section, lines: Sequence[int], newness: tuple[str, str, int]
    ) -> Iterator[Piece]:
        """Yield the visible ones of some lines as one piece, and a piece for each run of hidden ones."""
        note = self._note
        shown: list[Hit] = []
        # Blank lines belong to what is above them.
        for labels, run in groupby((n for n in lines if note.lines[n - 1].strip()), self._labels):
            numbers = list(run)
            hit = Hit(
                path=note.path,
                start_line=numbers[0],
                end_line=numbers[-1],
                text="\n".join(line.rstrip() for line in note.lines[numbers[0] - 1 : numbers[-1]]),
                score=1.0,
                title=note.title,
                headings=section.headings,
                date=note.date,
                collection=WORKSPACE_COLLECTION,
                docid="",
                labels=labels,
            )
            if why := next((label for label in labels if label in self._hidden), ""):
                yield Piece((hit,), newness, why)
            else:
                shown.append(hit)
        if shown:
            yield Piece(tuple(shown), newness, gap=lines[-1] - shown[-1].end_line)

    def _labels(self, number: int) -> tuple[str, ...]:
        return ranking.labels(self._annotations.of(number, number, standing=True) or {}, lambda: self._today)


def _entries(note: Note, lines: Sequence[int]) -> Iterator[list[int]]:
    """Lines in entries: a fence stays whole, an item keeps what is indented, a table its rows.

    An entry begins with a list item, or with a line behind a blank one, if that is not indented.
    """
    inside = {n for start, end in note.fences for n in range(start + 1, end + 1)}
    entry: list[int] = []
    for number in lines:
        line, before = note.lines[number - 1], note.lines[number - 2]
        begins = line.strip() and line[0] not in " \t" and (ITEM.match(line) or not before.strip())
        if entry and number not in inside and begins:
            yield entry
            entry = []
        entry.append(number)
    if any(note.lines[number - 1].strip() for number in entry):
        yield entry


def _parts(note: Note, entries: Iterable[Sequence[int]]) -> Iterator[Sequence[int]]:
    """Entries, those of many lines cut at the items in them: a list below one item is no single fact."""
    inside = {n for start, end in note.fences for n in range(start, end + 1)}
    for entry in entries:
        begins = [entry[0]]
        if len(entry) > LONG_ENTRY:
            items = (n for n in entry[1:] if n not in inside and ITEM.match(note.lines[n - 1].lstrip()))
            begins += items
        for first, end in pairwise([*begins, entry[-1] + 1]):
            yield range(first, end)
