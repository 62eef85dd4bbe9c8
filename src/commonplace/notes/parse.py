"""Text to a Note: front matter, headings, fences, inline metadata, dates of Markdown; never an error.

The structure follows CommonMark 0.31 where it matters for memory: ATX and setext headings, backtick and
tilde fences with their nesting rule (a fence closes with at least as many of the same character).
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from posixpath import basename, splitext

from commonplace.notes import comments, front_matter, languages
from commonplace.notes.headings import atx, plain, setext
from commonplace.notes.layout import date_of, kind_of
from commonplace.notes.redact import redact, strip_private
from commonplace.types import Heading, Note

# A line can only be structure if it starts with one of these; testing one character first keeps
# parsing at some 100 MB/s.
_STRUCTURE = frozenset("#`~=- \t")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_LONGEST_ITEM = 500  # lines that are looked back at; what is longer is no entry
_MOST_HEADINGS = 100_000  # what stands behind them is text: each is a section, and costs as one
_ISO_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


def decode(data: bytes) -> str:
    """Decode a file's bytes: UTF-8 (or UTF-16 with its mark), damage replaced, newlines as `\\n`."""
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    text = data.decode(encoding, "replace")
    text = text.removeprefix("\ufeff")
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.replace("\0", "\ufffd") if "\0" in text else text


def parse(text: str, path: str, *, redacted: bool = True) -> Note:
    """Parse decoded text of the note at `path` (posix, relative to its collection).

    Private parts are blanked and, unless `redacted` is false, secrets replaced; line numbers stay those
    of the file. Code has lines and a name, and nothing of Markdown: a comment is no heading.
    """
    code = languages.of(path) is not None
    text = strip_private(text, any_case=not code)
    if redacted:
        text, _ = redact(text)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    if code:
        return Note(path, basename(path), None, "note", tuple(lines))
    front = front_matter.span(lines)
    metadata = front_matter.read(lines[1 : front[1] - 1]) if front else {}
    said = comments.take(lines) if "<!--" in text else {}
    headings, fences = structure(lines, front[1] if front else 0)
    if guesses := comments.guessed(text, lines):
        said = _with_guesses(said, guesses, (*fences, *([front] if front else [])))
    return Note(
        path=path,
        title=_title(metadata, headings, path),
        date=_date(metadata, path),
        kind=kind_of(path),
        lines=tuple(lines),
        headings=tuple(headings),
        fences=tuple(fences),
        front_matter=front,
        metadata=metadata,
        annotations=said,
    )


def _with_guesses(
    said: dict[int, dict[str, str]], lines: Sequence[int], passed: Sequence[tuple[int, int]]
) -> dict[int, dict[str, str]]:
    """What is said of lines, with those that call themselves a guess; in a fence nothing means anything."""
    inside = {number for first, last in passed for number in range(first, last + 1)}
    for number in lines:
        if number not in inside:
            said[number] = {"status": "tentative", **said.get(number, {})}
    return said


def structure(lines: Sequence[str], skip: int = 0) -> tuple[list[Heading], list[tuple[int, int]]]:
    """Find headings, the first 100,000, and fences below line `skip`."""
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    opened, mark = 0, ""
    margins: list[int] | None = None  # lines that begin at the margin, from 0; few notes need to know
    for number, line in [(n, s) for n, s in enumerate(lines, 1) if s[:1] in _STRUCTURE and n > skip]:
        if opened:
            if _closes(line, mark):
                fences.append((opened, number))
                opened, skip = 0, number  # neither the end of a fence nor a heading is the text of another
        elif ("```" in line or "~~~" in line) and (fence := _opens(line)):
            opened, mark = number, fence
        elif len(headings) < _MOST_HEADINGS and (heading := _heading(lines, number, skip)):
            if line[0] == " ":
                margins = _margins(lines) if margins is None else margins
                if _in_list_item(lines, margins, number, skip):
                    continue
            headings.append(heading)
            skip = number
    if opened:
        fences.append((opened, len(lines)))
    return headings, fences


def _opens(line: str) -> str:
    """Return the fence mark that this line opens, or an empty string."""
    found = _FENCE.match(line)
    if not found or (found["mark"][0] == "`" and "`" in found["info"]):
        return ""
    return found["mark"]


def _closes(line: str, mark: str) -> bool:
    """Whether a line closes the fence opened by `mark`."""
    bare = line.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare) and line[:4] != "    "


def _heading(lines: Sequence[str], number: int, skip: int) -> Heading | None:
    """Return the heading that line `number` makes, ATX, or setext with its text below line `skip`."""
    line = lines[number - 1]
    if "#" in line[:4]:
        found = atx(line)
        return Heading(found[0], plain(found[1]), number) if found else None
    found = setext(lines[number - 2], line) if number >= 2 + skip else None
    return Heading(found[0], plain(found[1]), number - 1) if found else None


def _margins(lines: Sequence[str]) -> list[int]:
    """The lines, from 0, that begin at the margin."""
    return [index for index, line in enumerate(lines) if line and not line[0].isspace()]


def _in_list_item(lines: Sequence[str], margins: Sequence[int], number: int, skip: int) -> bool:
    """Whether an indented line belongs to a list item above it, as the further lines of an entry do."""
    place = bisect_left(margins, number - 1) - 1
    if place < 0 or margins[place] < max(skip, number - _LONGEST_ITEM):
        return False
    return _LIST_ITEM.match(lines[margins[place]]) is not None


def _title(metadata: Mapping[str, object], headings: Sequence[Heading], path: str) -> str:
    """Front matter's title, else the first heading with words, else the file's name."""
    title = metadata.get("title")
    if isinstance(title, str | int | float) and not isinstance(title, bool) and str(title).strip():
        return str(title).strip()
    return next((h.text for h in headings if h.text), splitext(basename(path))[0])


def _date(metadata: Mapping[str, object], path: str) -> str | None:
    """The day a note speaks of, as YYYY-MM-DD: file name first, then front matter."""
    if named := date_of(path):
        return named
    days = (_ISO_DAY.match(str(metadata.get(key, ""))) for key in ("date", "created"))
    return next((day for found in days if found and (day := date_of(found[0]))), None)
