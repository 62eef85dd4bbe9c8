"""References to lines of notes: read, resolved to lines, and kept at their lines when these move.

`PATH` is a whole note, `PATH:12` what follows from line 12, `PATH:12-30` a range, `PATH:12:5` five lines,
`PATH#L12-L30` a citation; `#docid` in place of the path is the start of the note's content hash. Generated
lines hold citations in their comments (`from=`, `to=`, `superseded-by`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from commonplace.base.errors import NoteNotFound
from commonplace.base.messages import message
from commonplace.markdown import comments
from commonplace.types import Excerpt, Note

# For a line of a note, from 1, the reference that stands for it now; None where the line is gone.
Moved = Callable[[int], str | None]

DOCID = re.compile(r"#([0-9a-f]{6,32})", re.IGNORECASE)
REFERENCE = re.compile(
    r"(?P<path>.+?)(?::(?P<first>\d{1,9})(?:-(?P<last>\d{0,9})|:(?P<count>\d{1,9}))?|#L(?P<a>\d{1,9})(?:-L?(?P<b>\d{1,9}))?)$"
)
_CP = re.compile(r"(?P<before>(?<![ \t])[ \t]*+)<!--\s*+cp\s*+:(?:(?!<!--|-->).|(?!))*+-->", re.IGNORECASE)
_SUCCESSOR = re.compile(
    r"(?P<before>(?<![ \t])[ \t]*+<!--\s*+superseded-by\s*+:\s*+)(?P<value>(?:(?!<!--|-->).|(?!))*+)-->",
    re.IGNORECASE,
)
_NAMES = {name: mark for mark, name in comments.MARK_NAMES.items()}
_LINES_WITHIN = 10_000  # lines of a range that are looked at for one that is still there


@dataclass(frozen=True, slots=True)
class Reference:
    """A note by path or by the start of its content hash, and the lines it means (1-based, inclusive)."""

    path: str = ""
    docid: str = ""
    first: int = 1
    last: int | None = None

    @property
    def end(self) -> int:
        """The last line that is named: the first one where no other is."""
        return self.first if self.last is None else self.last


def parse_reference(text: str) -> Reference:
    """Read a reference; a path that merely looks unusual is taken as it is."""
    text = text.strip()
    if not text:
        raise NoteNotFound("(empty)", reason=message("note.no_reference", "not a reference to a note"))
    path, first, last = text, 1, None
    if match := REFERENCE.fullmatch(text):
        path, first = match["path"], int(match["first"] or match["a"])
        end = match["last"] or match["b"] or match["a"]  # a citation of one line ends with it
        last = first + int(match["count"]) - 1 if match["count"] else int(end) if end else None
    if docid := DOCID.fullmatch(path):
        return Reference("", docid[1].lower(), first, last)
    return Reference(path.removeprefix("./"), "", first, last)


def reads_as_words(text: str) -> bool:
    """Tell whether a text that names no note is a query rather than a path or a number."""
    return not (text.isdecimal() or set(text) & set("/#*?[") or REFERENCE.fullmatch(text) or ".md" in text)


def cut(note: Note, path: str, docid: str, reference: Reference) -> Excerpt:
    """Take the lines of a note that a reference means; a range that runs past the end stops there.

    Raises NoteNotFound if it starts outside the note.
    """
    total = len(note.lines)
    first, last = lines(path, reference, total)
    return Excerpt(path, first, note.lines[first - 1 : last], total, docid)


def within(note: Note, reference: Reference, place: str) -> Reference:
    """Return the reference to the lines of a place in a note, `Heading` or `^block`; empty for the whole.

    Raises NoteNotFound where the note has no such place.
    """
    if not place:
        return reference
    from commonplace.markdown import wiki

    found = wiki.lines(note, place)
    if found is None:
        near = [f"{note.path}#{heading.text}" for heading in note.headings if not place.startswith("^")]
        what = "has no block {place}" if place.startswith("^") else "has no heading {place!r}"
        code = "note.no_block" if place.startswith("^") else "note.no_heading"
        raise NoteNotFound(reference.path, near[:3], message(code, what, place=place))
    return replace(reference, first=found[0], last=found[1])


def lines(path: str, reference: Reference, total: int) -> tuple[int, int]:
    """Return the first and the last line that a reference means in a note of so many lines.

    Raises NoteNotFound if it starts outside the note or is the wrong way round.
    """
    first, last = reference.first, min(total, reference.last if reference.last is not None else total)
    if first < 1 or (first > total and not (total == 0 and first == 1)):
        reason = message("note.no_line", "has {n:line}, none of number {line}", n=total, line=first)
        raise NoteNotFound(path, reason=reason)
    if last < first and total:
        raise NoteNotFound(path, reason=f"lines {first} to {reference.last} are the wrong way round")
    return first, last


# --- references that follow their lines -------------------------------------------------------------------


def shifted(text: str, maps: Mapping[str, Moved], whole: Mapping[str, str] | None = None) -> str:
    """Return a note's text with its references into moved notes led to where the lines are now.

    `maps` tells for each note, by its path, where its lines are. A reference to a line that is gone is left
    out, and so is a comment that is then empty. References to whole notes become their values in `whole`
    Content hashes and private parts are not touched.
    """
    if "<!--" not in text or not maps:
        return text
    from commonplace.redaction.redact import private_parts  # a search needs no redaction

    def mark(match: re.Match[str]) -> str:
        values = comments.take([match[0]]).get(1, {})
        marks = {_NAMES.get(name, name): value for name, value in values.items()}
        now = dict(marks)
        if "to" in marks:
            now["to"] = reference(marks["to"], maps, whole)
        if "from" in marks:
            sources = [reference(source, maps, whole) for source in comments.sources(marks)]
            now["from"] = comments.of_sources(dict.fromkeys(filter(None, sources)))
        if now == marks:
            return match[0]
        return match["before"] + comments.of_marks(**now) if any(now.values()) else ""

    def successor(match: re.Match[str]) -> str:
        value = match["value"].rstrip()
        now = reference(value, maps, whole)
        return f"{match['before']}{now}{match['value'][len(value) :]}-->" if now else ""

    parts: list[str] = []
    done = 0
    for start, end, _ in [*private_parts(text), (len(text), len(text), "")]:
        parts += (_SUCCESSOR.sub(successor, _CP.sub(mark, text[done:start])), text[start:end])
        done = end
    return "".join(parts)


def without(line: str) -> str:
    """Return a line without the comments that `shifted` rewrites: it stays the same when they follow."""
    return _SUCCESSOR.sub("", _CP.sub("", line)) if "<!--" in line else line


def reference(text: str, maps: Mapping[str, Moved], whole: Mapping[str, str] | None = None) -> str:
    """Return a reference with its new lines; empty if they are all gone."""
    try:
        meant = parse_reference(text)
    except NoteNotFound:
        return text
    moved = maps.get(meant.path)
    if meant.docid or meant.path == text.removeprefix("./"):
        return (whole or {}).get(meant.path, text)
    if moved is None:
        return text
    lines = range(meant.first, min(max(meant.end, meant.first), meant.first + _LINES_WITHIN) + 1)
    first = next(filter(None, map(moved, lines)), "")
    end = next(filter(None, map(moved, reversed(lines))), "")
    if first == end:
        return first
    # One reference for two; only the first where they are not in order in one note.
    one, other = parse_reference(first), parse_reference(end)
    if one.path != other.path or other.first <= one.first:
        return first
    return f"{one.path}#L{one.first}-L{other.last or other.first}"
