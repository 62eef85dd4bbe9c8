"""The heading tree of a note, flattened: each stretch of lines under one heading path."""

from __future__ import annotations

from bisect import bisect_left
from operator import attrgetter

from commonplace.notes.headings import is_atx
from commonplace.types import Note, Section

_LINE = attrgetter("line")


def split(note: Note) -> list[Section]:
    """Cut a note at its headings; a section starts with its heading's line.

    Front matter, and the lines before the first heading, form sections without headings.
    """
    last = len(note.lines)
    sections: list[Section] = []
    first = 1
    if note.front_matter:
        sections.append(Section((), 1, note.front_matter[1]))
        first = note.front_matter[1] + 1
    if first <= (before := note.headings[0].line - 1 if note.headings else last):
        sections.append(Section((), first, before))
    if not note.headings:
        return sections
    path: list[tuple[int, str]] = []
    ends = [heading.line - 1 for heading in note.headings[1:]] + [last]
    for heading, end in zip(note.headings, ends, strict=True):
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.text))
        sections.append(Section(tuple(text for _, text in path if text), heading.line, end))
    return sections


def all_heading_lines(note: Note) -> set[int]:
    """Lines of a note that are headings, the underlines of setext headings included."""
    found: set[int] = set()
    for heading in note.headings:
        found.add(heading.line)
        if not is_atx(note.lines[heading.line - 1]):
            found.add(heading.line + 1)
    return found


def heading_lines(note: Note, section: Section) -> frozenset[int]:
    """Lines of a section that are headings, a setext heading's underline included."""
    found: set[int] = set()
    index = bisect_left(note.headings, section.start_line, key=_LINE)
    # Not over a slice, which would copy all further headings for every section.
    while index < len(note.headings) and (line := note.headings[index].line) <= section.end_line:
        found.add(line)
        if not is_atx(note.lines[line - 1]):
            found.add(line + 1)
        index += 1
    return frozenset(found)
