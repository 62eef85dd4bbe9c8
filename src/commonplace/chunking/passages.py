"""Sections cut into passages: what is embedded and ranked.

A passage is a few consecutive lines of one section, packed up to a target size. A line longer than that
stands alone; only one of several thousand characters is cut, at sentence ends, into passages that share its
line number. Measured, neither paragraphs nor bullets nor fences make better borders than lines at this size.

Struck lines make passages of their own. Their annotations say so: `struck` in all of them, `replaced-by` with
the lines of the replacement, or `beside` with those of an entry that may be it. They have no trigger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, groupby, pairwise
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import BESIDE, DEFAULT, MATTER, REPLACED_BY, STRUCK, ChunkSettings
from commonplace.markdown import standing as standing_instructions
from commonplace.markdown import struck, structure, turns
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from commonplace.markdown.comments import Annotations
    from commonplace.types import Statement

Stretch = tuple[int, int, str]  # first line, last line, text
_Annotated = tuple[int, int, str, Mapping[str, str] | None]  # the same, and what the note says of it
# First line, last line and size of a line, or of front matter; plain, since every line makes one. A line that
# is silent has the size 0.
_Unit = tuple[int, int, int]
_MOST_SILENT = 12  # lines that a passage takes on without counting them


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note into sections and passages.

    Together the passages cover every non-blank line but the headings of sections that hold more than their
    heading, or have sections below it; those stand in the heading paths. Struck text is in the last passages
    alone, which say so. Code is cut by `code`, along its syntax.
    """
    if filetypes.of(note.path) is not None:
        from commonplace.chunking import code

        return code.split(note, settings)
    strikes = struck.of_note(note)
    standing = struck.rest(note, strikes)
    around = structure.sections(note)
    sections: list[Section] = []
    passages: list[Passage] = []
    for section, stretches in chain(
        _standing(note, standing, around, settings), _struck(note, standing, strikes, around, settings)
    ):
        passages += [Passage(len(sections), *stretch) for stretch in stretches]
        sections.append(section)
    return sections, passages


def _annotations(note: Note) -> Annotations | None:
    if not (note.annotations or note.metadata or note.days):  # as nearly all notes
        return None
    from commonplace.markdown import comments

    return comments.said(note) or None


# --- what stands --------------------------------------------------------------------------------------------


def _standing(
    note: Note, standing: Note, around: Sequence[Section], settings: ChunkSettings
) -> Iterator[tuple[Section, Sequence[_Annotated]]]:
    """Yield each section that holds something, with its stretches.

    A section without text has one of its heading alone, unless a section below it is found by both headings.
    """
    said = _annotations(note)
    text = "\n".join(standing.lines)
    openings = turns.openings(text)
    instructing = standing_instructions.candidates(text)
    # Headings with further ones right below.
    outer = {upper.line for upper, lower in pairwise(note.headings) if upper.level < lower.level}
    underlined = {heading.line for heading in note.headings if structure.is_underlined(note, heading)}
    before = len(around) - len(note.headings)  # sections without a heading
    for place, section in enumerate(around if note.lines else ()):
        first, last = section.start_line, section.end_line
        skipped = 0 if place < before else 1 + (first in underlined)
        is_front = not place and note.front_matter is not None
        lines = standing.lines[first - 1 : last]
        alone = standing_instructions.instructions(lines, first, instructing) if instructing else {}
        parts = _cut(lines, first, skipped, settings, said, openings, alone, whole=is_front)
        if not parts and skipped and first not in outer:
            parts = [(first, first + skipped - 1, "\n".join(lines[:skipped]))]
        if parts:
            share = turns.share("\n".join([part[2] for part in parts]))
            yield (
                Section(section.headings, first, last, share),
                [(*part, _said(part, said, alone)) for part in parts]
                if said or alone
                else [(*part, None) for part in parts],
            )


def _said(part: Stretch, said: Annotations | None, instructs: Mapping[int, str]) -> Mapping[str, str] | None:
    """What the note says of a stretch, with the matter of a standing instruction."""
    first, last, _ = part
    own = said.of(first, last, standing=True) if said else None
    return {**(own or {}), MATTER: instructs[first]} if first == last and first in instructs else own


