"""A note taken apart into what it states (list items one by one, turns, paragraphs), and new entries written.

Fences, tables, headings, rules and front matter hold no statements.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

from commonplace.base.expressions import lazy
from commonplace.markdown import comments, fences, struck, structure
from commonplace.markdown.comments import Annotations
from commonplace.types import Note
from commonplace.types.notes import Statement

_HOUR = lazy(r"(?P<hour>(?:[01]\d|2[0-3]):[0-5]\d)[ \t]+(?=\S)")
# The hour that an entry begins with, also behind the mark of a list, in brackets or emphasised.
_CLOCK = r"(?:[-*+]|\d{1,9}[.)])?[ \t]*[(\[*`]*((?:[01]?\d|2[0-3]):[0-5]\d)\b"
# A row of a table, a rule, a property of an outline's block, the name of a block alone.
_SILENT = lazy(r"\s*\|| {0,3}(?:[-*_][ \t]*){3,}$|[ \t]+[\w./-]+::(?:\s|$)|\s*\^[A-Za-z0-9-]+\s*$")
_BOX = lazy(r"\[[ xX]\][ \t]+")
_TASK = lazy(r"(?:[-*+][ \t]+)?(\[[ xX]\][ \t]+\S.*)")
_OURS = lazy(r"<!--\s*cp\s*:")
# Marks that would make another block of a paragraph.
_BLOCK = lazy(r"(?:[#>|`~=*+<-]|\d{1,9}[.)]|\[[ xX]\])")


class Place:
    """Where a statement stands: `first` to `last` are its own lines, and what is nested in it ends at `end`.

    A silent place is a fence, a row of a table or a rule. `outer` is the item around it.
    """

    __slots__ = ("_indent", "depth", "end", "first", "is_item", "is_silent", "last", "marks", "outer")

    def __init__(self, number: int, line: str, start: int, *, is_silent: bool) -> None:
        self.first = self.last = self.end = number
        self.depth, self.marks = structure.indent(line), line.count(">", 0, start) if start else 0
        self._indent = structure.indent(line[start:]) if start else self.depth
        self.is_silent, self.is_item = is_silent, structure.ITEM.match(line, start) is not None
        self.outer: Place | None = None

    def holds(self, other: Place) -> bool:
        """Tell whether this is an item, and another place is indented more."""
        less = self._indent < other._indent if self.marks == other.marks else self.depth < other.depth
        return self.is_item and self.marks <= other.marks and less


def read(note: Note) -> list[Statement]:
    """Return the statements of a note in the order of their first lines."""
    said, fenced = comments.Annotations(note), structure.lines_of(*note.fences)
    skipped, found = structure.heading_lines(note), list[Statement]()
    for section in structure.sections(note):
        first, last = section.start_line, section.end_line
        if note.front_matter and first == 1:
            continue
        numbers = [n for n in range(first, last + 1) if n not in skipped]
        stating = (place for place in places(note.lines, numbers, fenced) if not place.is_silent)
        found += filter(None, (_statement(note, place, section.headings, said) for place in stating))
    return found


def places(lines: Sequence[str], numbers: Sequence[int], fenced: Collection[int]) -> list[Place]:
    """Return the places in some lines of a section, in order, silent ones included.

    `fenced` are the lines that are in fences.
    """
    places: list[Place] = []
    gap, marks = True, 0
    for number in numbers:
        line = lines[number - 1]
        start = structure.quoted(line) if ">" in line else 0
        text = line[start:] if start else line
        if number in fenced and number - 1 in fenced:
            gap = True
            if places:
                places[-1].last = number
        elif not text or text.isspace():
            gap = True
        else:
            is_silent = number in fenced or _SILENT.match(text) is not None
            before, marks = marks, line.count(">", 0, start) if start else 0
            if gap or is_silent or marks != before or structure.begins_entry(text):
                places.append(Place(number, line, start, is_silent=is_silent))
            places[-1].last = number
            gap = is_silent or (start > 0 and structure.CALLOUT.match(text) is not None)
    _nest(places)
    return places


def _nest(places: Sequence[Place]) -> None:
    """Say of each place where it ends, and in which item it stands: an item holds what is indented more."""
    around: list[Place] = []  # what a place may still belong to, outermost first: paragraphs only on top
    last = 0
    for place in places:
        while around and not around[-1].holds(place):
            around.pop().end = last
        place.outer = around[-1] if around else None
        if not place.is_silent:
            around.append(place)
        last = place.last
    for place in around:
        place.end = last


def _statement(note: Note, place: Place, headings: tuple[str, ...], said: Annotations) -> Statement | None:
    """Return the statement at a place; None for a place without words."""
    lines = list(note.lines[place.first - 1 : place.last])
    item = lines[0][: structure.opening(lines[0])]
    lines = [line[structure.quoted(line) :] for line in lines] if place.marks else lines
    lines[0] = note.lines[place.first - 1][len(item) :]
    clock = _HOUR.match(lines[0]) if lines[0][2:3] == ":" else None
    if clock:
        lines[0] = lines[0][clock.end() :]
    words = list(filter(None, (structure.unnamed(comments.without(line).strip())[0] for line in lines)))
    plain = struck.read(words) if words else None
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
    """Return the hour that begins a line, as HH:MM, and the text behind it; empty for a line without."""
    match = re.match(_CLOCK, line)
    return (match[1].rjust(5, "0"), line[match.end() :]) if match else ("", line)


def is_pinned(said: Mapping[str, str]) -> bool:
    """Tell whether annotations forbid generated changes."""
    return "pinned" in said


# --- entries ----------------------------------------------------------------------------------------------


def bullet(text: str, time: str | None = None) -> str:
    """Format text as one list item: further lines are indented so that they stay inside it.

    A task gets no time: Obsidian and GitHub do not read `- 14:05 [ ] x` as a task.
    """
    lines = text.strip("\n").rstrip().split("\n")
    if fence := fences.unclosed(lines):  # it would swallow the entries after it
        lines.append(fence.end)
    if fences.opens(lines[0]):
        lines.insert(0, "")  # a fence must start its own line
    first, *rest = lines
    task = _TASK.match(first.strip())
    first, lead = (task[1], "- ") if task else (first, f"- {time} " if time else "- ")
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
    text, item = text.strip(), statement.item.partition("[")[0]  # what opens a callout stays where it is
    if not statement.is_item and "\n" not in text and not _BLOCK.match(text):
        entry = [f"{item}{text}"]
    else:
        item = item if statement.is_item else f"{item}- "
        box = _BOX.match(statement.text)
        text = box[0] + text if box and not _BOX.match(text) else text
        first, *rest = bullet(text).split("\n")
        indent = re.sub(r"[^\s>]", " ", item)
        entry = [item + first.removeprefix("-").lstrip(), *((indent + line[2:]).rstrip() for line in rest)]
    mark = comments.of_marks(since=since, from_=comments.of_sources(from_)) if since or from_ else ""
    return [f"{entry[0]} {mark}".rstrip(), *entry[1:]]


def restated(statement: Statement, raw: Sequence[str], part: str, new: str, *, since: str) -> list[str]:
    """Return the lines of an entry that says a statement with other sentences in the place of `part`.

    `raw` are the lines of the statement, whose comments go along; its day and its sources only where the rest
    stands alone, without anything `new`.
    """
    from commonplace.redaction.redact import strip_private

    before, _, behind = statement.text.partition(part)
    if behind.strip() and new[-1:].isalnum() and not part[-1].isalnum():
        new += part[-1]
    text = f"{before}{new}{behind if new else behind.lstrip(' ')}".lstrip()
    text = "\n".join(filter(str.strip, text.split("\n")))
    first, *rest = beside(statement, f"{statement.hour} {text}".lstrip(), since=since)
    said = (comment[0] for comment in comments.each(strip_private("\n".join(raw))))
    kept = [comment for comment in said if not (new and _OURS.match(comment))]
    return [" ".join([first, *kept]), *rest]
