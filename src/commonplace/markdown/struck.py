"""Struck text (`~~…~~`): which characters of which lines, what is left of them, and how marks are written.

As GitHub's Markdown has it, within a paragraph, over its line ends too, but never inside code, addresses or
comments. Unlike there, only a blank beside a mark keeps it from counting, since Chinese has no blanks around
it, and one tilde strikes nothing: it says "about".

A line that is struck from end to end is a run of struck parts with blanks between them. The box of a task,
the marks of a quotation and the name of the speaker stay outside, since they are what the line is. Tildes
that would read as marks are written with a backslash inside, except in code and addresses, where they strike
nothing.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from itertools import accumulate

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.markdown import structure, turns
from commonplace.types import Note

MARK = "~~"
# Code and addresses in angles, in which Markdown knows neither marks nor backslashes.
_VERBATIM = r"(?<![\\`])(?:`[^`]+`|``(?:[^`]|`(?!`))+``)(?!`)|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>"
_INSIDE = rf"(?>{_VERBATIM}|(?!~~).)"
_STRUCK = rf"~~(?=\S)({_INSIDE}*~|{_INSIDE}+(?<=\S))~~"
STRUCK = lazy(_STRUCK)
_PART = lazy(rf"{_VERBATIM}|{_STRUCK}")
_BOX = lazy(r"[ \t]*(?:>[ \t]*)*(?:\[[ xX]\](?:[ \t]+|$))?")
# From the first backslash of a run only: a run that no tilde follows is looked at once.
_ESCAPED = lazy(rf"{_VERBATIM}|(?<!\\)(?P<slashes>\\++)(?P<mark>~|$)")
_TO_ESCAPE = lazy(rf"{_VERBATIM}|(?<!\\)(?P<slashes>\\*+)(?P<mark>~|$)")
# What stays outside of the marks: quotation marks, what opens a callout, the mark of a list, a box, the hour.
_LEAD = lazy(
    r"[ \t]*(?:>[ \t]*)*(?:\[![^\[\]\n]{1,100}\][-+]?(?:[ \t]+|$))?(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*"
    r"(?:\[[ xX]\](?:[ \t]+|$))?(?:(?:[01]?\d|2[0-3]):[0-5]\d(?:[ \t]+|$))?"
)
# What may hide a mark begins with one of these; the others are the marks themselves.
_SIGN = lazy(
    r"\\[!-/:-@\[-`{-~]|`+|<!--|<(?=[A-Za-z/])|\]\(|(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://|~+"
)
_TAG = lazy(r"<[^<>\n]{0,1000}>")
_TARGET = lazy(r"\]\([^()\s]{0,2000}+(?:\([^()\s]{0,2000}+\)[^()\s]{0,2000}+)?[^()\n]{0,200}+\)")
_ADDRESS = lazy(r"[!-;=?-~\u00a1-\u2bff]+")  # no blank, no angle, nothing of a script without blanks
_ADDRESS_END = "?!.,:;*_~\"')]"
_TICKS = re.compile(r"`+")
_WORD = re.compile(r"[^\W_]")


# --- a line struck from end to end ------------------------------------------------------------------------


def find(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield what is struck between two places of a line, marks included."""
    return (part for part in _PART.finditer(text, start, end) if part[0].startswith(MARK))


def lead(line: str, *, turn: bool) -> int:
    """Return where the words of a line begin: behind box and quotation marks, of a turn behind the name."""
    match = _BOX.match(line)
    end = match.end() if match else 0
    return turns.behind(line, end) if turn else end


def read(lines: Sequence[str], *, turn: bool) -> list[str] | None:
    """Return what lines say that are struck, each of them; None where some of it still stands."""
    if MARK not in "\n".join(lines):
        return None
    plain: list[str] = []
    any_struck = False
    for number, line in enumerate(lines):
        at = lead(line, turn=turn and not number)
        parts = [line[:at]]
        while at < len(line):
            if line[at].isspace():
                parts.append(line[at])
                at += 1
            elif match := STRUCK.match(line, at):
                parts.append(unescaped(match[1]))
                at, any_struck = match.end(), True
            else:
                return None
        plain.append("".join(parts))
    return plain if any_struck else None


def escapes(text: str) -> list[str]:
    """Return what each character of some words is written as between the marks."""
    written = list(text)
    for match in _TO_ESCAPE.finditer(text):
        if match["mark"] is None:
            continue
        at = match.start("mark")
        alone = 0 < at < len(text) - 1 and text[at + 1] != "~" and text[at - 1] not in "~\\"
        for place in range(0 if alone else match.start(), 0 if alone else match.end()):
            written[place] = f"\\{text[place]}"
    return written


