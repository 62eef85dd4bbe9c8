"""Entries put into notes: one, or those of a batch. Threads that append to one note share a write."""

from __future__ import annotations

import threading
from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar
from weakref import WeakValueDictionary

from commonplace.base import fork, paths
from commonplace.base.locks import LOCK_WAIT_S
from commonplace.markdown.document import Document
from commonplace.storage import writes

CONTEXT = 3  # lines on either side that tell an entry from others
Lines = tuple[int, int]  # first and last line of an entry, 1-based
Sides = tuple[bytes, bytes]  # the lines around an entry without it, and with it
Placed = tuple[str, str | None]  # the lines of an entry, and the heading they go under, if any
_Key = TypeVar("_Key", bound=Hashable)


class _Append:
    """An entry on its way into a note: where it stands once it is written, or why it is not."""

    def __init__(self, entry: Placed) -> None:
        self.entry = entry
        self.lines: Lines = (0, 0)
        self.sides: Sides = (b"", b"")
        self.error: BaseException | None = None


class _Queue:
    """The entries that threads of this process append to one note. Whose turn it is writes all that wait."""

    def __init__(self) -> None:
        self.turn = threading.Lock()
        self.waiting: list[_Append] = []


_queues: WeakValueDictionary[Path, _Queue] = WeakValueDictionary()  # as long as a thread is at one
_lock = fork.renewed(threading.Lock(), _queues.clear)


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
    workspace.check_writable()  # of each by itself: another one may write it
    own = _Append((entry, heading))
    with _lock:
        queue = _queues.setdefault(path, _Queue())
        queue.waiting.append(own)
    with queue.turn:
        with _lock:
            group = queue.waiting if own in queue.waiting else []
            queue.waiting = [] if group else queue.waiting
        if group:
            _write(workspace, path, group, title, timeout_s)
    if own.error is not None:
        raise own.error
    return own.lines, own.sides


def _write(
    workspace: paths.Workspace, path: Path, group: Sequence[_Append], title: str | None, timeout_s: float
) -> None:
    """Append a group of entries in one write, and say to each what came of it."""
    places: dict[int, Lines] = {}
    made = Document.of("")

    def compose(document: Document) -> Document:
        nonlocal places, made
        entries = {number: one.entry for number, one in enumerate(group)}
        made, places = _insert(_titled(document, title), entries, {})
        return made

    try:
        writes.replace(workspace, path, compose, timeout_s=timeout_s)
    except BaseException as error:
        for one in group:
            one.error = error
        raise
    for number, one in enumerate(group):
        one.lines, one.sides = places[number], _sides(made, *places[number])


def _sides(document: Document, first: int, last: int) -> Sides:
    """The lines around an entry without it, and with it: with the blank line before it at the end."""
    start = first - 1
    if last == len(document.lines) and start and not document.bare[start - 1].strip():
        start -= 1
    around = max(0, start - CONTEXT), last + CONTEXT
    above, own, below = (
        document.lines[around[0] : start],
        document.lines[start:last],
        document.lines[last : around[1]],
    )
    parts = ("".join([*above, *below]), "".join([*above, *own, *below]))
    return tuple(part.encode("utf-8", "surrogateescape") for part in parts)  # type: ignore[return-value]


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
    """Insert entries that are not there yet, those of a heading together; return where each stands too."""
    document = _titled(document, title)
    places = _standing(document, entries)
    new = {entry: entry for entry in entries if entry not in places}
    document, places = _insert(document, new, places)
    return document, [places[entry] for entry in entries]


def _insert(
    document: Document, entries: Mapping[_Key, Placed], places: Mapping[_Key, Lines]
) -> tuple[Document, dict[_Key, Lines]]:
    """Insert entries, those of a heading together; return where each stands, and those of before too."""
    places, groups = dict(places), dict[str | None, list[_Key]]()
    for key, (_, heading) in entries.items():
        groups.setdefault(heading, []).append(key)
    for heading, keys in groups.items():
        edit = document.insert("\n".join(entries[key][0] for key in keys), heading=heading)
        document, (first, _) = edit.document, edit.lines
        places = {key: (edit.moved(a) or a, edit.moved(b) or b) for key, (a, b) in places.items()}
        for key in keys:
            last = first + entries[key][0].count("\n")
            places[key] = first, last
            first = last + 1
    return document, places


def _titled(document: Document, title: str | None) -> Document:
    return document.with_text(f"{title}\n") if title and not document.text.strip() else document


def _standing(document: Document, entries: Sequence[Placed]) -> dict[Placed, Lines]:
    """Which entries a document holds already, and where."""
    lines = document.bare
    starts: dict[str, list[int]] = {}
    for number, line in enumerate(lines):
        if line.startswith("-"):
            starts.setdefault(line, []).append(number)
    places: dict[Placed, Lines] = {}
    for key in dict.fromkeys(entries):
        own = key[0].split("\n")
        for start in starts.get(own[0], ()):
            end = start + len(own)
            if lines[start:end] == own and not "".join(lines[end : end + 1]).startswith("  "):
                places[key] = start + 1, end
                break
    return places
