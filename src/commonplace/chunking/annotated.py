"""What a note says of its lines, brought from where it stands to the lines that it is about.

Front matter is about the whole note; a comment on a heading, or on a line of its own directly below one,
about all that stands under the heading; any other about its entry. What stands nearer wins.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date

from commonplace.chunking import turns
from commonplace.notes import comments
from commonplace.types import Note

_ITEM = re.compile(r"\s*(?:[-*+]|\d{1,9}[.)])(?:\s|$)")
_LONGEST_ENTRY = 500  # lines that are looked at; what is longer is no entry
# Lines that differ in one of these are not put into one passage: it would be trusted, or not, as a whole.
_STANDING = (
    "status", "superseded-by", "valid-until", "by", "agent", "session", "project", "since", "pinned",
)  # fmt: skip
# What is said of struck text alone, not of what is left of its line.
_OF_STRUCK = ("until", "struck-by", "struck-agent", "superseded-by")


class Said:
    """What is said of each line of a note."""

    def __init__(self, note: Note) -> None:
        """Read the note's front matter and comments; both are nearly always empty."""
        self._note = _valid(comments.of_front_matter(note.metadata)) if note.metadata else {}
        self._lines: dict[int, dict[str, str]] = {}
        self._facts: dict[int, int] = {}  # the line that says since when a line holds, unless a heading does
        ranges = sorted(_ranges(note), key=lambda found: (not found[2], found[0]))  # entries last: nearest
        for first, last, section, line in ranges:
            own = _valid(note.annotations[line])
            for number in range(first, last + 1) if own else ():
                before = self._lines.get(number, self._note)
                self._lines[number] = {**before, **own}
                if not section and own.get("since", before.get("since")) != before.get("since"):
                    self._facts[number] = line

    def __bool__(self) -> bool:
        return bool(self._note or self._lines)

    def of(self, first: int, last: int) -> Mapping[str, str] | None:
        """What is said of some lines: the greatest importance, every trigger, all else as in the first."""
        return self._all(first, last, lambda own: own)

    def still(self, first: int, last: int) -> Mapping[str, str] | None:
        """What is said of what is not struck in some lines."""
        return self._all(first, last, _still)

    def _all(
        self, first: int, last: int, read: Callable[[Mapping[str, str]], Mapping[str, str]]
    ) -> Mapping[str, str] | None:
        found: dict[str, str] = {}
        for number in range(first, last + 1):
            for key, value in read(self._lines.get(number, self._note)).items():
                found[key] = _both(key, found[key], value) if key in found else value
        return found or None

    def differ(self, line: int, other: int) -> bool:
        """Whether two lines may not share a passage.

        An entry that says since when it holds is a fact of its own: beside others it would be found for their
        words, and be taken for a newer word on what they say. One of the day that its heading names is not,
        as in the note of a month.
        """
        if not self._lines:
            return False
        if self._facts.get(line) != self._facts.get(other):
            return True
        one, two = (_still(self._lines.get(number, self._note)) for number in (line, other))
        return any(one.get(key) != two.get(key) for key in _STANDING)


def _still(own: Mapping[str, str]) -> Mapping[str, str]:
    """What is said of a line without what is said of its struck parts alone."""
    if "until" not in own and "struck-by" not in own:
        return own
    return {key: value for key, value in own.items() if key not in _OF_STRUCK}


def _both(key: str, one: str, other: str) -> str:
    if key == "importance":
        return str(max(int(one), int(other)))
    if key == "trigger" and other not in one:
        return f"{one}, {other}"
    return one


def _valid(found: Mapping[str, str]) -> dict[str, str]:
    """Leave out what is empty, no number or no day; an importance is kept within 1 to 10."""
    kept = {key: value for key, value in found.items() if value}
    if (told := kept.pop("importance", "")) and told.isascii() and told.isdigit():
        kept["importance"] = str(min(10, max(1, int(told))))
    for key in ("valid-until", "since", "until"):
        if (day := kept.get(key)) and not _is_day(day):
            del kept[key]
    return kept


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _ranges(note: Note) -> Iterator[tuple[int, int, bool, int]]:
    """First and last line that each comment is about, whether they are a section, and the comment's line."""
    for line in note.annotations:
        at = line
        while at > 1 and at in note.annotations and not note.lines[at - 1].strip():
            at -= 1  # on a line of its own: about what stands directly above,
        section = _under(note, at)
        if section:
            yield *section, True, line
            continue
        if not note.lines[at - 1].strip():
            at = next((n for n in range(line, len(note.lines) + 1) if note.lines[n - 1].strip()), 0)
        if at:  # or, where nothing does, below
            yield *_entry(note, at), False, line


def _under(note: Note, line: int) -> tuple[int, int] | None:
    """The lines under the heading that a line belongs to, its further headings included."""
    for place, heading in enumerate(note.headings):
        underlined = heading.line + 1 == line and set(note.lines[line - 1].strip()) in ({"="}, {"-"})
        if heading.line == line or underlined:
            further = (h.line - 1 for h in note.headings[place + 1 :] if h.level <= heading.level)
            return heading.line, next(further, len(note.lines))
    return None


def _entry(note: Note, line: int) -> tuple[int, int]:
    """A list item with what is indented below it; otherwise a line with those of its paragraph before it."""
    lines, start = note.lines, line
    headings = {heading.line for heading in note.headings}
    while start > max(1, line - _LONGEST_ENTRY) and not _begins(lines[start - 1]):
        above = start - 1
        if not lines[above - 1].strip() or above in headings or above in note.annotations:
            break
        start = above
    end = line
    if _ITEM.match(lines[start - 1]):
        deep = _indent(lines[start - 1])
        # Items that start at the margin do not overlap, so what is said in their first line holds to the end.
        limit = len(lines) if start == line and not deep else min(len(lines), line + _LONGEST_ENTRY)
        end = _end_of_item(lines, line, limit, deep)
    return start, max(end, _end_of_paragraph(note, line)) if comments.is_guess(lines[line - 1]) else end


def _end_of_paragraph(note: Note, line: int) -> int:
    """The last line that goes on with what a line says."""
    passed = {heading.line for heading in note.headings} | {first for first, _ in note.fences}
    end = line
    while end < len(note.lines) and note.lines[end].strip() and end + 1 not in passed:
        if _begins(note.lines[end]):
            break
        end += 1
    return end


def _end_of_item(lines: Sequence[str], line: int, limit: int, deep: int) -> int:
    """The last line of an item: what is indented further belongs to it, over blank lines too."""
    end = line
    for number in range(line, limit):
        if lines[number].strip():
            if _indent(lines[number]) <= deep:
                break
            end = number + 1
    return end


def _begins(line: str) -> bool:
    return _ITEM.match(line) is not None or turns.speaker(line) is not None


def _indent(line: str) -> int:
    line = line.expandtabs(4)
    return len(line) - len(line.lstrip())
