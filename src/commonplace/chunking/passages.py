"""Sections cut into passages: what is embedded and ranked.

A passage is a few consecutive lines of one section, packed up to a target size. A line longer than that
stands alone; only one of several thousand characters is cut, at sentence ends, into passages that share its
line number. Measured, neither paragraphs nor bullets nor fences make better borders than lines do at this
size; at the larger sizes of other systems, `window` and `fence` look for them.

What once stood in a note, lines with struck text, makes passages of its own. They are told apart by their
annotations: `struck` in all of them, `replaced-by` with the lines of what stands in their place, or `beside`
where the next entry may do so or may not. A trigger of theirs is gone.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import chain, groupby, islice, pairwise
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import BESIDE, DEFAULT, MATTER, REPLACED_BY, STRUCK, ChunkSettings
from commonplace.markdown import struck, structure, turns
from commonplace.markdown.standing import instructions
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from commonplace.markdown.comments import Annotations
    from commonplace.markdown.struck import Strikes
    from commonplace.types import Statement

Stretch = tuple[int, int, str]  # first line, last line, text
_Annotated = tuple[int, int, str, Mapping[str, str] | None]  # the same, and what the note says of it
# First line, last line and size of a line, or of what stays whole; plain, since every line makes one. A line
# that is silent has the size 0.
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
    standing = struck.rest(note, strikes) if strikes else note
    around = structure.sections(note) if settings.by_heading else [Section((), 1, len(note.lines))]
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
) -> Iterator[tuple[Section, list[_Annotated]]]:
    """Yield each section that holds something, with its stretches."""
    said = _annotations(note)
    # Headings with further ones right below: these are found by the words of both.
    outer = {upper.line for upper, lower in pairwise(note.headings) if upper.level < lower.level}
    openings = turns.openings(standing.lines, 1) if settings.shown else frozenset[int]()
    for section in around if note.lines else ():
        instructs = instructions(
            standing.lines[section.start_line - 1 : section.end_line], section.start_line
        )
        alone = instructs if settings.shown else {}
        parts = list(_cut(standing, section, settings, said, openings, alone))
        is_bare = bool(parts) and parts[0][0] == section.start_line in outer
        if parts and not (is_bare and settings.shown and settings.by_heading):
            share = turns.share([line for _, _, text in parts for line in text.split("\n")])
            yield (
                replace(section, turns=share),
                [(*part, _said(part, said, instructs)) for part in parts],
            )


def _said(part: Stretch, said: Annotations | None, instructs: Mapping[int, str]) -> Mapping[str, str] | None:
    """What the note says of a stretch, with the matter of a standing instruction."""
    first, last, _ = part
    own = said.of(first, last, standing=True) if said else None
    return {**(own or {}), MATTER: instructs[first]} if first == last and first in instructs else own


def _cut(
    note: Note,
    section: Section,
    settings: ChunkSettings,
    said: Annotations | None,
    openings: Collection[int],
    alone: Collection[int],
) -> Iterator[Stretch]:
    """Yield first line, last line and text of a section's passages.

    A line that is too long stands alone, and so do those `alone`, which are standing instructions; no passage
    runs on where the note says of a line what it does not say of the one before. `openings` open a turn.
    """
    run: list[_Unit] = []
    for unit in _units(note, section, settings, openings):
        first, last, size = unit
        is_long = size > settings.line and first == last
        if first == last and first in alone:
            yield from _pack(run, note, settings)
            run = []
            yield first, last, note.lines[first - 1]
            continue
        if run and (is_long or (said is not None and said.differ(run[-1][1], first))):
            yield from _pack(run, note, settings)
            run = []
        if is_long:
            line = note.lines[first - 1]
            for piece in breakpoints.pieces(line, max(40, settings.piece * len(line) // size)):
                yield first, last, piece
        else:
            run.append(unit)
    yield from _pack(run, note, settings)


def _units(note: Note, section: Section, settings: ChunkSettings, openings: Collection[int]) -> list[_Unit]:
    """The non-blank lines of a section, or its heading where there are none."""
    skip = structure.heading_lines(note, section) if settings.by_heading else frozenset[int]()
    if settings.shown and settings.by_heading and note.front_matter and section.start_line == 1:
        size = sum(map(len, note.lines[: section.end_line]))
        if size <= settings.line:
            return [(*note.front_matter, size)]
    fences = _whole_fences(note, section, settings.fence) if settings.fence else {}
    units: list[_Unit] = []
    lines = note.lines[section.start_line - 1 : section.end_line]
    after = opened = 0  # the last line of the fence that is being passed over, a line that only opens a turn
    for number, line in enumerate(lines, section.start_line):
        if number > after and number not in skip and line and not line.isspace():
            if number in openings:
                units += [(opened, opened, 0)] if opened else []
                opened = number
                continue
            size = breakpoints.width(line, settings.wide)
            if settings.shown and size <= settings.target and structure.is_silent(line):
                size = 0
            first, after, size = fences.get(number) or (number, number, size)
            units.append((opened or first, after, size))
            opened = 0
    if opened:
        units.append((opened, opened, 0))
    return units or ([(min(skip), max(skip), 1)] if skip else [])


def _whole_fences(note: Note, section: Section, longest: int) -> dict[int, _Unit]:
    """Fences of a section that are short enough to stay whole, by their first line."""
    found: dict[int, _Unit] = {}
    for first, last in islice(note.fences, bisect_left(note.fences, (section.start_line, 0)), None):
        if first > section.end_line:
            break
        size = sum(map(len, note.lines[first - 1 : last]))
        if first < last <= section.end_line and size <= longest:
            found[first] = first, last, size
    return found


def _pack(units: Sequence[_Unit], note: Note, settings: ChunkSettings) -> Iterator[Stretch]:
    """Yield passages of units packed up to the target size; what is silent joins the next, or the last."""
    sizes = [unit[2] for unit in units]
    telling = max((at for at, size in enumerate(sizes) if size), default=-1)
    score = cache(lambda place: breakpoints.score(note, units[place][0])) if settings.window else float
    start = index = size = 0
    while index < len(sizes) or start < index:
        joins = (size == 0 or index > telling >= start) and index - start <= _MOST_SILENT
        fits = size + sizes[index] + index - start <= settings.target if index < len(sizes) else False
        if index < len(sizes) and (index == start or joins or fits):
            size += sizes[index]
            index += 1
            continue
        end = index
        if index < len(sizes) and settings.window:
            end = breakpoints.choose(sizes[start:index], score, start, index, settings.window)
        first, last = units[start][0], units[end - 1][1]
        yield first, last, "\n".join(note.lines[first - 1 : last])
        if index == len(sizes):
            return
        # The next begins here, or earlier by whole units within the overlap.
        begin, repeated = end, 0
        while settings.overlap and begin - 1 > start and repeated + sizes[begin - 1] <= settings.overlap:
            begin -= 1
            repeated += sizes[begin]
        start = begin
        size = sum(sizes[start:index])


# --- what is struck -----------------------------------------------------------------------------------------


def _struck(
    note: Note, standing: Note, strikes: Strikes, around: Sequence[Section], settings: ChunkSettings
) -> Iterator[tuple[Section, list[_Annotated]]]:
    """Yield sections again, with their struck stretches: sections apart, beside nothing that stands."""
    if strikes:
        starts = [section.start_line for section in around]
        former = _former(note, standing, strikes, settings)
        for place, stretches in groupby(former, lambda stretch: bisect_right(starts, stretch[0]) - 1):
            yield around[place], list(stretches)


def _former(note: Note, standing: Note, strikes: Strikes, settings: ChunkSettings) -> Iterator[_Annotated]:
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
    note: Note, strikes: Strikes, owners: Mapping[int, int], settings: ChunkSettings
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
