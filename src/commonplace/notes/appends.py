"""Entries put into notes: a single one, or those of a batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.locks import LOCK_WAIT_S
from commonplace.markdown.document import Document
from commonplace.storage import writes

CONTEXT = 3  # lines on either side that tell an entry from others
Lines = tuple[int, int]  # first and last line of an entry, 1-based
Sides = tuple[bytes, bytes]  # the lines around an entry without it, and with it
Placed = tuple[str, str | None]  # the lines of an entry, and the heading they go under, if any


def append(
    workspace: paths.Workspace,
    path: Path,
    entry: str,
    *,
    heading: str | None = None,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
) -> tuple[Lines, Sides]:
    """Append an entry to a note of a workspace; return its first and last line, 1-based, and its sides.

    It goes under a heading if one is given. `title` opens a note that is new or blank. Raises AccessDenied,
    NoteUnreadable, LockTimeout.
    """
    made, lines = Document.of(""), (0, 0)

    def compose(document: Document) -> Document:
        nonlocal made, lines
        made, places = _insert(_titled(document, title), [(entry, heading)], {})
        lines = places[entry, heading]
        return made

    writes.replace(workspace, path, compose, timeout_s=timeout_s)
    return lines, _sides(made, *lines)


def _sides(document: Document, first: int, last: int) -> Sides:
    """Return the lines around an entry without it, and with it: with the blank line before it at the end."""
    start, lines = first - 1, document.lines
    if last == len(lines) and start and not document.bare[start - 1].strip():
        start -= 1
    above, below = lines[max(0, start - CONTEXT) : start], lines[last : last + CONTEXT]
    without, whole = "".join([*above, *below]), "".join([*above, *lines[start:last], *below])
    return without.encode("utf-8", "surrogateescape"), whole.encode("utf-8", "surrogateescape")


def append_all(
    workspace: paths.Workspace,
    path: Path,
    entries: Sequence[Placed],
    *,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
) -> list[Lines]:
    """Append entries, each under its heading if it has one, in one write; return the lines of each.

    An entry that the note has already, character for character, is not written again: a process that was
    killed between the write and its record comes with the same entries. Raises as `append` does.
    """
    places: list[Lines] = []

    def compose(document: Document) -> Document:
        nonlocal places
        document, places = insert_all(document, entries, title)
        return document

    writes.replace(workspace, path, compose, timeout_s=timeout_s)
    return places


def insert_all(
    document: Document, entries: Sequence[Placed], title: str | None = None
) -> tuple[Document, list[Lines]]:
    """Insert the missing entries, those of a heading together; return the lines of all entries too."""
    document = _titled(document, title)
    places = _standing(document, entries)
    new = [entry for entry in dict.fromkeys(entries) if entry not in places]
    document, places = _insert(document, new, places)
    return document, [places[entry] for entry in entries]


def _insert(
    document: Document, entries: Iterable[Placed], places: Mapping[Placed, Lines]
) -> tuple[Document, dict[Placed, Lines]]:
    """Insert entries, those of a heading together; return their lines, and the moved lines of `places`."""
    places, groups = dict(places), dict[str | None, list[Placed]]()
    for entry in entries:
        groups.setdefault(entry[1], []).append(entry)
    for heading, group in groups.items():
        edit = document.insert("\n".join(text for text, _ in group), heading=heading)
        document, (first, _) = edit.document, edit.lines
        places = {entry: (edit.moved(a) or a, edit.moved(b) or b) for entry, (a, b) in places.items()}
        for entry in group:
            last = first + entry[0].count("\n")
            places[entry] = first, last
            first = last + 1
    return document, places


def _titled(document: Document, title: str | None) -> Document:
    return document.with_text(f"{title}\n") if title and not document.text.strip() else document


def _standing(document: Document, entries: Sequence[Placed]) -> dict[Placed, Lines]:
    """Return the lines of the entries that a document holds already."""
    lines = document.bare
    starts: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("-"):
            starts.setdefault(line, []).append(number)
    places: dict[Placed, Lines] = {}
    for entry in dict.fromkeys(entries):
        own = entry[0].split("\n")
        for start in starts.get(own[0], ()):
            end = start + len(own)
            if lines[start:end] == own and not "".join(lines[end : end + 1]).startswith("  "):
                places[entry] = start + 1, end
                break
    return places