def unescaped(text: str) -> str:
    """Return words as they were before `escapes`."""

    def plain(match: re.Match[str]) -> str:
        slashes, mark = match["slashes"] or "", match["mark"]
        odd = len(slashes) % 2 and not mark
        return match[0] if mark is None or odd else slashes[: len(slashes) // 2] + mark

    return _ESCAPED.sub(plain, text)


# --- struck text anywhere in a note -----------------------------------------------------------------------


class Strike(NamedTuple):
    """Struck characters of one line, marks included; `opens` and `closes` tell whether a mark is there."""

    start: int
    end: int
    opens: bool = True
    closes: bool = True


Strikes = Mapping[int, Sequence[Strike]]  # by line, 1-based


def of_note(note: Note) -> Strikes:
    """Return what is struck in a note; nothing in programs, transcripts, fences, headings, front matter."""
    if note.kind == "session" or filetypes.of(note.path) or not any(MARK in line for line in note.lines):
        return {}
    passed = {number for first, last in note.fences for number in range(first, last + 1)}
    passed.update(range(1, note.front_matter[1] + 1) if note.front_matter else ())
    return of_lines(note.lines, passed | structure.heading_lines(note))


def of_lines(lines: Sequence[str], passed: Collection[int] = ()) -> Strikes:
    """Return what is struck in lines, by line; those that are passed over (1-based) end a paragraph."""
    found: dict[int, list[Strike]] = {}
    for number, line in enumerate(lines, 1):
        if MARK not in line or number in passed:
            continue
        at = _lead(line)
        words, _ = structure.unnamed(line[at:])
        if read([words], turn=True):  # struck from end to end, as corrections write it, whatever it says
            found[number] = [Strike(*part.span()) for part in find(line, at, len(line))]
    for first, last in _paragraphs(lines, {*passed, *found}):
        for index, strike in _of_paragraph(lines[first - 1 : last]):
            found.setdefault(first + index, []).append(strike)
    return found


def _of_paragraph(lines: Sequence[str]) -> Iterator[tuple[int, Strike]]:
    """Yield what is struck in a paragraph, line by line (from 0) where it goes over their ends."""
    text = "\n".join(lines)
    if text.count(MARK) < 2:
        return
    starts = [0, *accumulate(len(line) + 1 for line in lines)]
    for start, end in _pairs(text):
        for index in range(bisect_right(starts, start) - 1, bisect_left(starts, end)):
            line, offset = lines[index], starts[index]
            stop = offset + len(line)
            if start < stop:
                margin = len(line) - len(line.lstrip(" \t>"))
                begin = start - offset if start >= offset else margin
                yield index, Strike(begin, min(end, stop) - offset, start >= offset, end <= stop)


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


def rest(note: Note, strikes: Strikes) -> Note:
    """Return a note without what is struck; a line of which nothing is left stays as an empty one."""
    lines = list(note.lines)
    for number, own in strikes.items():
        lines[number - 1] = without(lines[number - 1], own)
    return replace(note, lines=tuple(lines))


@cache
def emphasis() -> re.Pattern[str]:
    """Return what matches marks of emphasis, of code, and those that strike."""
    return re.compile(r"\*{1,3}|_{1,3}|~~|`")


@cache
def hour() -> re.Pattern[str]:
    """Return what matches the hour at the beginning of an entry, however it is written, behind group 1."""
    return re.compile(r"^((?:[\s>]|[-+]|\d{1,9}[.)](?=\s)|\[[ xX]\])*)\d{1,2}:\d\d(?::\d\d)?:?(?=\s|$)")


def says_something(line: str) -> bool:
    """Whether a line says something beside the mark of a list, a box, the hour and who speaks."""
    line, _ = structure.unnamed(line)
    words = line[_lead(line) :].strip()
    is_label = turns.speaker(words) is not None and words.rstrip("*_ ")[-1:] in ":："
    return not is_label and _WORD.search(words) is not None


def _lead(line: str) -> int:
    match = _LEAD.match(line)
    return match.end() if match else 0


def _paragraphs(lines: Sequence[str], passed: Collection[int]) -> Iterator[tuple[int, int]]:
    """Yield the first and last line of what may be struck in one."""
    first = 0
    for number, line in enumerate(lines, 1):
        is_text = number not in passed and line.strip() != ""
        begins = not is_text or structure.ROW.match(line) or structure.ROW.match(lines[number - 2])
        if first and (begins or structure.begins_entry(line)):
            yield first, number - 1
            first = 0
        first = first or number * is_text
    if first:
        yield first, len(lines)


def _pairs(text: str) -> list[tuple[int, int]]:
    """Where what is struck in a paragraph begins and ends, marks included; outermost pairs alone."""
    opened: list[int] = []
    found: list[tuple[int, int]] = []
    for start in _marks(text):
        end = start + len(MARK)
        closes = start > 0 and not text[start - 1].isspace()
        if closes and opened:
            first = opened.pop()
            while found and found[-1][0] > first:
                found.pop()
            found.append((first, end))
        elif end < len(text) and not text[end].isspace():
            opened.append(start)
    return found


def _marks(text: str) -> Iterator[int]:
    """Where marks stand: two tildes, no more, outside of what hides them."""
    ticks: dict[int, list[int]] = {}  # where runs of backquotes stand, by length
    for run in _TICKS.finditer(text):
        ticks.setdefault(len(run[0]), []).append(run.start())
    last_comment = text.rfind("-->")
    at = 0
    while sign := _SIGN.search(text, at):
        at = sign.end()
        if sign[0] == MARK:
            yield sign.start()
        elif sign[0][0] != "~":
            at = _behind(text, sign, ticks, last_comment)


def _behind(text: str, sign: re.Match[str], ticks: Mapping[int, Sequence[int]], last_comment: int) -> int:
    """Where what a sign begins ends, in which no mark counts; the end of the sign where it begins nothing."""
    end = sign.end()
    if sign[0][0] == "`":
        closing = ticks.get(len(sign[0]), [])
        place = bisect_left(closing, end)
        return closing[place] + len(sign[0]) if place < len(closing) else end
    if sign[0] == "<!--":
        return text.find("-->", end) if end <= last_comment else end
    if expression := {"<": _TAG, "](": _TARGET}.get(sign[0]):
        hidden = expression.match(text, sign.start())
        return hidden.end() if hidden else end
    if sign[0][0] != "\\" and (address := _ADDRESS.match(text, end)):
        return end + len(address[0].rstrip(_ADDRESS_END))  # signs at its end are the sentence's
    return end
