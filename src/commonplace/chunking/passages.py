"""Sections cut into passages: what is embedded and ranked.

A passage is a few consecutive lines of one section, packed up to a target size and cut at the most natural
place near it. A code fence stays whole unless it alone is too long; a line that alone is too long is cut
at sentence ends into passages that share its line number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from commonplace.chunking import breakpoints, sections, turns
from commonplace.types import Note, Passage, Section

# Han, kana, hangul and full-width forms carry about as much as two to three Latin letters.
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
Unit = tuple[int, int, int, float]  # first line, last line, size in characters, score of a cut before it


@dataclass(frozen=True, slots=True)
class ChunkSettings:
    """How notes are cut; sizes in characters, where a wide (CJK) character counts as `wide`.

    `by_heading` false lets passages run across headings, `overlap` repeats that much of the passage
    before: both exist to reproduce other systems' settings.
    """

    target: int = 240
    window: int = 1
    overlap: int = 0
    fence: int = 0
    line: int = 4000
    piece: int = 1200
    wide: int = 3
    by_heading: bool = True

    @property
    def fingerprint(self) -> str:
        """Changes whenever the same note would be cut differently."""
        values = (self.target, self.window, self.overlap, self.fence, self.line, self.piece, self.wide)
        return f"passages-1:{values}:{self.by_heading}"


DEFAULT = ChunkSettings()


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note into sections and passages.

    Together the passages cover every non-blank line but the headings of sections that hold more than their
    heading; those stand in the sections' heading paths.
    """
    found: list[Section] = []
    passages: list[Passage] = []
    whole = [Section((), 1, len(note.lines))] if note.lines else []
    for section in sections.split(note) if settings.by_heading else whole:
        parts = list(_cut(note, section, settings))
        if parts:
            share = turns.share(note.lines[section.start_line - 1 : section.end_line])
            found.append(replace(section, turns=share) if share else section)
            number = len(found) - 1
            passages.extend(Passage(number, a, b, text, _importance(note, a, b)) for a, b, text in parts)
    return found, passages


def _importance(note: Note, first: int, last: int) -> int | None:
    """The highest `importance` comment on these lines, 1 to 10."""
    if not note.annotations:
        return None
    values = [note.annotations[n].get("importance", "") for n in range(first, last + 1) if n in note.annotations]
    numbers = [int(v) for v in values if v.isascii() and v.isdigit()]
    return min(10, max(1, *numbers, 1)) if numbers else None


def _cut(note: Note, section: Section, settings: ChunkSettings) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a section's passages."""
    lines = note.lines
    for run in _runs(_units(note, section, settings), settings):
        first, last, size, _ = run[0]
        if len(run) == 1 and first == last and size > settings.line:
            limit = max(40, settings.piece * len(lines[first - 1]) // size)
            for piece in breakpoints.pieces(lines[first - 1], limit):
                yield first, last, piece
            continue
        for start, end in _pack(run, settings):
            first, last = run[start][0], run[end - 1][1]
            yield first, last, "\n".join(lines[first - 1 : last])


def _runs(units: Sequence[Unit], settings: ChunkSettings) -> Iterator[list[Unit]]:
    """Set lines that are too long apart from the others, which are packed together."""
    run: list[Unit] = []
    for unit in units:
        if unit[0] == unit[1] and unit[2] > settings.line:
            if run:
                yield run
            yield [unit]
            run = []
        else:
            run.append(unit)
    if run:
        yield run


def _units(note: Note, section: Section, settings: ChunkSettings) -> list[Unit]:
    """The non-blank lines of a section, fences that are short enough as one unit each."""
    lines, heading_lines = note.lines, frozenset(_heading_lines(note, section))
    skip = heading_lines if settings.by_heading else frozenset[int]()
    fences = {first: last for first, last in note.fences if section.start_line <= first <= section.end_line}
    units: list[Unit] = []
    number = section.start_line
    while number <= section.end_line:
        line = lines[number - 1]
        last = fences.get(number, number)
        if last > number and (size := sum(map(len, lines[number - 1 : last]))) <= settings.fence:
            units.append((number, last, size, breakpoints.FENCE))
            number = last + 1
            continue
        if line and number not in skip and not line.isspace():
            above = lines[number - 2] if number > section.start_line else ""
            value = breakpoints.HEADING if number in heading_lines else breakpoints.score(line, above)
            units.append((number, number, _size(line, settings.wide), value))
        number += 1
    if not units and skip:
        units = [(min(skip), max(skip), 1, breakpoints.HEADING)]
    return units


def _heading_lines(note: Note, section: Section) -> Iterator[int]:
    """Lines taken up by headings, a setext heading's underline included."""
    for heading in note.headings:
        if section.start_line <= heading.line <= section.end_line:
            yield heading.line
            if not note.lines[heading.line - 1].lstrip().startswith("#"):
                yield heading.line + 1


def _size(line: str, wide: int) -> int:
    if wide == 1 or line.isascii():
        return len(line)
    return len(line) + (wide - 1) * len(_WIDE.findall(line))


def _pack(units: Sequence[Unit], settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Yield index ranges (start, end) of units packed up to the target size."""
    sizes, scores = [unit[2] for unit in units], [unit[3] for unit in units]
    start = index = size = 0
    while index < len(units):
        if index > start and size + sizes[index] + index - start > settings.target:
            end = breakpoints.choose(sizes, scores, start, index, settings.window)
            yield start, end
            start = _step_back(sizes, start, end, settings.overlap)
            size = sum(sizes[start:index])
            continue
        size += sizes[index]
        index += 1
    if start < len(units):
        yield start, len(units)


def _step_back(sizes: Sequence[int], start: int, end: int, overlap: int) -> int:
    """Where the next passage begins: `end`, or earlier by whole units within the overlap."""
    begin, repeated = end, 0
    while begin - 1 > start and repeated + sizes[begin - 1] <= overlap:
        begin -= 1
        repeated += sizes[begin]
    return begin
