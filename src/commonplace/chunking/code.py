"""Programs cut into sections and passages: definitions by themselves, what lies between them in groups.

A section is a definition, or the lines of one (a class, the file) that its own definitions leave: a class
keeps its head, imports stand together. Its headings are the file's name and the names of the definitions
around it. A section that is too large is cut where the fewest nodes of the syntax tree are cut in two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from commonplace.base import filetypes
from commonplace.chunking import breakpoints, outline
from commonplace.chunking.outline import Lines, Outline
from commonplace.chunking.settings import DEFAULT, ChunkSettings
from commonplace.types import Note, Passage, Section

# Generated or minified: a tree of it would say nothing, and take a hundred times its size.
_WIDEST, _LARGEST = 400, 4_000_000  # characters a line on average, characters of a file
_LEAST_FILL = 4  # a passage is at least this part of the limit full, unless a string stands in the way
_UNEVEN = 3.0  # what a passage costs that is off its share by the limit, against the nodes that a cut spans


class _Run(NamedTuple):
    """Consecutive lines of one definition, or of none: its names, the non-blank lines (0-based)."""

    names: tuple[str, ...]
    rows: list[int]


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a program into sections and passages, which together cover every non-blank line once.

    Without a grammar of its language that can be used it is cut by blank lines and indentation, in one
    section.
    """
    sizes = [len(line) if line.isascii() else breakpoints.width(line, settings.wide) for line in note.lines]
    lines = Lines(note.lines, sizes)
    found = _outline(note, lines, settings)
    sections: list[Section] = []
    passages: list[Passage] = []
    for run in _runs(found, note.lines):
        sections.append(Section((note.title, *run.names), run.rows[0] + 1, run.rows[-1] + 1))
        for first, last, text in _cut(run, lines, found.costs, settings):
            passages.append(Passage(len(sections) - 1, first + 1, last + 1, text))
    return sections, passages


def _outline(note: Note, lines: Lines, settings: ChunkSettings) -> Outline:
    grammar = filetypes.of(note.path)
    total = lines.size(0, len(note.lines) - 1) if note.lines else 0
    plain = total > min(_LARGEST, _WIDEST * len(note.lines))
    if grammar is None or plain or not total or not filetypes.installed(grammar) or outline.trouble(grammar):
        return outline.of_text(lines)
    return outline.of_syntax(lines, grammar, settings.code)


def _runs(found: Outline, lines: Sequence[str]) -> Iterator[_Run]:
    """Set lines together that belong to the same definition, imports apart from other lines."""
    run: _Run | None = None
    before: object = None
    for row, owner in enumerate(_owners(found, len(lines))):
        if not lines[row].strip():
            continue
        key = (owner, owner < 0 and row in found.imports)
        opens = owner >= 0 and found.scopes[owner].first == row
        if run is not None and (key == before or (not opens and outline.closes(lines[row]))):
            run.rows.append(row)
            continue
        if run is not None:
            yield run
        run, before = _Run(found.scopes[owner].names if owner >= 0 else (), [row]), key
    if run is not None:
        yield run


def _owners(found: Outline, count: int) -> Iterator[int]:
    """The innermost definition of every line by its number, -1 for none."""
    around: list[int] = []
    coming = 0
    for row in range(count):
        while around and found.scopes[around[-1]].last < row:
            around.pop()
        while coming < len(found.scopes) and found.scopes[coming].first <= row:
            if found.scopes[coming].last >= row:
                around.append(coming)
            coming += 1
        yield around[-1] if around else -1


def _cut(
    run: _Run, lines: Lines, costs: Sequence[float], settings: ChunkSettings
) -> Iterator[tuple[int, int, str]]:
    """Yield (first line, last line, text) of a run's passages; what is far too long is cut inside it."""
    start = 0
    while start < len(run.rows):
        first = run.rows[start]
        size = lines.size(first, first)
        if size > settings.line:
            limit = max(40, settings.piece * len(lines.lines[first]) // size)
            for piece in breakpoints.pieces(lines.lines[first], limit):
                yield first, first, piece
            start += 1
            continue
        end = _end(run.rows, start, lines, costs, settings)
        last = run.rows[end - 1]
        yield first, last, "\n".join(lines.lines[first : last + 1])
        start = end


def _end(
    rows: Sequence[int], start: int, lines: Lines, costs: Sequence[float], settings: ChunkSettings
) -> int:
    """Where the passage that begins at `rows[start]` ends: the index of the row that opens the next one."""
    limit, end = settings.code, start + 1
    while end < len(rows) and lines.size(rows[start], rows[end]) <= limit:
        end += 1
    if end == len(rows):
        return end
    rest = lines.size(rows[start], rows[-1])
    share = rest / -(-rest // limit)
    best, where = outline.STRING, end
    for place in range(end, start, -1):
        size = lines.size(rows[start], rows[place - 1])
        if size * _LEAST_FILL < limit and best < outline.STRING:
            break
        cost = costs[rows[place]] + _UNEVEN * ((size - share) / limit) ** 2
        if cost < best:
            best, where = cost, place
    return where
