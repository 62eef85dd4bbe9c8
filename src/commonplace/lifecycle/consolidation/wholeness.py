"""Whether a file of entries may be rewritten: nothing in it is open, or in conflict."""

from __future__ import annotations

import re

from commonplace.errors import NoteUnreadable
from commonplace.notes.parse import parse, structure
from commonplace.notes.redact import private_parts

_CONFLICT = re.compile(r"(?:<{7}|\|{7}|>{7})(?: |$)")  # the lines that git sets around the two sides


def check(text: str, path: str) -> None:
    """Refuse a file with a private part or a fence that is never closed, or a conflict: NoteUnreadable."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n")
    if line := _conflict(plain, path):
        raise NoteUnreadable(path, f"has conflict markers (line {line}); resolve them first")
    if line := _open_private(plain):
        raise NoteUnreadable(path, f"`<private>` of line {line} is never closed; close it first")
    if line := _open_fence(plain, path):
        raise NoteUnreadable(path, f"the code fence of line {line} is never closed; close it first")


def _conflict(text: str, path: str) -> int:
    """The first line outside a fence that marks a conflict of two versions; 0 without one."""
    if not any(mark in text for mark in ("<<<<<<<", "|||||||", ">>>>>>>")):
        return 0
    marks = [number for number, line in enumerate(text.split("\n"), 1) if _CONFLICT.match(line)]
    fences = parse(text, path).fences if marks else ()
    return next((n for n in marks if not any(first <= n <= last for first, last in fences)), 0)


def _open_private(text: str) -> int:
    """The line of a private part that reaches whatever is put behind the text; 0 without one."""
    last = next((start for start, end, _ in private_parts(f"{text} ") if end > len(text)), -1)
    return text.count("\n", 0, last) + 1 if last >= 0 else 0


def _open_fence(text: str, path: str) -> int:
    """The line of a fence that reaches whatever is put behind the text; 0 without one."""
    if "```" not in text and "~~~" not in text:
        return 0
    note = parse(text, path)
    lines = [*note.lines, ""]
    _, fences = structure(lines, note.front_matter[1] if note.front_matter else 0)
    return fences[-1][0] if fences and fences[-1][1] == len(lines) else 0
