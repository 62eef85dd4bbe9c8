"""Statements struck out where they stand, and new ones in their manner: pure, on the lines of the raw file.

Lines come as the file has them, private parts and secrets still in them, with their ends or without. Marks
are put around what is shown; what is hidden stays byte for byte where it is.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import NamedTuple

from commonplace.chunking import statements, strikes
from commonplace.notes import comments, layout
from commonplace.notes.parse import parse
from commonplace.notes.redact import private_parts
from commonplace.types.statements import Statement

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+\Z")
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_HOUR = re.compile(r"[ \t]*\d\d:\d\d (?=\S)")
_BOX = re.compile(r"\[[ xX]\][ \t]+")
_NUMBER = re.compile(r"\d{1,9}")
# What would be more than words at the start of a paragraph.
_STRUCTURE = re.compile(r"(?:[#>|`~=*+<-]|\d{1,9}[.)]|\[[ xX]\])")


class _Shown(NamedTuple):
    """What is shown of a line: its characters, their places in the raw line, and whether its end is."""

    text: str
    places: tuple[int, ...]
    open_end: bool


def split(text: str) -> list[str]:
    """Return the lines of a file as notes count them, each with its end; joined they are the text."""
    return _LINE.findall(text)


class Raw:
    """The lines of a file that are being changed, with their ends; it is parsed once for all changes."""

    def __init__(self, lines: Sequence[str], path: str, stated: list[Statement] | None = None) -> None:
        """Take the lines of the note at `path`, and what they state where that is known."""
        self._lines, self._path = lines, path
        if stated is not None:
            self._statements = stated
        self._bare = [line.rstrip("\r\n") for line in lines]
        self._done = list(self._bare)

    @property
    def lines(self) -> list[str]:
        """All lines as they are now, as many as before."""
        each = zip(self._done, self._bare, self._lines, strict=True)
        return [line + raw[len(old) :] for line, old, raw in each]

    def strike(
        self,
        statement: Statement,
        *,
        until: str,
        by: str = "owner",
        agent: str = "",
        to: str = "",
        only: str = "",
    ) -> None:
        """Strike a statement and what is nested in it; a comment says so.

        `until` is the day, `by` and `agent` who strikes it, `to` where the replacement stands unless it is
        the next entry. With `only` that stretch of the statement's text alone is struck, of each line its
        part. Lines without words, and what is struck already, stay as they are.
        """
        stated = self._statements
        place = bisect_left(stated, statement.first, key=lambda one: one.first)
        while place < len(stated) and stated[place].first <= statement.end:
            spans = _words(stated[place], self._shown)
            if only:
                spans = _within(spans, self._shown, only)
            for number, (start, end) in spans.items():
                self._done[number] = _strike(self._bare[number], self._shown(number), start, end)
            if only:
                break
            place += 1
        mark = comments.of_marks(until=until, by=by, agent=agent, to=to)
        first = statement.first - 1
        self._done[first] = _marked(self._done[first], self._bare[first], self._shown(first), mark)

    def unmark(self, statement: Statement, comment: re.Pattern[str], prefix: re.Pattern[str]) -> bool:
        """Take some comments of its own, and a prefix, off a statement; whether there were any.

        Comments count on its lines and on those directly below that hold nothing else; private parts stay.
        """
        bare = self._bare
        below = statement.end
        numbers = [
            number
            for number in range(statement.first - 1, min(len(bare), below))
            if number < statement.last or not self._shown(number).text.strip()
        ]
        while below < len(bare) and not self._shown(below).text.strip() and comment.search(bare[below]):
            numbers.append(below)
            below += 1
        before = [self._done[number] for number in numbers]
        for number in numbers:
            self._done[number] = comment.sub("", bare[number])
        first = statement.first - 1
        words = _words(statement, self._shown, turn=False).get(first)
        shown = self._shown(first)
        if words and (found := prefix.match(shown.text, words[0])):
            start, end = (shown.places[n] for n in (found.start(), min(found.end(), words[1] - 1)))
            self._done[first] = comment.sub("", bare[first][:start] + bare[first][end:])
        return before != [self._done[number] for number in numbers]

    @cached_property
    def _statements(self) -> list[Statement]:
        return statements.read(parse("\n".join(self._bare), self._path))

    @cached_property
    def _hidden(self) -> list[tuple[int, int]]:
        text = "\n".join(self._bare)
        return [(start, end) for start, end, _ in private_parts(text)] if "<" in text else []

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *accumulate(len(line) + 1 for line in self._bare)]

    @cached_property
    def _known(self) -> dict[int, _Shown]:
        return {}

    def _shown(self, number: int) -> _Shown:
        """What is shown of a line, from 0: all but private parts and whole comments."""
        if number not in self._known:
            line, at = self._bare[number], self._starts[number]
            text: list[str] = []
            places: list[int] = []
            done, inside = 0, False
            place = bisect_right(self._hidden, at, key=lambda span: span[1])
            while place < len(self._hidden) and (start := self._hidden[place][0] - at) <= len(line):
                end = self._hidden[place][1] - at
                text.append(line[done : max(start, done)])
                places += range(done, start)
                done = max(done, end)
                inside = inside or start <= len(line) < end
                place += 1
            places += range(done, len(line))
            self._known[number] = _without_comments("".join([*text, line[done:]]), places, inside)
        return self._known[number]


def beside(statement: Statement, text: str, *, since: str, from_: Sequence[str] = ()) -> list[str]:
    """Return the lines of a new entry in the manner of an old one: its mark, its depth, the box of a task.

    `since` is the day it holds from, `from_` what it rests on. A paragraph stays one where the text is a line
    of plain words; anything else becomes a list item. Lines come without ends.
    """
    mark = comments.of_marks(since=since, from_=comments.of_sources(from_)) if since or from_ else ""
    if not statement.item.strip() and "\n" not in text.strip() and not _STRUCTURE.match(text.strip()):
        entry = [f"{statement.item}{text.strip()}"]
    else:
        item = statement.item if statement.item.strip() else f"{statement.item}- "
        item = _NUMBER.sub(lambda found: str(int(found[0]) + 1), item, count=1)
        box = _BOX.match(statement.text)
        text = box[0] + text if box and not _BOX.match(text) else text
        first, *rest = layout.bullet(text).split("\n")
        indent = re.sub(r"\S", " ", item)
        entry = [item + first.removeprefix("-").lstrip(), *((indent + line[2:]).rstrip() for line in rest)]
    return [f"{entry[0]} {mark}".rstrip(), *entry[1:]]


def is_item(line: str) -> bool:
    """Whether a line opens an item of a list."""
    return _ITEM.match(line) is not None


def with_entry(lines: Sequence[str], after: int, entry: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a file with new ones behind one of them, in the newlines that stand around it."""
    above = lines[after - 1]
    end = above[len(above.rstrip("\r\n")) :]
    between = end or next((line[len(line.rstrip("\r\n")) :] for line in lines), "") or "\n"
    yield from lines[: after - 1]
    yield above if end else above + between
    yield from (line + between for line in entry[:-1])
    yield entry[-1] + end
    yield from lines[after:]


