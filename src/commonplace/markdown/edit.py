"""How lines change: entries formatted, statements struck where they stand, and unmarked. Pure.

Lines are those of the file, private parts and secrets still in them, without their ends. Marks go around what
is shown; what is hidden stays byte for byte where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.markdown import comments, struck, structure

if TYPE_CHECKING:
    from commonplace.markdown.document import Document
    from commonplace.types.notes import Statement

_HOUR = re.compile(r"[ \t]*\d\d:\d\d (?=\S)")
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_NUMBER = re.compile(r"\d{1,9}")
# What would be more than words at the start of a paragraph.
_BLOCK = re.compile(r"(?:[#>|`~=*+<-]|\d{1,9}[.)]|\[[ xX]\])")


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


# --- statements -------------------------------------------------------------------------------------------


class Shown(NamedTuple):
    """What is shown of a line: its characters, their places in the line, and whether its end is hidden."""

    text: str
    places: tuple[int, ...]
    open_end: bool


Show = Callable[[int], Shown]  # by line, from 0


def strike(document: Document, statement: Statement, mark: str, only: str = "") -> dict[int, str]:
    """Return the lines (from 0) of a statement and what is nested in it as they are struck, with a comment.

    With `only` that stretch of the statement's text alone is struck, of each line its part. Lines without
    words, and what is struck already, stay as they are.
    """
    done: dict[int, str] = {}
    stated = document.statements
    place = bisect_left(stated, statement.first, key=lambda one: one.first)
    while place < len(stated) and stated[place].first <= statement.end:
        spans = _words(stated[place], document.shown_line)
        if only:
            spans = _within(spans, document.shown_line, only)
        for number, (start, end) in spans.items():
            done[number] = _struck(document.bare[number], document.shown_line(number), start, end)
        if only:
            break
        place += 1
    first = statement.first - 1
    before, shown = document.bare[first], document.shown_line(first)
    line = done.get(first, before)
    at = len(line.rstrip())
    if shown.open_end and shown.places:  # the comment goes behind what is shown
        last = max(n for n, character in enumerate(shown.text) if not character.isspace() or not n)
        at = len(line) - (len(before) - shown.places[last] - 1)
    return done | {first: f"{line[:at]} {mark}{line[at:]}"}


def unmark(
    document: Document, statement: Statement, comment: re.Pattern[str], prefix: re.Pattern[str]
) -> dict[int, str]:
    """Return the lines (from 0) that change when a statement loses some comments of its own, and a prefix.

    Comments count on its lines and on those directly below that hold nothing else; private parts stay.
    """
    bare, shown = document.bare, document.shown_line
    below = statement.end
    numbers = [
        number
        for number in range(statement.first - 1, min(len(bare), below))
        if number < statement.last or not shown(number).text.strip()
    ]
    while below < len(bare) and not shown(below).text.strip() and comment.search(bare[below]):
        numbers.append(below)
        below += 1
    done = {number: comment.sub("", bare[number]) for number in numbers}
    first = statement.first - 1
    words = _words(statement, shown, turn=False).get(first)
    if words and (match := prefix.match(shown(first).text, words[0])):
        places = shown(first).places
        start, end = (places[n] for n in (match.start(), min(match.end(), words[1] - 1)))
        done[first] = comment.sub("", bare[first][:start] + bare[first][end:])
    return {number: line for number, line in done.items() if line != bare[number]}


def shown_line(line: str, hidden: Sequence[tuple[int, int]]) -> Shown:
    """Return what is shown of a line: all but private parts, at these places, and whole comments."""
    text: list[str] = []
    places: list[int] = []
    done, inside = 0, False
    for start, end in hidden:
        text.append(line[done : max(start, done)])
        places += range(done, start)
        done = max(done, end)
        inside = inside or start <= len(line) < end
    places += range(done, len(line))
    public = "".join([*text, line[done:]])
    kept: list[str] = []
    where: list[int] = []
    at = 0
    for comment in comments.each(public):
        kept.append(public[at : comment.start()])
        where += places[at : comment.start()]
        at = comment.end()
    return Shown("".join([*kept, public[at:]]), (*where, *places[at:]), inside)


def hidden_in(spans: Sequence[tuple[int, int]], start: int, size: int) -> Iterator[tuple[int, int]]:
    """Yield the hidden places of a line that starts at `start` of the text, relative to the line."""
    place = bisect_right(spans, start, key=lambda span: span[1])
    while place < len(spans) and (first := spans[place][0] - start) <= size:
        yield first, spans[place][1] - start
        place += 1


def _words(statement: Statement, shown: Show, *, turn: bool = True) -> dict[int, tuple[int, int]]:
    """Where the words of a statement stand in what is shown, by line from 0; of a turn behind the name."""
    spans: dict[int, tuple[int, int]] = {}
    for number in range(statement.first - 1, statement.last):
        text = shown(number).text
        start = 0
        opening = number == statement.first - 1
        is_item = statement.item.strip() != ""
        if opening and is_item and (item := structure.ITEM.match(text)):
            start = item.end()
        if opening and statement.hour and (hour := _HOUR.match(text, start)):
            start = hour.end()
        start += struck.lead(text[start:], turn=turn and opening and not is_item)
        end = len(text.rstrip())
        start += len(text[start:]) - len(text[start:].lstrip())
        if start < end:
            spans[number] = start, end
    return spans


def _within(spans: dict[int, tuple[int, int]], shown: Show, only: str) -> dict[int, tuple[int, int]]:
    """Keep of each line the part that a stretch of the text takes; nothing where it is not there as it is."""
    joined = "\n".join(shown(number).text[start:end] for number, (start, end) in spans.items())
    first = joined.find(only)
    last = first + len(only)
    kept: dict[int, tuple[int, int]] = {}
    at = 0
    for number, (start, end) in spans.items() if first >= 0 else ():
        size = end - start
        low, high = max(first - at, 0), min(last - at, size)
        if low < high:
            kept[number] = start + low, start + high
        at += size + 1
    return kept


def _struck(raw: str, shown: Shown, start: int, end: int) -> str:
    """A line with the marks around some of what it shows, and within it the tildes escaped."""
    parts = [(part.start(), part.end()) for part in struck.find(shown.text, start, end)]

    def touches(place: int) -> bool:
        return start <= place < end and not shown.text[place].isspace()

    if any(touches(low - 1) or touches(high) for low, high in parts):
        parts = []  # a mark touches a word beside it: all is struck as one
    done, at, word = "", 0, start
    for low, high in [*parts, (end, end)]:
        words = shown.text[word:low]
        if words.strip():  # it is not struck yet
            first = word + len(words) - len(words.lstrip())
            last = word + len(words.rstrip())
            done += f"{raw[at : shown.places[first]]}~~{_inside(raw, shown, first, last)}~~"
            at = shown.places[last - 1] + 1
        word = high
    return done + raw[at:]


def _inside(raw: str, shown: Shown, low: int, high: int) -> str:
    """The raw characters of a stretch; what is shown of it without marks of its own and with escapes."""
    marks: set[int] = set()
    for part in struck.find(shown.text, low, high):
        marks |= {part.start(), part.start() + 1, part.end() - 2, part.end() - 1}
    kept = [n for n in range(low, high) if n not in marks]
    written = dict(zip(kept, struck.escapes("".join(shown.text[n] for n in kept)), strict=True))
    places = {shown.places[n]: written.get(n, "") for n in range(low, high)}
    return "".join(places.get(n, raw[n]) for n in range(shown.places[low], shown.places[high - 1] + 1))
