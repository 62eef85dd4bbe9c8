"""A daily note taken apart into what stays together: headings, entries with what is nested in them, the rest.

Lines are those of the file, private parts, secrets and comments included; what they mean is read from the
note as it is parsed, whose lines have the same numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from commonplace.markdown import statements, struck, structure
from commonplace.markdown.document import parse
from commonplace.redaction.redact import private_parts
from commonplace.types import Note
from commonplace.types.notes import Statement

IMPORTANT = 6  # from this importance on, what a note says is not left out
_LEAD_IN = r"(?m)[:：][*_]*\Z|^(\*\*|__)[^\n]+\1\Z"


@dataclass(frozen=True, slots=True)
class Daily:
    """A daily note on its way into a month: `text` has plain newlines, `archived` is where its bytes go."""

    path: str
    day: str
    archived: str
    text: str


@dataclass(frozen=True, slots=True)
class Block:
    """Lines `first` to `last` of a note that stay together.

    `level` and `title` are a heading's. `entry` is what an entry states, `told` all that it says with what is
    nested in it; `safe` means that it may be left out. `marked` is the line of an entry that takes a
    comment about all of it; 0 for none, since it would stand inside a private part. `lead` is the first line
    of what leads in to it ("Advantages:", before a list), its own for a lead-in; 0 for none.
    """

    kind: Literal["heading", "entry", "rest"]
    path: str
    first: int
    last: int
    lines: tuple[str, ...]
    level: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()
    entry: Statement | None = None
    told: str = ""
    safe: bool = False
    marked: int = 0
    lead: int = 0
    leads: bool = False

    @property
    def below(self) -> tuple[str, int] | None:
        """The lead-in that it stands below: of two, what is said alike is said of two things."""
        return (self.path, self.lead) if self.lead else None


def read(daily: Daily) -> tuple[Note, list[Block]]:
    """Take a note apart; front matter is in no block."""
    note = parse(daily.text, daily.path)
    raw = daily.text.split("\n")[: len(note.lines)]
    private = _private_lines(daily.text)
    found = statements.read(note)
    starts = {block[0].first: block for block in _outermost(found)}
    titles = {heading.line: heading for heading in note.headings}
    blocks: list[Block] = []
    number = note.front_matter[1] + 1 if note.front_matter else 1
    while number <= len(raw):
        if heading := titles.get(number):
            last = number + (structure.atx(note.lines[number - 1]) is None)
            lines = tuple(raw[number - 1 : last])
            blocks.append(Block("heading", note.path, number, last, lines, heading.level, heading.text))
        elif number in starts:
            blocks.append(_entry(note, raw, starts[number], private))
        else:
            last = number
            while last < len(raw) and last + 1 not in titles and last + 1 not in starts:
                last += 1
            blocks.append(Block("rest", note.path, number, last, tuple(raw[number - 1 : last])))
        number = blocks[-1].last + 1
    return note, _led(blocks)


def _led(blocks: Sequence[Block]) -> list[Block]:
    """The blocks with what leads in to them, which lasts until the next heading or paragraph."""
    done: list[Block] = []
    lead, opened = 0, False  # whether nothing stands yet below the last one
    said = [block for block in blocks if block.kind != "rest" or "".join(block.lines).strip()]
    behind = {id(block): after for block, after in pairwise(said)}
    for block in blocks:
        leads = _leads(block, behind.get(id(block)))
        if block.kind == "heading" or (_is_paragraph(block) and not opened):
            lead = 0
        if leads and not opened:
            lead = block.first
        opened = leads or (opened and id(block) not in behind)
        done.append(replace(block, lead=lead, leads=leads))
    return done


def _leads(block: Block, after: Block | None) -> bool:
    """Whether an entry leads in to what stands behind it; one of the clock ends before the next."""
    entry = block.entry
    if entry is None or after is None or after.kind == "heading" or entry.end > entry.last:
        return False
    clocked = after.entry is not None and after.entry.hour
    return re.search(_LEAD_IN, entry.text) is not None and not (entry.hour and clocked)


def _is_paragraph(block: Block) -> bool:
    return block.entry is not None and not block.entry.item.strip()


def _outermost(found: Sequence[Statement]) -> Iterator[list[Statement]]:
    """The statements that are nested in no other, each with those in it."""
    group: list[Statement] = []
    for statement in found:
        if group and statement.first > group[0].end:
            yield group
            group = []
        group.append(statement)
    if group:
        yield group


def _entry(note: Note, raw: Sequence[str], group: Sequence[Statement], private: set[int]) -> Block:
    entry = group[0]
    last = entry.end
    while last < len(raw) and raw[last].lstrip().startswith("<!--") and not note.lines[last].strip():
        last += 1  # comments on lines of their own are about it
    own = range(entry.first, entry.last + 1)
    places = own if structure.ITEM.match(note.lines[entry.first - 1]) else reversed(own)
    return Block(
        "entry",
        note.path,
        entry.first,
        last,
        tuple(raw[entry.first - 1 : last]),
        headings=entry.headings,
        entry=entry,
        told="\n".join([entry.text, *note.lines[entry.last : last]]),
        safe=not any(map(_is_kept, group)) and private.isdisjoint(range(entry.first, last + 1)),
        marked=next((n for n in places if n not in private), 0) if _is_simple(entry, own, private) else 0,
    )


def _is_simple(entry: Statement, own: range, private: set[int]) -> bool:
    """Whether a comment at the end of its first line, or of its last, is about all of it."""
    return entry.item.strip() != "" or own[-1] not in private


def _is_kept(statement: Statement) -> bool:
    """Whether somebody said that it matters: it is not left out, whatever it says."""
    said = statement.said
    told = {"pinned", "status", "trigger", "superseded-by", "until", "since"} & said.keys()
    return (
        bool(told) or statement.struck or int(said.get("importance", "5")) >= IMPORTANT or _strikes(statement)
    )


def _strikes(statement: Statement) -> bool:
    return struck.STRUCK.search(statement.text) is not None


def _private_lines(text: str) -> set[int]:
    """The lines that hold anything of a private part."""
    found: set[int] = set()
    line, done = 1, 0
    for start, end, _ in private_parts(text):
        first = line + text.count("\n", done, start)
        line, done = first + text.count("\n", start, end), end
        found.update(range(first, line + 1))
    return found
