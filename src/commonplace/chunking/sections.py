"""The heading tree of a note, flattened: each stretch of lines under one heading path."""

from __future__ import annotations

from bisect import bisect_left

from commonplace.types import Note, Section


def split(note: Note) -> list[Section]:
    """Cut a note at its headings; a section starts with its heading's line.

    Lines before the first heading (front matter among them) form a section without headings.
    """
    last = len(note.lines)
    if not note.headings:
        return [Section((), 1, last)] if last else []
    sections: list[Section] = []
    if note.headings[0].line > 1:
        sections.append(Section((), 1, note.headings[0].line - 1))
    path: list[tuple[int, str]] = []
    ends = [heading.line - 1 for heading in note.headings[1:]] + [last]
    for heading, end in zip(note.headings, ends, strict=True):
        while path and path[-1][0] >= heading.level:
            path.pop()
        path.append((heading.level, heading.text))
        sections.append(Section(tuple(text for _, text in path if text), heading.line, end))
    return sections


def heading_lines(note: Note, section: Section) -> frozenset[int]:
    """Lines of a section that are headings, a setext heading's underline included."""
    found: set[int] = set()
    first = bisect_left(note.headings, section.start_line, key=lambda heading: heading.line)
    for heading in note.headings[first:]:
        if heading.line > section.end_line:
            break
        found.add(heading.line)
        if not note.lines[heading.line - 1].lstrip().startswith("#"):
            found.add(heading.line + 1)
    return frozenset(found)
