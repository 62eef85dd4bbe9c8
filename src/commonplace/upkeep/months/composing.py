"""Daily notes put together as the note of their month, in the words that stand in them.

Each line knows where it came from, so that references can follow it. Nothing that the monthly note held
before is touched: days are added in their order, and what is new of a day at the end of what stands there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from commonplace.language import compare
from commonplace.language.compare import Wording
from commonplace.markdown import comments
from commonplace.markdown.document import parse
from commonplace.markdown.structure import ITEM
from commonplace.upkeep.months import blocks as reading
from commonplace.upkeep.months import leaving, repeats, sections
from commonplace.upkeep.months.blocks import Block, Daily
from commonplace.upkeep.months.leaving import Left
from commonplace.upkeep.months.repeats import Repeat
from commonplace.upkeep.months.sections import Line, Origin

STANDING = "stands there already"


@dataclass(frozen=True, slots=True)
class Composed:
    """A month's note: its text, where each line of the daily notes stands in it, and what was left out.

    `places` holds the lines of what the note was before as well, since they may have moved.
    """

    text: str
    places: Mapping[Origin, int]
    left: tuple[Left, ...]


def compose(
    month: str, path: str, dailies: Sequence[Daily], existing: str = "", more: Sequence[Repeat] = ()
) -> Composed:
    """Put daily notes, in their order, together as the note of a month (YYYY-MM) that lies at `path`.

    `existing` is what it holds already, and none of it is touched; `more` are
    repetitions that a model points at.
    """
    before = existing.removesuffix("\n").split("\n") if existing else []
    lines: list[Line] = [(line.removesuffix("\r"), (path, n)) for n, line in enumerate(before, 1)]
    standing = reading.read(Daily(path, "", "", "\n".join(line for line, _ in lines)))[1]
    read = [(daily, *reading.read(daily)) for daily in dailies]
    left = _left_out([(daily.day, found) for daily, _, found in read], more)
    for daily, note, found in read:
        heading = sections.heading(daily, note, found, {text for _, _, text in _days(lines)})
        gone = {item.block.first for item in left if item.block.path == daily.path}
        left += _doubled(heading.label, [block for block in found if block.first not in gone], standing)
        out = {item.block.first for item in left if item.block.path == daily.path}
        if section := sections.written(daily, note, found, out):
            lines = _inserted(lines or [(f"# {month}", None)], heading, section)
    places = {origin: number for number, (_, origin) in enumerate(lines, 1) if origin}
    for item in reversed(left):  # what stands in for one may be left out for a later one
        _follow(places, item)
    return Composed(_text(lines, path, before), places, tuple(left))


def _left_out(days: Sequence[tuple[str, Sequence[Block]]], more: Sequence[Repeat]) -> list[Left]:
    """What of the days need not be said again, by rules and by the repetitions that a model points at."""
    left = leaving.choose(days)
    return left + repeats.choose(more, days, left) if more else left


def _text(lines: Sequence[Line], path: str, before: Sequence[str]) -> str:
    """The note: what stood there with the ends of its lines, the rest with those that it has."""
    end = "\r\n" if any(line.endswith("\r") for line in before) else "\n"
    own = {origin: before[origin[1] - 1] for _, origin in lines if origin and origin[0] == path}
    return "".join(f"{own[o]}\n" if o in own else f"{line}{end}" for line, o in lines)


def _doubled(label: str, found: Sequence[Block], standing: Sequence[Block]) -> Iterator[Left]:
    """What of a day's note stands under its heading already."""
    under = [block for block in standing if label in block.headings]
    entries = [(block, compare.read(block.told)) for block in under if block.kind == "entry"]
    rest = "\n\n".join("\n".join(block.lines) for block in under if block.kind == "rest")
    lists = {_said(blocks): blocks for blocks in _lists(under).values()}
    twins = {
        block.first: other
        for own in _lists(found).values()
        for block, other in zip(own, lists.get(_said(own), ()), strict=False)
    }
    for block in found:
        if block.lead:
            if other := twins.get(block.first):
                yield Left(block, STANDING, other)
        elif block.kind == "rest" and (text := "\n".join(block.lines).strip()) and text in rest:
            yield Left(block, STANDING)
        elif block.kind == "entry" and (other := _like(block, entries)):
            yield Left(block, STANDING, other)


