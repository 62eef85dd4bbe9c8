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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING

from commonplace.base import filetypes
from commonplace.chunking import breakpoints
from commonplace.chunking.settings import BESIDE, DEFAULT, REPLACED_BY, STRUCK, ChunkSettings
from commonplace.markdown import struck, structure
from commonplace.types import Note, Passage, Section

if TYPE_CHECKING:
    from commonplace.markdown.comments import Annotations
    from commonplace.markdown.struck import Strikes
    from commonplace.types import Statement

Stretch = tuple[int, int, str]  # first line, last line, text
# First line, last line and size of a line, or of a fence that stays whole; plain, since every line makes one.
_Unit = tuple[int, int, int]


def split(note: Note, settings: ChunkSettings = DEFAULT) -> tuple[list[Section], list[Passage]]:
    """Cut a note into sections and passages.

    Together the passages cover every non-blank line but the headings of sections that hold more than their
    heading; those stand in the sections' heading paths. What is struck is in none of them but the last, which
    say so. Code is cut by `code`, along its syntax.
    """
    if filetypes.of(note.path) is not None:
        from commonplace.chunking import code

        return code.split(note, settings)
    said = _said(note)
    strikes = struck.of_note(note)
    standing = struck.rest(note, strikes) if strikes else note
    headings = structure.heading_lines(note) if settings.by_heading else set[int]()
    around = structure.sections(note) if settings.by_heading else [Section((), 1, len(note.lines))]
    found: list[Section] = []
    passages: list[Passage] = []
    for section in around if note.lines else ():
        first, last = section.start_line, section.end_line
        if {first, last} <= headings and last <= first + 1:  # nothing stands below the heading
            parts = [(first, last, "\n".join(standing.lines[first - 1 : last]))]
        else:
            parts = list(_cut(standing, section, settings, said))
        if parts:
            share = structure.share([line for _, _, text in parts for line in text.split("\n")])
            found.append(replace(section, turns=share))
            number = len(found) - 1
            for a, b, text in parts:
                own = said.of(a, b, standing=True) if said else None
                passages.append(Passage(number, a, b, text, own))
    if strikes:
        _add_former(note, strikes, settings, around, found, passages)
    return found, passages


def _said(note: Note) -> Annotations | None:
    """What a note says of its lines; None where it says nothing, as nearly all do."""
    if not (note.annotations or note.metadata):
        return None
    from commonplace.markdown.comments import Annotations

    return Annotations(note) or None


def _add_former(
    note: Note,
    strikes: Strikes,
    settings: ChunkSettings,
    around: Sequence[Section],
    found: list[Section],
    passages: list[Passage],
) -> None:
    """Add what is struck behind all else, in sections of its own: it is beside nothing that stands."""
    starts, before = [section.start_line for section in around], -1
    for first, last, text, own in _former(note, strikes, settings):
        place = bisect_right(starts, first) - 1
        if place != before:
            found.append(around[place])
            before = place
        passages.append(Passage(len(found) - 1, first, last, text, own))


# --- what stands --------------------------------------------------------------------------------------------


