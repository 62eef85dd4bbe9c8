"""Text to a Note: front matter, headings, fences, inline metadata, dates of Markdown; never an error.

The structure follows CommonMark 0.31 where it matters for memory: ATX and setext headings, backtick and
tilde fences with their nesting rule (a fence closes with at least as many of the same character).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from posixpath import basename, splitext
from typing import Any

from commonplace.notes import comments, languages
from commonplace.notes.headings import atx, plain
from commonplace.notes.layout import date_of, kind_of
from commonplace.notes.redact import redact, strip_private
from commonplace.types import Heading, Note

# A line can only be structure if it starts with one of these; testing one character first keeps
# parsing at some 100 MB/s.
_STRUCTURE = frozenset("#`~=- \t")
_FENCE = re.compile(r" {0,3}(?P<mark>`{3,}|~{3,})(?P<info>.*)$")
_SETEXT = re.compile(r" {0,3}(=+|-+)[ \t]*$")
_NOT_PARAGRAPH = re.compile(r" {0,3}(?:[-*+>|]|\d+[.)]|_(?:[ \t]*_){2,}[ \t]*$)|\s{4}|\s*$")
_LIST_ITEM = re.compile(r"(?:[-*+]|\d{1,9}[.)])[ \t]")
_LONGEST_ITEM = 500  # lines that are looked back at; what is longer is no entry
_FRONT_MATTER_MAX_LINES = 500  # more than this is a document that starts with a rule, not settings
_LARGEST_BITS = 1024  # Python refuses to write out integers of more than 4,300 digits
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
    front = _front_matter_range(lines)
    metadata = _front_matter(lines[1 : front[1] - 1]) if front else {}
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
    """Find headings and fences below line `skip`."""
    headings: list[Heading] = []
    fences: list[tuple[int, int]] = []
    opened, mark = 0, ""
    for number, line in [(n, s) for n, s in enumerate(lines, 1) if s[:1] in _STRUCTURE and n > skip]:
        if opened:
            if _closes(line, mark):
                fences.append((opened, number))
                opened, skip = 0, number  # neither the end of a fence nor a heading is the text of another
        elif fence := _opens(line):
            opened, mark = number, fence
        elif heading := _heading(lines, number, skip):
            headings.append(heading)
            skip = number
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


def _heading(lines: Sequence[str], number: int, skip: int) -> Heading | None:
    """Return the heading that line `number` makes, ATX, or setext with its text below line `skip`."""
    line = lines[number - 1]
    if line[0] == " " and _in_list_item(lines, number, skip):
        return None
    if "#" in line[:4]:
        found = atx(line)
        return Heading(found[0], plain(found[1]), number) if found else None
    if line.strip("-= \t") or number < 2 + skip or not (under := _SETEXT.match(line)):
        return None
    above = lines[number - 2]
    if _NOT_PARAGRAPH.match(above):
        return None
    return Heading(1 if under[1][0] == "=" else 2, plain(above.strip()), number - 1)


def _in_list_item(lines: Sequence[str], number: int, skip: int) -> bool:
    """Whether an indented line belongs to a list item above it, as the further lines of an entry do."""
    for before in range(number - 2, max(skip, number - _LONGEST_ITEM) - 1, -1):
        if lines[before] and not lines[before][0].isspace():
            return _LIST_ITEM.match(lines[before]) is not None
    return False


def _front_matter_range(lines: Sequence[str]) -> tuple[int, int] | None:
    """1-based inclusive range of a YAML block that opens the file."""
    if not lines or lines[0].rstrip() != "---":
        return None
    for number, line in enumerate(lines[1:_FRONT_MATTER_MAX_LINES], 2):
        if line.rstrip() in ("---", "..."):
            return (1, number)
    return None


def _front_matter(lines: Sequence[str]) -> dict[str, object]:
    """Read the YAML block; a damaged one is ordinary text, not an error.

    What does not fit the tag before it (`!!bool perhaps`) ends PyYAML's own code in all sorts of errors.
    """
    import yaml  # 25 ms, and most notes have no front matter

    try:
        loaded = yaml.load("\n".join(lines), Loader=_loader())  # noqa: S506 - a safe loader
        return {str(k): _plain(v) for k, v in loaded.items()} if isinstance(loaded, Mapping) else {}
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, RecursionError):
        return {}


@cache
def _loader() -> Any:  # noqa: ANN401 - PyYAML's loaders share no type
    """PyYAML's safe loader, but `<<` is a key as any other: a few merged aliases stand for gigabytes."""
    import yaml

    base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    loader: Any = type("_Loader", (base,), {"flatten_mapping": lambda self, node: None})
    loader.add_constructor("tag:yaml.org,2002:merge", base.construct_yaml_str)
    return loader


def _plain(value: object) -> object:
    """Reduce a YAML value to text, numbers, booleans and flat lists of text."""
    if isinstance(value, int) and value.bit_length() > _LARGEST_BITS:
        return hex(value)[:1000]
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, set):  # has another order in every process
        value = sorted(value, key=str)
    if isinstance(value, list | tuple):
        some = [item for item in value[:100] if item is not None]
        return [item if isinstance(item, str) else _told(item) for item in some]
    return _told(value)


def _told(value: object) -> str:
    """Return a value as text; of what is nested only the beginning: a few aliases stand for gigabytes."""
    if not isinstance(value, list | tuple | set | dict):
        return str(value)[:1000]
    from reprlib import Repr

    short = Repr()
    short.maxlevel, short.maxlist, short.maxtuple, short.maxset, short.maxdict = 3, 20, 20, 20, 20
    short.maxstring = short.maxother = short.maxlong = 200
    return short.repr(value)[:1000]


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
