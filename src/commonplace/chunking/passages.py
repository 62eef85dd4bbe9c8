"""Sections cut into passages: what is embedded and ranked.

A passage is a few consecutive lines of one section, packed up to a target size. A line longer than that
stands alone; only one of several thousand characters is cut, at sentence ends, into passages that share its
line number. Measured, neither paragraphs nor bullets nor fences make better borders than lines at this size.

Struck lines make passages of their own. Their annotations say so: `struck` in all of them, `replaced-by` with
the lines of the replacement, or `beside` (those of the next entry, a likely one). They have no trigger.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import TYPE_CHECKING, Any

from commonplace.base import filetypes
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import (
    BARE,
    BESIDE,
    DEFAULT,
    FRONT,
    MATTER,
    REPLACED_BY,
    ROLE,
    STRUCK,
    ChunkSettings,
)
from commonplace.markdown import comments, fences, statements, struck, structure, turns
from commonplace.markdown import standing as standing_instructions
from commonplace.markdown.shown import TALK, Completion
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from commonplace.markdown.comments import Annotations
    from commonplace.types import Statement

Stretch = tuple[int, int, str]  # first line, last line, text
_Annotated = tuple[Any, ...]  # and annotations, speakers, what is shown
_Unit = tuple[int, int, int]  # first line, last line, size; plain, since every line makes one


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note into sections and passages.

    Together the passages cover every line but headings (they are in the heading paths), rules, images and
    the placeholders of exports. A note of only such lines has them as its passages, marked as `BARE`; front
    matter is marked as `FRONT`. Struck lines are in the last passages. `code` cuts programs.
    """
    if filetypes.is_code(note.path):
        from commonplace.chunking import code

        return code.split(note, settings)
    strikes = struck.of_note(note)
    unstruck = struck.rest(note, strikes)
    around = structure.sections(note)
    sections: list[Section] = []
    passages: list[Passage] = []
    for section, stretches in chain(
        _unstruck(note, unstruck, around, settings), _struck(note, unstruck, strikes, around, settings)
    ):
        passages += [Passage(len(sections), *stretch) for stretch in stretches]
        sections.append(section)
    is_bare = all((passage.annotations or {}).get(ROLE) == FRONT for passage in passages)
    if is_bare and (bare := _bare(note, unstruck, len(sections), settings)):
        return [*sections, Section((), 1, len(note.lines))], [*passages, *bare]
    return sections, passages


# --- unstruck statements ------------------------------------------------------------------------------------


def _unstruck(
    note: Note, unstruck: Note, around: Sequence[Section], settings: ChunkSettings
) -> Iterator[tuple[Section, Sequence[_Annotated]]]:
    """Yield each section that holds text, with its stretches."""
    said = comments.Annotations(note) or None
    text = "\n".join(unstruck.lines)
    talk, fenced = turns.read(unstruck.lines), structure.lines_of(*note.fences)
    spoken, candidates = talk.chat_openings, standing_instructions.candidates(text)
    underlined = {heading.line for heading in note.headings if structure.is_underlined(note, heading)}
    before = len(around) - len(note.headings)  # sections without a heading
    completion = Completion(unstruck)
    for place, section in enumerate(around if note.lines else ()):
        first, last = section.start_line, section.end_line
        lines = unstruck.lines[first - 1 : last]
        if not place and note.front_matter and sum(map(len, lines)) <= settings.line:
            front = {**((said and said.of(first, last, standing=True)) or {}), ROLE: FRONT}
            yield Section((), first, last), [(first, last, "\n".join(lines), front, ())]
            continue
        skipped = 0 if place < before else 1 + (first in underlined)
        instructions = standing_instructions.instructions(lines, first, candidates) if candidates else {}
        units = _units(lines[skipped:], first + skipped, spoken, fenced)
        if parts := _cut(units, lines, first, settings, said, instructions):
            share = talk.share(number for part in parts for number in range(part[0], part[1] + 1))
            own = ((_said(part, said, instructions), talk.of(*part[:2], chat=share > 0)) for part in parts)
            annotated: list[Any] = [(*part, *about) for part, about in zip(parts, own, strict=True)]
            if share < TALK and (parts[1:] or fences.may_fence(parts[0][2])):
                shown = completion.of_section(annotated)
                annotated = [(*part, more) for part, more in zip(annotated, shown, strict=True)]
            yield Section(section.headings, first, last, share), annotated


def _bare(note: Note, unstruck: Note, section: int, settings: ChunkSettings) -> list[Passage]:
    """Return the passages of a note without text: its headings, rules and images."""
    said = comments.Annotations(note) or None
    start = note.front_matter[1] if note.front_matter else 0
    numbered = enumerate(unstruck.lines[start:], start + 1)
    units = [(number, number, len(line)) for number, line in numbered if line.strip()]
    return [
        Passage(section, first, last, text, {**((said and said.of(first, last)) or {}), ROLE: BARE})
        for first, last, text in _packed(units, unstruck.lines, 1, settings.target)
    ]


def _said(
    part: Stretch, said: Annotations | None, instructions: Mapping[int, str]
) -> Mapping[str, str] | None:
    """Return the annotations of a stretch, with the matter of a standing instruction."""
    first, last, _ = part
    own = said.of(first, last, standing=True) if said else None
    return {**(own or {}), MATTER: instructions[first]} if first == last and first in instructions else own


