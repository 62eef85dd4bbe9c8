"""What is struck out of a note (`~~…~~`): which characters of which lines, and what is left of them.

As GitHub's Markdown has it, within a paragraph, over its line ends too, but never inside code, addresses or
comments. Unlike there, only what stands blank beside a mark keeps it from counting, since Chinese has no
blanks around it, and one tilde strikes nothing: it says "about".
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import NamedTuple

from commonplace.chunking import sections, strikes, turns
from commonplace.notes import languages
from commonplace.types import Note

MARK = "~~"
_ITEM = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
# What stays outside of the marks: quotation marks, the mark of a list, a box, the hour.
_LEAD = re.compile(
    r"[ \t]*(?:>[ \t]*)*(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*(?:\[[ xX]\](?:[ \t]+|$))?"
    r"(?:(?:[01]?\d|2[0-3]):[0-5]\d(?:[ \t]+|$))?"
)
# What may hide a mark begins with one of these; the others are the marks themselves.
_SIGN = re.compile(
    r"\\[!-/:-@\[-`{-~]|`+|<!--|<(?=[A-Za-z/])|\]\(|(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://|~+"
)
_TAG = re.compile(r"<[^<>\n]{0,1000}>")
_TARGET = re.compile(r"\]\([^()\s]{0,2000}+(?:\([^()\s]{0,2000}+\)[^()\s]{0,2000}+)?[^()\n]{0,200}+\)")
_ADDRESS = re.compile(r"[!-;=?-~\u00a1-\u2bff]+")  # no blank, no angle, nothing of a script without blanks
_ADDRESS_END = "?!.,:;*_~\"')]"
_TICKS = re.compile(r"`+")
_WORD = re.compile(r"[^\W_]")


class Strike(NamedTuple):
    """Struck characters of one line, marks included; `opens` and `closes` tell whether a mark is there."""

    start: int
    end: int
    opens: bool = True
    closes: bool = True


Strikes = Mapping[int, Sequence[Strike]]  # by line, 1-based


def of_note(note: Note) -> Strikes:
    """Return what is struck in a note; nothing in programs, transcripts, fences, headings, front matter."""
    marked = [number for number, line in enumerate(note.lines, 1) if MARK in line]
    if not marked or note.kind == "session" or languages.of(note.path) is not None:
        return {}
    passed = {number for first, last in note.fences for number in range(first, last + 1)}
    passed.update(range(1, note.front_matter[1] + 1) if note.front_matter else ())
    passed |= sections.all_heading_lines(note)
    return of_lines(note.lines, passed)


def of_lines(lines: Sequence[str], passed: Collection[int] = ()) -> Strikes:
    """Return what is struck in lines, by line; those that are passed over (1-based) end a paragraph."""
    found: dict[int, list[Strike]] = {}
    whole = {
        number: own
        for number, line in enumerate(lines, 1)
        if MARK in line and number not in passed and (own := _whole(line))
    }
    found.update(whole)
    for first, last in _paragraphs(lines, {*passed, *whole}):
        block = lines[first - 1 : last]
        if sum(line.count(MARK) for line in block) < 2:
            continue
        starts = [0, *accumulate(len(line) + 1 for line in block)]
        for start, end in _pairs("\n".join(block)):
            _spread(block, starts, first, start, end, found)
    return found


def without(line: str, own: Sequence[Strike]) -> str:
    """Return a line without what is struck in it; an empty one where nothing is said any more."""
    behind: list[str] = []  # what is left, last first
    stop = len(line)
    for strike in reversed(own):
        behind.append(line[strike.end : stop])
        stop = strike.start
        if not stop or line[stop - 1].isspace():
            while behind and not behind[-1].lstrip():
                behind.pop()
            behind[-1:] = [part.lstrip() for part in behind[-1:]]
    line = "".join([line[:stop], *reversed(behind)])
    return line.rstrip() if says_something(line) else ""


def unmarked(line: str, own: Sequence[Strike]) -> str:
    """Return a line with what is struck in it, but without the marks."""
    parts: list[str] = []
    at = 0
    for strike in own:
        start = strike.start + len(MARK) * strike.opens
        end = strike.end - len(MARK) * strike.closes
        parts += (line[at : strike.start], line[start:end])
        at = strike.end
    return "".join([*parts, line[at:]])


def rest(note: Note, struck: Strikes) -> Note:
    """Return a note without what is struck; a line of which nothing is left stays as an empty one."""
    lines = list(note.lines)
    for number, own in struck.items():
        lines[number - 1] = without(lines[number - 1], own)
    return replace(note, lines=tuple(lines))


def says_something(line: str) -> bool:
    """Whether a line says something beside the mark of a list, a box, the hour and who speaks."""
    words = line[_lead(line) :].strip()
    return not _is_label(words) and _WORD.search(words) is not None


def _lead(line: str) -> int:
    found = _LEAD.match(line)
    return found.end() if found else 0


def _whole(line: str) -> list[Strike]:
    """What is struck of a line that is so from end to end, whatever it says: so corrections are written."""
    at = _lead(line)
    if strikes.read([line[at:]], turn=True) is None:
        return []
    return [Strike(*found.span()) for found in strikes.find(line, at, len(line))]


def _is_label(words: str) -> bool:
    return turns.speaker(words) is not None and words.rstrip("*_ ")[-1:] in ":："


def _paragraphs(lines: Sequence[str], passed: Collection[int]) -> Iterator[tuple[int, int]]:
    """First and last line of what may be struck in one."""
    first = 0
    for number, line in enumerate(lines, 1):
        skipped = number in passed or not line or line.isspace()
        if first and (skipped or _begins(line) or lines[number - 2].lstrip().startswith("|")):
            yield first, number - 1
            first = 0
        if not first and not skipped:
            first = number
    if first:
        yield first, len(lines)


def _begins(line: str) -> bool:
    return _ITEM.match(line) is not None or line.lstrip().startswith("|") or turns.speaker(line) is not None


def _pairs(text: str) -> list[tuple[int, int]]:
    """Where what is struck in a paragraph begins and ends, marks included; outermost pairs alone."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for start in _marks(text):
        end = start + len(MARK)
        closes = start > 0 and not text[start - 1].isspace()
        if closes and opened:
            begun = opened.pop()
            while found and found[-1][0] > begun:
                found.pop()
            found.append((begun, end))
        elif end < len(text) and not text[end].isspace():
            opened.append(start)
    return found


