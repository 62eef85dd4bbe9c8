"""Markdown text to a Note: front matter, headings, fences, inline metadata, dates; never an error.

The structure follows CommonMark 0.31 where it matters for memory: ATX and setext headings, backtick and
tilde fences with their nesting rule (a fence closes with at least as many of the same character).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from posixpath import basename, splitext

from commonplace.notes.layout import date_of, kind_of
from commonplace.notes.redact import redact, strip_private
from commonplace.types import Heading, Note

# A line can only be structure if it starts with one of these; testing one character first keeps
# parsing at some 100 MB/s.
_STRUCTURE = frozenset("#`~=- \t")
_ATX = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*?))??(?:[ \t]+#+)?[ \t]*$")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|]|\d+[.)])|\s{4}|\s*$")
_COMMENT = re.compile(r"<!--\s*(importance|trigger|project)\s*:\s*(.*?)\s*-->", re.IGNORECASE)
_FRONT_MATTER_MAX_LINES = 500  # more than this is a document that starts with a rule, not settings
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
    of the file.
    """
    text = strip_private(text)
    if redacted:
        text, _ = redact(text)
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()
    front = _front_matter_range(lines)
    metadata = _front_matter(lines[1 : front[1] - 1]) if front else {}
    annotations = _take_annotations(lines) if "<!--" in text else {}
    headings, fences = _structure(lines, front[1] if front else 0)
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
        annotations=annotations,
    )


def _structure(lines: Sequence[str], skip: int) -> tuple[list[Heading], list[tuple[int, int]]]:
    """Find headings and fences below line `skip`."""
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    opened, mark = 0, ""
    for number, line in [(n, s) for n, s in enumerate(lines, 1) if s[:1] in _STRUCTURE and n > skip]:
        if opened:
            if _closes(line, mark):
                fences.append((opened, number))
                opened = 0
        elif fence := _opens(line):
            opened, mark = number, fence
        elif heading := _heading(lines, number, headings, skip):
            headings.append(heading)
    if opened:
        fences.append((opened, len(lines)))
    return headings, fences


def _opens(line: str) -> str:
    """Return the fence mark that this line opens, or an empty string."""
    if "```" not in line and "~~~" not in line:
        return ""
    found = _FENCE.match(line)
    if not found or (found["mark"][0] == "`" and "`" in found["info"]):
        return ""
    return found["mark"]


def _closes(line: str, mark: str) -> bool:
    """Whether a line closes the fence opened by `mark`."""
    bare = line.strip()
    return len(bare) >= len(mark) and bare == mark[0] * len(bare) and line[:4] != "    "


def _heading(lines: Sequence[str], number: int, before: Sequence[Heading], skip: int) -> Heading | None:
    """Return the heading that line `number` makes, ATX or setext."""
    line = lines[number - 1]
    if "#" in line[:4]:
        atx = _ATX.match(line)
        return Heading(len(atx[1]), (atx[2] or "").strip(), number) if atx else None
    if line.strip("-= \t") or number < 2 + skip or not (under := _SETEXT.match(line)):
        return None
    above = lines[number - 2]
    if _NOT_PARAGRAPH.match(above) or (before and before[-1].line >= number - 1):
        return None
    return Heading(1 if under[1][0] == "=" else 2, above.strip(), number - 1)


def _front_matter_range(lines: Sequence[str]) -> tuple[int, int] | None:
    """1-based inclusive range of a YAML block that opens the file."""
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:_FRONT_MATTER_MAX_LINES], 2):
        if line.rstrip() in ("---", "..."):
            return (1, number)
    return None


def _front_matter(lines: Sequence[str]) -> dict[str, object]:
    """Read the YAML block; a damaged one is ordinary text, not an error."""
    import yaml  # 25 ms, and most notes have no front matter

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        loaded = yaml.load("\n".join(lines), Loader=loader)  # noqa: S506 - a safe loader
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    return {str(k): _plain(v) for k, v in loaded.items()} if isinstance(loaded, Mapping) else {}


def _plain(value: object) -> object:
    """Reduce a YAML value to text, numbers, booleans and flat lists of text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, list | tuple | set):
        return [str(item) for item in list(value)[:100]]
    return str(value)[:1000]


def _take_annotations(lines: list[str]) -> dict[int, dict[str, str]]:
    """Take inline metadata comments out of `lines` (in place) and return them by line."""
    found: dict[int, dict[str, str]] = {}
    for index, line in enumerate(lines):
        if "<!--" in line and (pairs := _COMMENT.findall(line)):
            found[index + 1] = {key.lower(): value for key, value in pairs}
            lines[index] = _COMMENT.sub("", line).rstrip()
    return found


def _title(metadata: Mapping[str, object], headings: Sequence[Heading], path: str) -> str:
    """Front matter's title, else the first heading with words, else the file's name."""
    title = metadata.get("title")
    if isinstance(title, str | int | float) and str(title).strip():
        return str(title).strip()
    return next((h.text for h in headings if h.text), splitext(basename(path))[0])


def _date(metadata: Mapping[str, object], path: str) -> str | None:
    """The day a note speaks of, as YYYY-MM-DD: file name first, then front matter."""
    if named := date_of(path):
        return named
    for key in ("date", "created"):
        if found := _ISO_DAY.match(str(metadata.get(key, ""))):
            return found[0]
    return None