def _without_comments(text: str, places: Sequence[int], inside: bool) -> _Shown:
    kept: list[str] = []
    where: list[int] = []
    at = 0
    for found in comments.each(text):
        kept.append(text[at : found.start()])
        where += places[at : found.start()]
        at = found.end()
    return _Shown("".join([*kept, text[at:]]), (*where, *places[at:]), inside)


def _words(
    statement: Statement, shown: Callable[[int], _Shown], *, turn: bool = True
) -> dict[int, tuple[int, int]]:
    """Where the words of a statement stand in what is shown, by line from 0; of a turn behind the name."""
    found: dict[int, tuple[int, int]] = {}
    for number in range(statement.first - 1, statement.last):
        text = shown(number).text
        start = 0
        opening = number == statement.first - 1
        if opening and statement.item.strip() and (item := _ITEM.match(text)):
            start = item.end()
        if opening and statement.hour and (hour := _HOUR.match(text, start)):
            start = hour.end()
        start += strikes.lead(text[start:], turn=turn and opening and not statement.item.strip())
        end = len(text.rstrip())
        start += len(text[start:]) - len(text[start:].lstrip())
        if start < end:
            found[number] = start, end
    return found


def _within(
    spans: dict[int, tuple[int, int]], shown: Callable[[int], _Shown], only: str
) -> dict[int, tuple[int, int]]:
    """Keep of each line the part that a stretch of the text takes; nothing where it is not there as it is."""
    joined = "\n".join(shown(number).text[start:end] for number, (start, end) in spans.items())
    first = joined.find(only)
    if first < 0:
        return {}
    last = first + len(only)
    kept: dict[int, tuple[int, int]] = {}
    at = 0
    for number, (start, end) in spans.items():
        size = end - start
        low, high = max(first - at, 0), min(last - at, size)
        if low < high:
            kept[number] = start + low, start + high
        at += size + 1
    return kept


def _strike(raw: str, shown: _Shown, start: int, end: int) -> str:
    """A line with the marks around some of what it shows, and within it the tildes escaped."""
    done, at = "", 0
    for low, high in _standing(shown.text, start, end):
        first, last = shown.places[low], shown.places[high - 1] + 1
        done += f"{raw[at:first]}~~{_inside(raw, shown, low, high)}~~"
        at = last
    return done + raw[at:]


def _standing(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the stretches that are not struck yet; all as one where a mark touches a word beside it."""
    parts = [(found.start(), found.end()) for found in strikes.find(text, start, end)]
    if any(_touches(text, low - 1, start, end) or _touches(text, high, start, end) for low, high in parts):
        parts = []
    at = start
    for low, high in [*parts, (end, end)]:
        words = text[at:low]
        if words.strip():
            yield at + len(words) - len(words.lstrip()), at + len(words.rstrip())
        at = high


def _touches(text: str, place: int, start: int, end: int) -> bool:
    return start <= place < end and not text[place].isspace()


def _inside(raw: str, shown: _Shown, low: int, high: int) -> str:
    """The raw characters of a stretch; what is shown of it without marks of its own and with escapes."""
    marks: set[int] = set()
    for found in strikes.find(shown.text, low, high):
        marks |= {found.start(), found.start() + 1, found.end() - 2, found.end() - 1}
    kept = [n for n in range(low, high) if n not in marks]
    written = dict(zip(kept, strikes.escapes("".join(shown.text[n] for n in kept)), strict=True))
    places = {shown.places[n]: written.get(n, "") for n in range(low, high)}
    return "".join(places.get(n, raw[n]) for n in range(shown.places[low], shown.places[high - 1] + 1))


def _marked(line: str, before: str, shown: _Shown, mark: str) -> str:
    """A line with a comment at its end, or behind what is shown where its end is hidden."""
    at = len(line.rstrip())
    if shown.open_end and shown.places:
        last = max(n for n, character in enumerate(shown.text) if not character.isspace() or not n)
        at = len(line) - (len(before) - shown.places[last] - 1)
    return f"{line[:at]} {mark}{line[at:]}"