def _marks(text: str) -> Iterator[int]:
    """Where marks stand: two tildes, no more, outside of what hides them."""
    ticks = _Ticks(text)
    last_comment = text.rfind("-->")
    at = 0
    while found := _SIGN.search(text, at):
        sign, start, at = found[0], found.start(), found.end()
        if sign[0] == "~":
            if sign == MARK:
                yield start
        elif sign[0] == "`":
            at = ticks.closing(start, at) or at
        elif sign == "<!--":
            at = text.find("-->", at) if at <= last_comment else at
        elif sign in ("<", "]("):
            hidden = (_TAG if sign == "<" else _TARGET).match(text, start)
            at = hidden.end() if hidden else at
        elif sign[0] != "\\":
            at = _end_of_address(text, at)


def _end_of_address(text: str, at: int) -> int:
    """Where an address ends whose scheme ends at a place: signs at its end are the sentence's."""
    found = _ADDRESS.match(text, at)
    if found is None:
        return at
    return at + len(found[0].rstrip(_ADDRESS_END))


class _Ticks:
    """The runs of backquotes of a text, by length."""

    def __init__(self, text: str) -> None:
        self._runs: dict[int, list[int]] = {}
        for run in _TICKS.finditer(text):
            self._runs.setdefault(len(run[0]), []).append(run.start())

    def closing(self, start: int, end: int) -> int:
        """Where the code ends that begins here, 0 where nothing closes it."""
        runs = self._runs.get(end - start, [])
        place = bisect_left(runs, end)
        return runs[place] + end - start if place < len(runs) else 0


def _spread(
    block: Sequence[str],
    starts: Sequence[int],
    first: int,
    start: int,
    end: int,
    found: dict[int, list[Strike]],
) -> None:
    """Note a pair of marks in a paragraph, whose lines start where `starts` says, on each of its lines."""
    for place in range(bisect_right(starts, start) - 1, len(block)):
        line, offset = block[place], starts[place]
        stop = offset + len(line)
        if end <= offset:
            break
        if start < stop:
            margin = len(line) - len(line.lstrip(" \t>"))
            begun = start - offset if start >= offset else margin
            own = Strike(begun, min(end, stop) - offset, start >= offset, end <= stop)
            found.setdefault(first + place, []).append(own)
