"""References to lines of notes, and the lines they stand for.

`PATH` is a whole note, `PATH:12` what follows from line 12, `PATH:12-30` a range, `PATH:12:5` five lines,
`PATH#L12-L30` a citation; `#docid` in place of the path is the start of the note's content hash.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from commonplace.errors import NoteNotFound
from commonplace.types import Excerpt, Note

_DOCID = re.compile(r"#([0-9a-f]{6,32})", re.IGNORECASE)
_LINES = re.compile(
    r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{0,9})|:(?P<count>\d{1,9}))?|#L(?P<a>\d{1,9})(?:-L?(?P<b>\d{1,9}))?)$"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """A note by path or by the start of its content hash, and the lines wanted (1-based, inclusive)."""

    path: str = ""
    docid: str = ""
    first: int = 1
    last: int | None = None


def parse_reference(text: str) -> Reference:
    """Read a reference; a path that merely looks unusual is taken as it is."""
    text = text.strip()
    if not text:
        raise NoteNotFound(text or "(empty)", reason="not a reference to a note")
    found = _LINES.fullmatch(text)
    path = found["path"] if found else text
    first, last = _range(found) if found else (1, None)
    if docid := _DOCID.fullmatch(path):
        return Reference("", docid[1].lower(), first, last)
    return Reference(path.removeprefix("./"), "", first, last)


def _range(found: re.Match[str]) -> tuple[int, int | None]:
    if found["a"]:
        first = int(found["a"])
        return first, int(found["b"]) if found["b"] else first
    first = int(found["first"])
    if found["count"]:
        return first, first + int(found["count"]) - 1
    return first, int(found["last"]) if found["last"] else None


def cut(note: Note, path: str, docid: str, reference: Reference) -> Excerpt:
    """Take the wanted lines of a note; a range that runs past the end stops there.

    Raises NoteNotFound if it starts outside the note.
    """
    total = len(note.lines)
    first, last = lines(path, reference, total)
    return Excerpt(path, first, note.lines[first - 1 : last], total, docid)


def lines(path: str, reference: Reference, total: int) -> tuple[int, int]:
    """Return the first and the last line that a reference means in a note of so many lines.

    Raises NoteNotFound if it starts outside the note or is the wrong way round.
    """
    first, last = reference.first, min(total, reference.last if reference.last is not None else total)
    if first < 1 or (first > total and not (total == 0 and first == 1)):
        raise NoteNotFound(path, reason=f"has {total} lines, none of number {first}")
    if last < first and total:
        raise NoteNotFound(path, reason=f"lines {first} to {reference.last} are the wrong way round")
    return first, last
