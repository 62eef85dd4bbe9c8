"""Notes in pieces, as a prompt takes them: sections of long-term memory, entries of a day, whole files.

A piece is a hit without a question: cited lines with what a reader must know of them. What is tentative or
no longer holds is told apart, as a recall leaves it out; what is struck is not there at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from commonplace.base import paths
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.config import loading
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.language import dates
from commonplace.markdown import struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.markdown.document import decode, parse
from commonplace.markdown.metadata import kind_of
from commonplace.markdown.structure import ITEM
from commonplace.memory import Memory, sources
from commonplace.notes.scan import Globs
from commonplace.search import ranking
from commonplace.search.pack import OUTDATED
from commonplace.types import Hit, Note, Section

_CLOCK = re.compile(r"(?:[-*+]|\d{1,9}[.)])?[ \t]*[(\[*`]*((?:[01]?\d|2[0-3]):[0-5]\d)\b")


class Piece(NamedTuple):
    """Hits that are told together or not at all, how new they are, and why they are not told, if so.

    `gap` counts the blank lines behind it.
    """

    hits: tuple[Hit, ...]
    newness: tuple[str, str, int] = ("", "", 0)
    why: str = ""
    gap: int = 0

    @property
    def citation(self) -> str:
        """The lines from the first hit to the last."""
        first, last = self.hits[0], self.hits[-1]
        return first.citation if first is last else f"{first.path}#L{first.start_line}-L{last.end_line}"


def read(memory: Memory, path: str) -> Note:
    """Read a file of the workspace as it may be shown: private parts blanked, secrets redacted.

    Raises NoteNotFound, OutsideRoots for a link that leaves the workspace or leads to a
    hidden file, NoteUnreadable.
    """
    own = next(source for source in sources(memory) if source.name == WORKSPACE_COLLECTION)
    if own.ignore and Globs(own.ignore)(path):
        raise NoteNotFound(path, reason="left out by index.ignore")
    roots = [memory.workspace.root]
    real = os.path.relpath(paths.contain(Path(path), roots), os.path.realpath(roots[0]))
    if loading.is_hidden(real) and not loading.is_hidden(path):
        raise OutsideRoots(path, "a link to a hidden file")
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
    found = (f"{folder.name}/{name}" for name in names if name.startswith(day.isoformat()))
    return [path for path in found if kind_of(path) == "daily"]


def of_sections(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece a section, newest first: by the newest full date it names up to today, then the later one."""
    reader = _Reader(note, today, tentative)
    found: list[Piece] = []
    for section in structure.sections(note):
        lines = reader.body(section)
        newest = _newest_day(reader.lines[section.start_line - 1 : section.end_line], today)
        found += reader.pieces(section, lines, (newest, "", section.start_line))
    return sorted(found, key=lambda piece: piece.newness, reverse=True)


def of_entries(note: Note, today: date, *, tentative: bool) -> list[Piece]:
    """A piece an entry (a list item with what is indented below it, a paragraph), newest first.

    An entry is as new as the hour it begins with, or as the last one above it; of entries of one hour the
    later one is newer.
    """
    reader = _Reader(note, today, tentative)
    found: list[Piece] = []
    hour = ""
    for section in structure.sections(note):
        for entry in _entries(note, reader.body(section)):
            clock = _CLOCK.match(note.lines[entry[0] - 1])
            hour = clock[1].rjust(5, "0") if clock else hour
            found += reader.pieces(section, entry, (note.date or "", hour, entry[0]))
    return sorted(found, key=lambda piece: piece.newness, reverse=True)


def joined(pieces: Iterable[Piece]) -> list[Hit]:
    """The hits of pieces in the order of their lines; what only blank lines part becomes one."""
    hits: list[Hit] = []
    end = 0  # the line that the next piece begins on, if it goes on from here
    for piece in sorted(pieces, key=lambda piece: (piece.hits[0].path, piece.hits[0].start_line)):
        for hit in piece.hits:
            last = hits[-1] if hits else None
            same = last and (last.path, last.headings, last.labels) == (hit.path, hit.headings, hit.labels)
            if last and same and hit.start_line == end:
                between = "\n\n" if hit.start_line > last.end_line + 1 else "\n"
                text = f"{last.text}{between}{hit.text}"
                hits[-1] = replace(last, end_line=hit.end_line, text=text)
            else:
                hits.append(hit)
            end = hit.end_line + 1
        end += piece.gap
    return hits


class _Reader:
    """Makes pieces of one note."""

    def __init__(self, note: Note, today: date, tentative: bool) -> None:
        strikes = struck.of_note(note)
        self._note = struck.rest(note, strikes) if strikes else note
        self._said, self._today, self._tentative = Annotations(note), today, tentative

    @property
    def lines(self) -> Sequence[str]:
        """The lines of the note, without what is struck in them."""
        return self._note.lines

    def body(self, section: Section) -> list[int]:
        """The lines of a section below its heading; none of front matter."""
        if self._note.front_matter and section.start_line == 1:
            return []
        headings = structure.heading_lines(self._note, section)
        return [n for n in range(section.start_line, section.end_line + 1) if n not in headings]

    def pieces(
        self, section: Section, lines: Sequence[int], newness: tuple[str, str, int]
    ) -> Iterator[Piece]:
        """What may be told of some lines as one piece, and one for each run of lines that may not."""
        note = self._note
        told: list[Hit] = []
        # Blank lines belong to what is above them.
        for labels, run in groupby((n for n in lines if note.lines[n - 1].strip()), self._labels):
            first, *rest = run
            last = rest[-1] if rest else first
            hit = Hit(
                path=note.path,
                start_line=first,
                end_line=last,
                text="\n".join(line.rstrip() for line in note.lines[first - 1 : last]),
                score=1.0,
                title=note.title,
                headings=section.headings,
                date=note.date,
                collection=WORKSPACE_COLLECTION,
                docid="",
                labels=labels,
            )
            why = self._why_not(labels)
            if why:
                yield Piece((hit,), newness, why)
            else:
                told.append(hit)
        if told:
            yield Piece(tuple(told), newness, gap=lines[-1] - told[-1].end_line)

    def _why_not(self, labels: Sequence[str]) -> str:
        """Why what has these labels is not told; empty where it is."""
        if outdated := next((label for label in labels if label in OUTDATED), ""):
            return outdated
        return "tentative" if "tentative" in labels and not self._tentative else ""

    def _labels(self, number: int) -> tuple[str, ...]:
        return ranking.labels(self._said.still(number, number) or {}, lambda: self._today)


def _newest_day(lines: Sequence[str], today: date) -> str:
    """The newest day that some lines name with its year, not later than today; empty where there is none."""
    dated = (line for line in lines if any(character.isdigit() for character in line))
    days = (span.first for line in dated for span in dates.spans(line, today) if not span.relative)
    return max((day for day in days if day <= today), default=date.min).isoformat()


def _entries(note: Note, lines: Sequence[int]) -> Iterator[list[int]]:
    """Lines in entries: a fence stays whole, an item keeps what is indented, a table its rows."""
    inside = {n for start, end in note.fences for n in range(start + 1, end + 1)}
    entry: list[int] = []
    for number in lines:
        if entry and number not in inside and _begins(note, number):
            yield entry
            entry = []
        entry.append(number)
    if any(note.lines[number - 1].strip() for number in entry):
        yield entry


def _begins(note: Note, number: int) -> bool:
    """Whether an entry may begin with a line: a list item, or a line behind a blank one, not indented."""
    line = note.lines[number - 1]
    if not line.strip() or line[0] in " \t":
        return False
    return ITEM.match(line) is not None or not note.lines[number - 2].strip()