def _cut(
    lines: Sequence[str],
    first: int,
    skipped: int,
    settings: ChunkSettings,
    said: Annotations | None,
    openings: Collection[int],
    alone: Collection[int],
    *,
    whole: bool,
) -> list[Stretch]:
    """Cut the lines of a section, which begin at line `first` with `skipped` lines of heading.

    A line that is too long stands alone, and so do those `alone`, which are standing instructions; no passage
    runs on where the note says of a line what it does not say of the one before. `openings` open a turn;
    `whole` lines, front matter, stay together where they are no longer than a line may be.
    """
    if whole and (size := sum(map(len, lines))) <= settings.line:
        return [(first, first + len(lines) - 1, "\n".join(lines))]
    found: list[Stretch] = []
    run: list[_Unit] = []
    for unit in _units(lines[skipped:], first + skipped, settings, openings):
        begin, last, size = unit
        is_alone = begin == last and (begin in alone or size > settings.line)
        if run and (is_alone or (said is not None and said.differ(run[-1][1], begin))):
            found += _packed(run, lines, first, settings.target)
            run = []
        if is_alone:
            line = lines[begin - first]
            limit = max(40, settings.piece * len(line) // size)
            pieces = [line] if begin in alone else breakpoints.pieces(line, limit)
            found += [(begin, last, piece) for piece in pieces]
        else:
            run.append(unit)
    return [*found, *_packed(run, lines, first, settings.target)]


def _units(
    lines: Sequence[str], first: int, settings: ChunkSettings, openings: Collection[int]
) -> list[_Unit]:
    """Measure the non-blank lines of a section below its heading, which begin at line `first`."""
    units: list[_Unit] = []
    opened = 0  # a line that only opens a turn
    target, wide, is_silent = settings.target, settings.wide, structure.is_silent
    for number, line in enumerate(lines, first):
        if not line or line.isspace():
            continue
        if number in openings:
            if opened:
                units.append((opened, opened, 0))
            opened = number
            continue
        size = len(line) if line.isascii() else breakpoints.width(line, wide)
        units.append((opened or number, number, 0 if size <= target and is_silent(line) else size))
        opened = 0
    if opened:
        units.append((opened, opened, 0))
    return units


def _packed(units: Sequence[_Unit], lines: Sequence[str], first: int, target: int) -> Iterator[Stretch]:
    """Yield units of lines, which begin at line `first`, packed up to a size.

    What is silent joins the next passage, or the last one.
    """
    count = len(units)
    telling = count - 1  # the last unit that says something
    while telling >= 0 and not units[telling][2]:
        telling -= 1
    start = index = size = 0
    while start < count:
        size, index = units[start][2], start + 1
        while index < count:
            is_joined = (not size or index > telling >= start) and index - start <= _MOST_SILENT
            if not is_joined and size + units[index][2] + index - start > target:
                break
            size += units[index][2]
            index += 1
        begin, end = units[start][0] - first, units[index - 1][1] - first
        yield begin + first, end + first, "\n".join(lines[begin : end + 1])
        start = index


# --- struck statements --------------------------------------------------------------------------------------


def _struck(
    note: Note, standing: Note, strikes: Collection[int], around: Sequence[Section], settings: ChunkSettings
) -> Iterator[tuple[Section, list[_Annotated]]]:
    """Yield sections again, with their struck stretches: sections apart, beside nothing that stands."""
    if strikes:
        starts = [section.start_line for section in around]
        former = _former(note, standing, strikes, settings)
        for place, stretches in groupby(former, lambda stretch: bisect_right(starts, stretch[0]) - 1):
            yield around[place], list(stretches)


def _former(
    note: Note, standing: Note, strikes: Collection[int], settings: ChunkSettings
) -> Iterator[_Annotated]:
    """Yield the lines that hold struck text, as they stand, and what is said of them."""
    from commonplace.markdown import comments, statements

    said = comments.said(note)
    stated = statements.read(note)
    owners = {n: at for at, one in enumerate(stated) for n in range(one.first, one.last + 1)}
    for first, last in _runs(note, strikes, owners, settings):
        marks = {**(said.of(first, last) or {}), STRUCK: "true"}
        marks.pop("trigger", None)
        if first in owners and "superseded-by" not in marks:
            marks |= _replacement(stated, owners[first], marks.get("until", ""), standing)
        text = "\n".join(note.lines[first - 1 : last])
        for piece in [text] if len(text) <= settings.line else breakpoints.pieces(text, settings.piece):
            yield first, last, piece, marks


def _runs(
    note: Note, strikes: Collection[int], owners: Mapping[int, int], settings: ChunkSettings
) -> list[tuple[int, int]]:
    """Struck lines one after the other of one statement, as many together as a passage holds."""
    runs: list[tuple[int, int]] = []
    size = 0
    for number in sorted(strikes):
        width = breakpoints.width(note.lines[number - 1], settings.wide)
        follows = number - 1 in strikes and number in owners and owners[number] == owners.get(number - 1)
        if follows and size + width < settings.target:
            runs[-1] = (runs[-1][0], number)
            size += width + 1
        else:
            runs.append((number, number))
            size = width + 1
    return runs


def _replacement(stated: Sequence[Statement], at: int, until: str, standing: Note) -> dict[str, str]:
    """Where the replacement of a statement is to be found: its lines, and how sure that is.

    It is the very next entry at the same level in the same list; a nested statement that is the last of its
    own goes with what it is nested in.
    """
    own = stated[at]
    place = bisect_right(stated, own.end, key=lambda one: one.first)
    following = stated[place] if place < len(stated) else None
    if following and following.headings == own.headings and _level(following) == _level(own):
        since = following.said.get("since", "")
        key = REPLACED_BY if since and since >= until else BESIDE
        return {key: f"{following.first}-{following.last}"}
    outer = next((n for n in range(at - 1, -1, -1) if stated[n].end >= own.end), None)
    if outer is None or "".join(standing.lines[stated[outer].first - 1 : stated[outer].last]).strip():
        return {}
    return _replacement(stated, outer, until, standing)


def _level(statement: Statement) -> tuple[int, bool, int]:
    return structure.indent(statement.item.replace(">", " ")), statement.is_item, statement.item.count(">")