def _cut(
    note: Note, section: Section, settings: ChunkSettings, said: Annotations | None
) -> Iterator[Stretch]:
    """Yield first line, last line and text of a section's passages."""
    lines = note.lines
    for run in _runs(note, section, settings, said):
        first, last, size = run[0]
        if size > settings.line and first == last:
            limit = max(40, settings.piece * len(lines[first - 1]) // size)
            for piece in breakpoints.pieces(lines[first - 1], limit):
                yield first, last, piece
            continue
        for start, end in _pack(run, note, settings):
            first, last = run[start][0], run[end - 1][1]
            yield first, last, "\n".join(lines[first - 1 : last])


def _runs(
    note: Note, section: Section, settings: ChunkSettings, said: Annotations | None
) -> Iterator[list[_Unit]]:
    """Yield the non-blank lines of a section in runs that may share passages.

    A line that is too long is a run, and a run ends where the note says of a line what it does not say of the
    one before.
    """
    run: list[_Unit] = []
    was_long = False
    for unit in _units(note, section, settings):
        first, last, size = unit
        is_long = size > settings.line and first == last
        if run and (is_long or was_long or (said is not None and said.differ(run[-1][1], first))):
            yield run
            run = []
        run.append(unit)
        was_long = is_long
    if run:
        yield run


def _units(note: Note, section: Section, settings: ChunkSettings) -> list[_Unit]:
    """The non-blank lines of a section, or its heading where there are none."""
    skip = structure.heading_lines(note, section) if settings.by_heading else frozenset[int]()
    fences = _whole_fences(note, section, settings.fence) if settings.fence else {}
    wide = settings.wide
    units: list[_Unit] = []
    after = 0  # the last line of the fence that is being passed over
    for number, line in enumerate(note.lines[section.start_line - 1 : section.end_line], section.start_line):
        if number <= after or not line or number in skip or line.isspace():
            continue
        if number in fences:
            units.append(fences[number])
            after = units[-1][1]
        else:
            units.append((number, number, len(line) if line.isascii() else breakpoints.width(line, wide)))
    if not units and skip:
        units.append((min(skip), max(skip), 1))
    return units


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


def _pack(units: Sequence[_Unit], note: Note, settings: ChunkSettings) -> Iterator[tuple[int, int]]:
    """Yield index ranges (start, end) of units packed up to the target size."""
    sizes = [unit[2] for unit in units]
    score = cache(lambda place: breakpoints.score(note, units[place][0]))  # windows overlap
    start = index = size = 0
    while index < len(sizes):
        if index > start and size + sizes[index] + index - start > settings.target:
            end = index
            if settings.window:
                end = breakpoints.choose(sizes[start:index], score, start, index, settings.window)
            yield start, end
            # The next begins here, or earlier by whole units within the overlap.
            begin, repeated = end, 0
            while begin - 1 > start and repeated + sizes[begin - 1] <= settings.overlap:
                begin -= 1
                repeated += sizes[begin]
            start = begin
            size = sum(sizes[start:index])
            continue
        size += sizes[index]
        index += 1
    if start < len(sizes):
        yield start, len(sizes)


# --- what is struck -----------------------------------------------------------------------------------------


def _former(
    note: Note, strikes: Strikes, settings: ChunkSettings
) -> Iterator[tuple[int, int, str, Mapping[str, str]]]:
    """Yield the lines that hold struck text, as they stand, and what is said of them.

    Lines one after the other of one statement share a passage, as many as it holds.
    """
    from commonplace.markdown import comments, statements

    said = comments.Annotations(note)
    stated = statements.read(note)
    owners = {n: at for at, one in enumerate(stated) for n in range(one.first, one.last + 1)}
    runs: list[list[int]] = []
    size = 0
    for number in sorted(strikes):
        width = breakpoints.width(note.lines[number - 1], settings.wide)
        run = runs[-1] if runs else [0]
        joins = number == run[-1] + 1 and owners.get(number, -1) == owners.get(run[0], -2)
        if joins and size + width < settings.target:
            run.append(number)
            size += width + 1
        else:
            runs.append([number])
            size = width + 1
    for run in runs:
        own = dict(said.of(run[0], run[-1]) or {})
        own.pop("trigger", None)
        own[STRUCK] = "true"
        if run[0] in owners and "superseded-by" not in own:
            own |= _replacement(stated, owners[run[0]], own.get("until", ""), note, strikes)
        text = "\n".join(note.lines[run[0] - 1 : run[-1]])
        for piece in [text] if len(text) <= settings.line else breakpoints.pieces(text, settings.piece):
            yield run[0], run[-1], piece, own


def _replacement(
    stated: Sequence[Statement], at: int, until: str, note: Note, strikes: Strikes
) -> dict[str, str]:
    """Where what stands in the place of a statement is to be found: its lines, and how sure that is.

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
    if outer is None:
        return {}
    numbers = range(stated[outer].first, stated[outer].last + 1)
    is_gone = all(
        n in strikes and not struck.without(note.lines[n - 1], strikes[n])
        for n in numbers
        if note.lines[n - 1].strip()
    )
    return _replacement(stated, outer, until, note, strikes) if is_gone else {}


def _level(statement: Statement) -> tuple[int, bool]:
    return structure.indent(statement.item), bool(statement.item.strip())
