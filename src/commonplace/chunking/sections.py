"""The heading tree of a note, flattened: each stretch of lines under one heading path."""

from __future__ import annotations

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
