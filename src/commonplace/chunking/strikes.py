"""Struck text as it stands in a line: which of it says what, and what stays outside the marks.

A run of struck parts with blanks between them strikes a line. The box of a task, the marks of a quotation and
the name of who speaks stay outside, since they are what the line is. Tildes that would be taken for marks are
written with a backslash inside.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.chunking import turns

STRUCK = re.compile(r"~~(?=\S)((?:(?!~~).)*\S)~~")
_LEAD = re.compile(r"[ \t]*(?:>[ \t]*)*(?:\[[ xX]\](?:[ \t]+|$))?")
_ESCAPES = re.compile(r"(\\+)(~|$)")
_TO_ESCAPE = re.compile(r"(\\*)(~|$)")


def lead(line: str, *, turn: bool) -> int:
    """Where the words of a line begin, behind its box and quotation marks; of a turn, behind the name."""
    found = _LEAD.match(line)
    end = found.end() if found else 0
    return turns.behind(line, end) if turn else end


def read(lines: Sequence[str], *, turn: bool) -> list[str] | None:
    """What lines say that are struck, each of them; None where some of it stands."""
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
        at = found.start(2)
        alone = 0 < at < len(text) - 1 and text[at + 1] != "~" and text[at - 1] not in "~\\"
        for place in range(0 if alone else found.start(), 0 if alone else found.end()):
            written[place] = f"\\{text[place]}"
    return written


def unescaped(text: str) -> str:
    """Return words as they were before `escapes`."""

    def plain(found: re.Match[str]) -> str:
        odd = len(found[1]) % 2 and not found[2]
        return found[0] if odd else found[1][: len(found[1]) // 2] + found[2]

    return _ESCAPES.sub(plain, text)
