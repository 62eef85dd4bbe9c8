"""Sections cut into passages: what is embedded and ranked.

A passage is a few consecutive lines of one section, packed up to a target size. A line longer than that
stands alone; only one of several thousand characters is cut, at sentence ends, into passages that share its
line number. Measured, neither paragraphs nor bullets nor fences make better borders than lines do at this
size; at the larger sizes of other systems, `window` and `fence` look for them.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.markdown import struck, structure
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from commonplace.markdown.comments import Annotations
    from commonplace.markdown.struck import Strikes

Unit = tuple[int, int, int]  # first line, last line, size


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note into sections and passages.

    Together the passages cover every non-blank line but the headings of sections that hold more than their
    heading; those stand in the sections' heading paths. What is struck is in none of them but the last, which
    say so (`former`). Code is cut by `code`, along its syntax.
    """
    if filetypes.of(note.path) is not None:
        from commonplace.chunking import code

        return code.split(note, settings)
    strikes = struck.of_note(note)
    whole_note, note = note, struck.rest(note, strikes) if strikes else note
    found: list[Section] = []
    passages: list[Passage] = []
    whole = [Section((), 1, len(note.lines))] if note.lines else []
    said = _said(whole_note)  # lines that are gone had comments of their own
    headings = structure.heading_lines(note) if settings.by_heading else set[int]()
    for section in structure.sections(note) if settings.by_heading else whole:
        first, last = section.start_line, section.end_line
        if first in headings and (first == last or (first + 1 == last and last in headings)):
            parts = [(first, last, "\n".join(note.lines[first - 1 : last]))]  # nothing stands below it
        else:
            parts = list(_cut(note, section, settings, said))
        if parts:
            share = structure.share([line for _, _, text in parts for line in text.split("\n")])
            found.append(replace(section, turns=share) if share else section)
            number = len(found) - 1
            passages.extend(Passage(number, a, b, t, said.still(a, b) if said else None) for a, b, t in parts)
    if strikes:
        _add_former(whole_note, strikes, settings, found, passages)
    return found, passages


def _add_former(
    note: Note, strikes: Strikes, settings: ChunkSettings, found: list[Section], passages: list[Passage]
) -> None:
    """Add what is struck behind all else, in sections of its own: it is beside nothing that stands."""
    from commonplace.chunking import former

    around = structure.sections(note) if settings.by_heading else [Section((), 1, len(note.lines))]
    last = -1
    for one in former.split(note, strikes, settings):
        place = bisect_right([section.start_line for section in around], one.first) - 1
        if place != last:
            found.append(around[place])
            last = place
        passages.append(Passage(len(found) - 1, *one))


def _said(note: Note) -> Annotations | None:
    """What the note says of its lines; None where it says nothing, as nearly all do."""
    if not (note.annotations or note.metadata):
        return None
    from commonplace.markdown.comments import Annotations

    return Annotations(note) or None


def _cut(
    note: Note, section: Section, settings: ChunkSettings, said: Annotations | None = None
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a section's passages."""
    lines = note.lines
    runs = _runs(_units(note, section, settings), settings.line)
    for run in runs if said is None else _apart(runs, said):
        first, last, size = run[0]
        if size > settings.line and first == last:
            limit = max(40, settings.piece * len(lines[first - 1]) // size)
            for piece in breakpoints.pieces(lines[first - 1], limit):
                yield first, last, piece
            continue
        for start, end in _pack(run, note, settings):
            first, last = run[start][0], run[end - 1][1]
            yield first, last, "\n".join(lines[first - 1 : last])


def _runs(units: list[Unit], longest: int) -> Iterator[list[Unit]]:
    """Set lines that are too long apart from the others, which are packed together."""
    run: list[Unit] = []
    for unit in units:
        if unit[2] > longest and unit[0] == unit[1]:
            if run:
                yield run
            yield [unit]
            run = []
        else:
            run.append(unit)
    if run:
        yield run


def _apart(runs: Iterator[list[Unit]], said: Annotations) -> Iterator[list[Unit]]:
    """Cut runs where the note says of a line what it does not say of the one before."""
    for run in runs:
        start = 0
        for place in range(1, len(run)):
            if said.differ(run[place - 1][1], run[place][0]):
                yield run[start:place]
                start = place
        yield run[start:]


def _units(note: Note, section: Section, settings: ChunkSettings) -> list[Unit]:
    """The non-blank lines of a section, fences that are short enough as one unit each."""
    heading_lines = structure.heading_lines(note, section)
    skip = heading_lines if settings.by_heading else frozenset[int]()
    fences = _whole_fences(note, section, settings.fence)
    wide = settings.wide
    units: list[Unit] = []
    after = 0  # the last line of the fence that is being passed over
    for number, line in enumerate(note.lines[section.start_line - 1 : section.end_line], section.start_line):
        if number <= after or not line or number in skip or line.isspace():
            continue
        if number in fences:
            after = fences[number][0]
            units.append((number, *fences[number]))
        else:
            units.append((number, number, len(line) if line.isascii() else breakpoints.width(line, wide)))
    if not units and skip:
        units = [(min(skip), max(skip), 1)]
    return units


def _whole_fences(note: Note, section: Section, longest: int) -> dict[int, tuple[int, int]]:
    """Fences of a section that stay whole: first line to last line and size."""
    if not longest:
        return {}
    inside = []
    for a, b in islice(note.fences, bisect_left(note.fences, (section.start_line, 0)), None):
        if a > section.end_line:
            break
        if a < b <= section.end_line:
            inside.append((a, b))
    sizes = {a: (b, sum(map(len, note.lines[a - 1 : b]))) for a, b in inside}
    return {first: (last, size) for first, (last, size) in sizes.items() if size <= longest}


def _pack(units: Sequence[Unit], note: Note, settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Yield index ranges (start, end) of units packed up to the target size."""
    sizes = [unit[2] for unit in units]
    scores = _Scores(units, note)
    target = settings.target
    start = index = size = 0
    while index < len(sizes):
        if index > start and size + sizes[index] + index - start > target:
            end = _end(sizes, settings, start, index, scores)
            yield start, end
            start = _step_back(sizes, start, end, settings.overlap) if settings.overlap else end
            size = sum(sizes[start:index])
            continue
        size += sizes[index]
        index += 1
    if start < len(sizes):
        yield start, len(sizes)


class _Scores(dict[int, float]):
    """How good a cut before each unit is, looked at once: windows overlap."""

    def __init__(self, units: Sequence[Unit], note: Note) -> None:
        super().__init__()
        self._units, self._note = units, note

    def __missing__(self, place: int) -> float:
        self[place] = score = breakpoints.score(self._note, self._units[place][0])
        return score


def _end(sizes: Sequence[int], settings: ChunkSettings, start: int, index: int, scores: _Scores) -> int:
    """Where the passage that is full at `index` ends: there, or at a better place within the window."""
    if not settings.window:
        return index
    return breakpoints.choose(sizes[start:index], scores.__getitem__, start, index, settings.window)


def _step_back(sizes: Sequence[int], start: int, end: int, overlap: int) -> int:
    """Where the next passage begins: `end`, or earlier by whole units within the overlap."""
    begin, repeated = end, 0
    while begin - 1 > start and repeated + sizes[begin - 1] <= overlap:
        begin -= 1
        repeated += sizes[begin]
    return begin
