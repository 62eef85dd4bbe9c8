"""Struck lines (`- 14:05 ~~Deploys go out on Tuesdays.~~`): recognise them, write them, leave them out.

A line is struck when all of its words stand between tildes; tildes around some of its words are text. The
mark of a list, a task's box, the hour, quotation marks and the speaker's name stand before the tildes. Tildes
among the words are written as `\\~`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from commonplace.base import filetypes
from commonplace.base.expressions import lazy
from commonplace.markdown import comments, structure, turns
from commonplace.types import Note

MARK = "~~"
STRUCK = lazy(r"(?<![\\~])~~(?=[^\s~])((?:\\~(?!~(?!~))|(?!~~|\\~(?!~(?!~))).)+)(?<=\S)~~(?!~)")
_BOX = lazy(r"[ \t]*(?:>[ \t]*)*(?:\[[ xX]\](?:[ \t]+|$))?")
# Quotation marks, the type of a callout, the mark of a list, a box, the hour.
_LEAD = lazy(
    r"[ \t]*(?:>[ \t]*)*(?:\[![^\[\]\n]{1,100}\][-+]?(?:[ \t]+|$))?(?:(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$))*"
    r"(?:\[[ xX]\](?:[ \t]+|$))?(?:(?:[01]?\d|2[0-3]):[0-5]\d(?:[ \t]+|$))?"
)
EMPHASIS = lazy(r"\*{1,3}|_{1,3}|~~|`")  # marks of emphasis, code and struck text
# The hour that begins an entry, in any notation, behind group 1.
HOUR = lazy(r"^((?:[\s>]|[-+]|\d{1,9}[.)](?=\s)|\[[ xX]\])*)\d{1,2}:\d\d(?::\d\d)?:?(?=\s|$)")
_WORD = lazy(r"[^\W_]")
_SAYS = lazy(r"[^\W_]|`")  # tildes in code are code


# --- one line ---------------------------------------------------------------------------------------------


def lead(line: str, *, turn: bool) -> int:
    """Return where the words of a line begin: behind box and quotation marks, of a turn behind the name."""
    match = _BOX.match(line)
    end = match.end() if match else 0
    return turns.behind(line, end) if turn else end


def plain(line: str) -> str | None:
    """Return a struck line without its tildes; None for a line that is not struck."""
    if MARK not in line or structure.ROW.match(line):
        return None
    at = turns.behind(line, _lead(line))
    words = line[at:]
    left, count = STRUCK.subn("", structure.unnamed(comments.without(words))[0])
    if not count or _SAYS.search(left):
        return None
    return line[:at] + STRUCK.sub(lambda match: match[1].replace("\\~", "~"), words)


def escaped(words: str) -> list[str]:
    """Return what each character of some words is written as between the marks."""
    last = len(words) - 1
    return [
        "\\~" if sign == "~" and (at in (0, last) or "~" in (words[at - 1], words[at + 1])) else sign
        for at, sign in enumerate(words)
    ]


def says_something(line: str) -> bool:
    """Tell whether a line has words besides the mark of a list, a box, the hour and the speaker's name."""
    line, _ = structure.unnamed(line)
    words = line[_lead(line) :].strip()
    is_label = turns.speaker(words) is not None and words.rstrip("*_ ")[-1:] in ":："
    return not is_label and _WORD.search(words) is not None


def _lead(line: str) -> int:
    match = _LEAD.match(line)
    return match.end() if match else 0


# --- notes ------------------------------------------------------------------------------------------------


def of_note(note: Note) -> frozenset[int]:
    """Return the struck lines of a note, outside of programs, transcripts, fences, headings, front matter."""
    if note.kind == "session" or MARK not in "\n".join(note.lines) or filetypes.is_code(note.path):
        return frozenset()
    passed = structure.lines_of(*note.fences, note.front_matter) | structure.heading_lines(note)
    return frozenset(n for n, line in enumerate(note.lines, 1) if n not in passed and plain(line) is not None)


def rest(note: Note, struck: Collection[int]) -> Note:
    """Return a note with its struck lines blank."""
    lines = ("" if number in struck else line for number, line in enumerate(note.lines, 1))
    return replace(note, lines=tuple(lines)) if struck else note


def read(lines: Sequence[str]) -> list[str] | None:
    """Return the lines of a statement without their tildes; None where one of them is not struck."""
    found = [plain(line) for line in lines]
    return None if None in found else [line for line in found if line is not None]
