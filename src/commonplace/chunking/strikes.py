"""Struck text as it stands in a line: which of it says what, and what stays outside the marks.

A run of struck parts with blanks between them strikes a line. The box of a task, the marks of a quotation and
the name of who speaks stay outside, since they are what the line is. Tildes that would be taken for marks are
written with a backslash inside, but for those in code and addresses, where they strike nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from commonplace.chunking import turns

# Code and addresses in angles, in which Markdown knows neither marks nor backslashes.
_VERBATIM = r"(?<![\\`])(?:`[^`]+`|``(?:[^`]|`(?!`))+``)(?!`)|<[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>"
_INSIDE = rf"(?>{_VERBATIM}|(?!~~).)"
STRUCK = re.compile(rf"~~(?=\S)({_INSIDE}*~|{_INSIDE}+(?<=\S))~~")
_FOUND = re.compile(rf"{_VERBATIM}|{STRUCK.pattern}")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]*)*(?:\[[ xX]\](?:[ \t]+|$))?")
# From the first backslash of a run only: a run that no tilde follows is looked at once.
_ESCAPES = re.compile(rf"{_VERBATIM}|(?<!\\)(?P<slashes>\\++)(?P<mark>~|$)")
_TO_ESCAPE = re.compile(rf"{_VERBATIM}|(?<!\\)(?P<slashes>\\*+)(?P<mark>~|$)")


def find(text: str, start: int, end: int) -> Iterator[re.Match[str]]:
    """Yield what is struck between two places of a line, marks included."""
    return (found for found in _FOUND.finditer(text, start, end) if found[0].startswith("~~"))


def lead(line: str, *, turn: bool) -> int:
    """Where the words of a line begin, behind its box and quotation marks; of a turn, behind the name."""
    found = _LEAD.match(line)
    end = found.end() if found else 0
    return turns.behind(line, end) if turn else end


def read(lines: Sequence[str], *, turn: bool) -> list[str] | None:
    """What lines say that are struck, each of them; None where some of it stands."""
    if "~~" not in "\n".join(lines):
        return None
    told: list[str] = []
    struck = False
    for number, line in enumerate(lines):
        start = lead(line, turn=turn and not number)
        words = _words(line[start:])
        if words is None:
            return None
        struck = struck or bool(words)
        told.append(line[:start] + words)
    return told if struck else None


def _words(text: str) -> str | None:
    """What a text says that is struck from end to end; None for one that is not."""
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at].isspace():
            parts.append(text[at])
            at += 1
        elif found := STRUCK.match(text, at):
            parts.append(unescaped(found[1]))
            at = found.end()
        else:
            return None
    return "".join(parts)


def escapes(text: str) -> list[str]:
    """Return what each character of some words is written as between the marks."""
    written = list(text)
    for found in _TO_ESCAPE.finditer(text):
        if found["mark"] is None:
            continue
        at = found.start("mark")
        alone = 0 < at < len(text) - 1 and text[at + 1] != "~" and text[at - 1] not in "~\\"
        for place in range(0 if alone else found.start(), 0 if alone else found.end()):
            written[place] = f"\\{text[place]}"
    return written


def unescaped(text: str) -> str:
    """Return words as they were before `escapes`."""

    def plain(found: re.Match[str]) -> str:
        slashes, mark = found["slashes"] or "", found["mark"]
        odd = len(slashes) % 2 and not mark
        return found[0] if mark is None or odd else slashes[: len(slashes) // 2] + mark

    return _ESCAPES.sub(plain, text)