def _cut(
    units: Iterable[_Unit],
    lines: Sequence[str],
    first: int,
    settings: ChunkSettings,
    said: Annotations | None,
    instructions: Collection[int],
) -> list[Stretch]:
    """Cut a section, whose lines begin at line `first`, into stretches of its units.

    End a passage where the annotations change; long lines and standing instructions stand alone.
    """
    found: list[Stretch] = []
    run: list[_Unit] = []
    for unit in units:
        begin, last, size = unit
        is_alone = begin == last and (begin in instructions or size > settings.line)
        if run and (is_alone or (said is not None and said.differ(run[-1][1], begin))):
            found += _packed(run, lines, first, settings.target)
            run = []
        if is_alone:
            line = lines[begin - first]
            limit = max(40, settings.piece * len(line) // size)
            pieces = [line] if begin in instructions else breakpoints.pieces(line, limit)
            found += [(begin, last, piece) for piece in pieces]
        else:
            run.append(unit)
    return [*found, *_packed(run, lines, first, settings.target)]


def _units(lines: Sequence[str], first: int, spoken: Collection[int], fenced: Collection[int]) -> list[_Unit]:
    """Measure the lines of a section below its heading that say something; they begin at line `first`."""
    units: list[_Unit] = []
    opened = 0  # a line that only opens a turn
    for number, line in enumerate(lines, first):
        if not (bare := line.rstrip()):
            continue
        if number in spoken:
            if opened:
                units.append((opened, opened, 0))
            opened = number
        elif (
            (bare[-1] not in structure.SILENT_ENDS and "\u200e" not in bare)
            or number in fenced
            or not structure.is_silent(line)
        ):
            size = len(line) if line.isascii() else structure.width(line)
            units.append((opened or number, number, size))
            opened = 0
    if opened:
        units.append((opened, opened, 0))
    return units


def _packed(units: Sequence[_Unit], lines: Sequence[str], first: int, target: int) -> Iterator[Stretch]:
    """Yield units of lines, which begin at line `first`, packed up to a size."""
    start = 0
    while start < len(units):
        size, end = units[start][2], start + 1
        while end < len(units) and size + units[end][2] + end - start <= target:
            size += units[end][2]
            end += 1
        begin, last = units[start][0], units[end - 1][1]
        yield begin, last, "\n".join(lines[begin - first : last - first + 1])
        start = end


# --- struck statements --------------------------------------------------------------------------------------


def _struck(
    note: Note, unstruck: Note, strikes: Collection[int], around: Sequence[Section], settings: ChunkSettings
) -> Iterator[tuple[Section, list[_Annotated]]]:
    """Yield an extra section for the struck lines of each section."""
    if strikes:
        starts = [section.start_line for section in around]
        passages = _struck_passages(note, unstruck, strikes, settings)
        for place, stretches in groupby(passages, lambda stretch: bisect_right(starts, stretch[0]) - 1):
            yield around[place], list(stretches)


def _struck_passages(
    note: Note, unstruck: Note, strikes: Collection[int], settings: ChunkSettings
) -> Iterator[_Annotated]:
    """Yield the struck lines, with their marks, and their annotations."""
    said = comments.Annotations(note)
    stated, talk = statements.read(note), turns.read(note.lines)
    owners = {n: at for at, one in enumerate(stated) for n in range(one.first, one.last + 1)}
    numbered = groupby(enumerate(sorted(strikes)), lambda one: (owners.get(one[1], -one[1]), one[1] - one[0]))
    for _, run in numbered:  # lines one after the other of one statement
        first, *_, last = [number for _, number in run] * 2
        marks = {**(said.of(first, last) or {}), STRUCK: "true"}
        marks.pop("trigger", None)
        if first in owners and "superseded-by" not in marks:
            marks |= _replacement(stated, owners[first], marks.get("until", ""), unstruck)
        text = "\n".join(note.lines[first - 1 : last])
        for piece in [text] if len(text) <= settings.line else breakpoints.pieces(text, settings.piece):
            yield first, last, piece, marks, talk.of(first, last, chat=False)


def _replacement(stated: Sequence[Statement], at: int, until: str, unstruck: Note) -> dict[str, str]:
    """Return where the replacement is: the lines of the next entry of the same level and heading.

    The last entry in a struck parent has the replacement of the parent. The key says how likely it is.
    """
    own = stated[at]
    place = bisect_right(stated, own.end, key=lambda one: one.first)
    following = stated[place] if place < len(stated) else None
    if following and following.headings == own.headings and _level(following) == _level(own):
        since = following.said.get("since", "")
        key = REPLACED_BY if since and since >= until else BESIDE
        return {key: f"{following.first}-{following.last}"}
    outer = next((n for n in range(at - 1, -1, -1) if stated[n].end >= own.end), None)
    if outer is None or "".join(unstruck.lines[stated[outer].first - 1 : stated[outer].last]).strip():
        return {}
    return _replacement(stated, outer, until, unstruck)


def _level(statement: Statement) -> tuple[int, bool, int]:
    return structure.indent(statement.item.replace(">", " ")), statement.is_item, statement.item.count(">")
