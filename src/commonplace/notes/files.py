"""Notes on disk: locked, atomic reads-and-writes that keep a file's encoding, newlines and mode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from commonplace.base import atomic, paths
from commonplace.base.locks import LOCK_WAIT_S
from commonplace.markdown.document import Document

Lines = tuple[int, int]  # first and last line of an entry, 1-based
Entry = tuple[str, str | None]  # lines, and the heading they go under, if any


def replace(
    path: Path,
    compose: Callable[[Document], Document],
    *,
    lock: Path,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> None:
    """Read a note, compose its next version and write it as a whole, under the lock.

    With a workspace the note does not leave it, and what editors overwrite of it is found (`notes.writes`).
    A missing note reads as empty. Raises NoteUnreadable, LockTimeout.
    """

    def compose_bytes(data: bytes) -> bytes:
        return compose(Document.read(data, str(path)).checked()).data

    if workspace is None:
        atomic.replace(path, compose_bytes, lock=lock, timeout_s=timeout_s)
    else:
        from commonplace.notes import writes

        atomic.replace(
            path, compose_bytes, lock=lock, timeout_s=timeout_s,
            within=workspace.root, guard=lambda: writes.guard(workspace, path),
        )  # fmt: skip


def append(
    path: Path,
    entry: str,
    *,
    lock: Path,
    heading: str | None = None,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> Lines:
    """Append an entry to a note, under a heading if one is given; return its first and last line, 1-based.

    `title` opens a note that is new or blank. Raises NoteUnreadable, LockTimeout.
    """
    lines = (0, 0)

    def compose(document: Document) -> Document:
        nonlocal lines
        edit = _titled(document, title).insert(entry, heading=heading)
        lines = edit.lines
        return edit.document

    replace(path, compose, lock=lock, timeout_s=timeout_s, workspace=workspace)
    return lines


def append_all(
    path: Path,
    entries: Sequence[Entry],
    *,
    lock: Path,
    title: str | None = None,
    timeout_s: float = LOCK_WAIT_S,
    workspace: paths.Workspace | None = None,
) -> list[Lines]:
    """Append entries, each under its heading if it has one, in one write; return the lines of each.

    What stands there already, character for character, is not written again: who died between writing and
    saying so may come with the same entries once more. Raises as `append` does.
    """
    places: list[Lines] = []

    def compose(document: Document) -> Document:
        nonlocal places
        document, places = insert_all(document, entries, title)
        return document

    replace(path, compose, lock=lock, timeout_s=timeout_s, workspace=workspace)
    return places


def insert_all(
    document: Document, entries: Sequence[Entry], title: str | None = None
) -> tuple[Document, list[Lines]]:
    """Insert entries that are not there yet, those of a heading together; return where each stands too."""
    document = _titled(document, title)
    places = _standing(document, entries)
    groups: dict[str | None, list[str]] = {}
    for entry, heading in dict.fromkeys(entries):
        if (entry, heading) not in places:
            groups.setdefault(heading, []).append(entry)
    for heading, group in groups.items():
        edit = document.insert("\n".join(group), heading=heading)
        document, (first, _) = edit.document, edit.lines
        places = {key: (edit.moved(a) or a, edit.moved(b) or b) for key, (a, b) in places.items()}
        for entry in group:
            last = first + entry.count("\n")
            places[entry, heading] = first, last
            first = last + 1
    return document, [places[entry] for entry in entries]


def _titled(document: Document, title: str | None) -> Document:
    return document.with_text(f"{title}\n") if title and not document.text.strip() else document


def _standing(document: Document, entries: Sequence[Entry]) -> dict[Entry, Lines]:
    """Which entries a document holds already, and where."""
    lines = document.bare
    starts: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("-"):
            starts.setdefault(line, []).append(number)
    places: dict[Entry, Lines] = {}
    for key in dict.fromkeys(entries):
        own = key[0].split("\n")
        for start in starts.get(own[0], ()):
            end = start + len(own)
            if lines[start:end] == own and not "".join(lines[end : end + 1]).startswith("  "):
                places[key] = start + 1, end
                break
    return places