def _like(block: Block, entries: Sequence[tuple[Block, Wording]]) -> Block | None:
    """The first of some entries that says what a block says."""
    said = compare.read(block.told)
    for other, told in entries:
        alike = block.safe and other.safe and leaving.says_same(block, other, said, told)
        if alike or _bare(block) == _bare(other):
            return other
    return None


def _lists(found: Sequence[Block]) -> dict[int, list[Block]]:
    """What stands below each lead-in, and the lead-in: of that all stands there already, or nothing."""
    lists: dict[int, list[Block]] = {}
    for block in found:
        if block.lead and _bare(block):
            lists.setdefault(block.lead, []).append(block)
    return lists


def _said(blocks: Sequence[Block]) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(_bare(block)) for block in blocks)


def _bare(block: Block) -> list[str]:
    """The lines of an entry without what is said of it."""
    return [bare for line in block.lines if (bare := comments.without(line, blanks=True).rstrip())]


def _follow(places: dict[Origin, int], left: Left) -> None:
    """Let references to what is left out lead to what says the same."""
    instead = left.instead
    place = places.get((instead.path, instead.first)) if instead else None
    if place:
        for number in range(left.block.first, left.block.last + 1):
            places.setdefault((left.block.path, number), place)


# --- into the month -------------------------------------------------------------------------------------


def _inserted(lines: list[Line], heading: sections.Heading, section: list[Line]) -> list[Line]:
    """Add the section of a day: at the end of the one that has its name, or before that of a later day."""
    days = list(_days(lines))
    for start, end, text in days:
        if text == heading.label:
            lead, rest = _parted(section)
            lines = _added(lines, start + 1, end, rest)
            return _added(lines, start + 1, _lead_end(lines, start + 1, end), lead)
    dated = ((start, text) for start, _, text in days if re.match(r"\d{4}-\d{2}-\d{2}", text))
    later = (start for start, text in dated if text[:10] > heading.label[:10])
    at = next(later, len(lines))
    return _added(lines, 0, at, [heading.line, ("", None), *section])


def _days(lines: Sequence[Line]) -> Iterator[tuple[int, int, str]]:
    """Place of each heading of the second level, place after its section, and its text."""
    note = parse("\n".join(line for line, _ in lines), "memory/month.md")
    found = [heading for heading in note.headings if heading.level <= 2]
    for place, heading in enumerate(found):
        end = found[place + 1].line - 1 if place + 1 < len(found) else len(lines)
        if heading.level == 2:
            yield heading.line - 1, end, heading.text


def _parted(section: list[Line]) -> tuple[list[Line], list[Line]]:
    """The lines before the first heading of a section, and those from there on."""
    note = parse("\n".join(line for line, _ in section), "memory/month.md")
    at = note.headings[0].line - 1 if note.headings else len(section)
    return section[:at], section[at:]


def _lead_end(lines: Sequence[Line], start: int, end: int) -> int:
    """Place after what stands in a section before its first heading."""
    return start + len(_parted(list(lines[start:end]))[0])


def _added(lines: list[Line], start: int, end: int, more: Sequence[Line]) -> list[Line]:
    """Insert lines behind what is not blank between two places."""
    last = next((n for n in range(len(more), 0, -1) if more[n - 1][0].strip()), 0)
    more = more[:last]
    if not more:
        return lines
    while end > start and not lines[end - 1][0].strip():
        end -= 1
    before, after = lines[:end], lines[end:]
    joined = before and ITEM.match(before[-1][0]) and ITEM.match(more[0][0])
    gap = [("", None)] if before and before[-1][0].strip() and not joined else []
    close = [("", None)] if after and after[0][0].strip() else []
    return [*before, *gap, *more, *close, *after]


def heading_above(lines: Sequence[str], number: int) -> tuple[int, str]:
    """The line and the text of the heading of a day that a line, from 1, stands under; 0 for none."""
    for place in range(number, 0, -1):
        if lines[place - 1].startswith("## "):
            return place, " ".join(comments.without(lines[place - 1][3:], blanks=True).split())
    return 0, ""
