"""A note taken apart into what it states (list items one by one, turns, paragraphs), and new entries written.

Fences, tables, headings, rules and front matter state nothing that could be struck or refined by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from commonplace.markdown import comments, struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.types import Note
from commonplace.types.notes import Statement

_HOUR = re.compile(r"(?P<hour>(?:[01]\d|2[0-3]):[0-5]\d)[ \t]+(?=\S)")
# The hour that an entry begins with, also behind the mark of a list, in brackets or emphasised.
_CLOCK = r"(?:[-*+]|\d{1,9}[.)])?[ \t]*[(\[*`]*((?:[01]?\d|2[0-3]):[0-5]\d)\b"
# A row of a table, or a rule: lines that state nothing.
_SILENT = re.compile(r"\s*\|| {0,3}(?:[-*_][ \t]*){3,}$")
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_NUMBER = re.compile(r"\d{1,9}")
# What would be more than words at the start of a paragraph.
_BLOCK = re.compile(r"(?:[#>|`~=*+<-]|\d{1,9}[.)]|\[[ xX]\])")


class _Place:
    """Where a statement stands: `first` to `last` are its own lines, and what is nested in it ends at `end`.

    `indent` is -1 for a paragraph.
    """

    __slots__ = ("end", "first", "indent", "last")

    def __init__(self, number: int, indent: int) -> None:
        self.first = self.last = self.end = number
        self.indent = indent


def read(note: Note) -> list[Statement]:
    """Return the statements of a note in the order of their first lines."""
    said = Annotations(note)
    fenced = {number for first, last in note.fences for number in range(first, last + 1)}
    fenced.update([*structure.nested_fences(note.lines, fenced)])
    skipped = structure.heading_lines(note)
    found: list[Statement] = []
    for section in structure.sections(note):
        if note.front_matter and section.start_line == 1:
            continue
        numbers = [n for n in range(section.start_line, section.end_line + 1) if n not in skipped]
        for place in _places(note.lines, numbers, fenced):
            statement = _statement(note, place, section.headings, said)
            if statement:
                found.append(statement)
    return found


def _places(lines: Sequence[str], numbers: Sequence[int], fenced: set[int]) -> list[_Place]:
    """The places of a section that may state something, in order; not all of them hold words."""
    found: list[_Place] = []
    stack: list[_Place] = []  # the statements that a line may still belong to, outermost first
    gap, before = True, 0
    for number in numbers:
        line = lines[number - 1]
        if number in fenced and number - 1 in fenced:
            gap, before = True, number
        elif not line.strip():
            gap = True
        else:
            silent = number in fenced or _SILENT.match(line) is not None
            if gap or silent or structure.begins_entry(line):
                depth = structure.indent(line)
                # They are in order: paragraphs only on top.
                while stack and not 0 <= stack[-1].indent < depth:
                    stack.pop().end = before
                place = _Place(number, depth if structure.ITEM.match(line) else -1)
                stack += [place] * (not silent)
                found += [place] * (not silent)
            if not silent:
                stack[-1].last = number
            gap, before = silent, number
    for place in stack:
        place.end = before
    return found


def _statement(note: Note, place: _Place, headings: tuple[str, ...], said: Annotations) -> Statement | None:
    """What stands at a place; None where no words do."""
    lines = list(note.lines[place.first - 1 : place.last])
    mark = structure.ITEM.match(lines[0]) if place.indent >= 0 else None
    item = mark[0] if mark else lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    lines[0] = lines[0][len(item) :]
    clock = _HOUR.match(lines[0]) if lines[0][2:3] == ":" else None
    if clock:
        lines[0] = lines[0][clock.end() :]
    words = list(filter(None, (comments.without(line).strip() for line in lines)))
    plain = struck.read(words, turn=mark is None)
    text = "\n".join(words if plain is None else plain)
    if not text:
        return None
    return Statement(
        note.path, place.first, place.last, place.end, text, headings,
        said=said.of(place.first, place.first) or {}, struck=plain is not None,
        item=item, hour=clock["hour"] if clock else "",
    )  # fmt: skip


def under(statements: Sequence[Statement], at: int) -> Iterator[Statement]:
    """Yield the statements that are nested in the one at a place."""
    for place in range(at + 1, len(statements)):  # not over a slice, which would copy all of them
        if statements[place].first > statements[at].end:
            return
        yield statements[place]


def clock(line: str) -> tuple[str, str]:
    """Return the hour that a line begins with, as HH:MM, and what stands behind it; empty for none."""
    match = re.match(_CLOCK, line)
    return (match[1].rjust(5, "0"), line[match.end() :]) if match else ("", line)


def is_pinned(said: Mapping[str, str]) -> bool:
    """Tell whether nothing generated may touch what is said so of."""
    return "pinned" in said


# --- entries ----------------------------------------------------------------------------------------------


def bullet(text: str, time: str | None = None) -> str:
    """Format text as one list item: further lines are indented so that they stay inside it."""
    lines = text.strip("\n").rstrip().split("\n")
    if fence := structure.open_fence(lines):  # it would swallow the entries after it
        lines.append(structure.fence_mark(lines[fence - 1]))
    if structure.fence_mark(lines[0]):
        lines.insert(0, "")  # a fence must start its own line
    first, *rest = lines
    lead = f"- {time} " if time else "- "
    return "\n".join([(lead + first.strip()).rstrip(), *(f"  {line}".rstrip() for line in rest)])


def commented(entry: str, comment: str) -> str:
    """Put a comment at the end of an entry's first line."""
    first, *rest = entry.split("\n", 1)
    return "\n".join([f"{first} {comment}", *rest])


def beside(statement: Statement, text: str, *, since: str, from_: Sequence[str] = ()) -> list[str]:
    """Return the lines of a new entry in the manner of an old one: its mark, its depth, the box of a task.

    `since` is the day it holds from, `from_` what it rests on. A paragraph stays one where the text is a line
    of plain words; anything else becomes a list item.
    """
    text = text.strip()
    if not statement.item.strip() and "\n" not in text and not _BLOCK.match(text):
        entry = [f"{statement.item}{text}"]
    else:
        item = statement.item if statement.item.strip() else f"{statement.item}- "
        item = _NUMBER.sub(lambda match: str(int(match[0]) + 1), item, count=1)
        box = _BOX.match(statement.text)
        text = box[0] + text if box and not _BOX.match(text) else text
        first, *rest = bullet(text).split("\n")
        indent = re.sub(r"\S", " ", item)
        entry = [item + first.removeprefix("-").lstrip(), *((indent + line[2:]).rstrip() for line in rest)]
    mark = comments.of_marks(since=since, from_=comments.of_sources(from_)) if since or from_ else ""
    return [f"{entry[0]} {mark}".rstrip(), *entry[1:]]
