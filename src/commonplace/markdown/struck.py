"""Struck text (`~~…~~`): which characters of which lines, what is left of them, and how marks are written.

Within a line, but never inside code, addresses or comments. Only a blank beside a mark keeps it from
counting, since Chinese has no blanks around it, and one tilde strikes nothing: it says "about".

A line that is struck from end to end is a run of struck parts with blanks between them. The box of a task,
the marks of a quotation and the name of the speaker stay outside, since they are what the line is. Tildes
that would read as marks are written with a backslash inside, except in code and addresses, where they strike
nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
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
# Of a line that still stands: no marks within addresses, links, tags and comments, nor escaped ones.
_HIDDEN = (
    rf"{_VERBATIM}|`+|\\.|<!--.{{0,2000}}?-->|<[A-Za-z/][^<>]{{0,1000}}>|\]\([^()\s]{{0,2000}}\)|~{{3,}}"
    r"|(?<![A-Za-z0-9])[A-Za-z][A-Za-z0-9+.-]{1,30}://(?:~{0,2}[!-;=?-}\u00a1-\u2bff])*"
)
_ALONE = lazy(rf"{_HIDDEN}|(?P<struck>~~(?=[^\s~])(?:{_VERBATIM}|(?!~~).)*?(?<=[^\s~])~~(?!~))")
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


Strikes = Mapping[int, Sequence[tuple[int, int]]]  # first and last place, marks included, by line from 1


def of_note(note: Note) -> Strikes:
    """Return what is struck in a note; nothing in programs, transcripts, fences, headings, front matter."""
    if note.kind == "session" or MARK not in "\n".join(note.lines) or filetypes.of(note.path):
        return {}
    passed = {number for first, last in note.fences for number in range(first, last + 1)}
    passed.update(range(1, note.front_matter[1] + 1) if note.front_matter else ())
    return of_lines(note.lines, passed | structure.heading_lines(note))


def of_lines(lines: Sequence[str], passed: Collection[int] = ()) -> Strikes:
    """Return what is struck in lines, by line, but for those that are passed over (1-based)."""
    found: dict[int, list[tuple[int, int]]] = {}
    for number, line in enumerate(lines, 1):
        if MARK not in line or number in passed:
            continue
        at = _lead(line)
        words, _ = structure.unnamed(line[at:])
        if read([words], turn=True):  # struck from end to end, as corrections write it, whatever it says
            found[number] = [part.span() for part in find(line, at, len(line))]
        elif parts := [part.span() for part in _ALONE.finditer(line) if part["struck"]]:
            found[number] = parts
    return found


def without(line: str, own: Sequence[tuple[int, int]]) -> str:
    """Return a line without what is struck in it; an empty one where nothing is said any more."""
    behind: list[str] = []  # what is left, last first
    stop = len(line)
    for start, end in reversed(own):
        behind.append(line[end:stop])
        stop = start
        if not stop or line[stop - 1].isspace():
            while behind and not behind[-1].lstrip():
                behind.pop()
            behind[-1:] = [part.lstrip() for part in behind[-1:]]
    line = "".join([line[:stop], *reversed(behind)])
    return line.rstrip() if says_something(line) else ""


def unmarked(line: str, own: Sequence[tuple[int, int]]) -> str:
    """Return a line with what is struck in it, but without the marks."""
    for start, end in reversed(own):
        line = line[:start] + line[start + len(MARK) : end - len(MARK)] + line[end:]
    return line


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
