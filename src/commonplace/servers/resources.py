"""Notes as resources: MEMORY.md is listed, every other one is reached by the template of their addresses.

Clients show listed resources to models: a client makes a tool of each and sends all the names to its
provider, so notes are not listed by name.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import accumulate, takewhile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from commonplace.base.errors import CommonplaceError, NoteNotFound
from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.memory import Memory
    from commonplace.types import Excerpt

MOST_CHARACTERS = 250_000  # of a note in one message
SCHEME = "commonplace://"
MARKDOWN = "text/markdown"
TEMPLATE = {
    "uriTemplate": f"{SCHEME}{{collection}}/{{+path}}",
    "name": "note",
    "description": "A note: its collection, and its path in it. The workspace's own collection is `memory`.",
    "mimeType": MARKDOWN,
}


def listed(workspace: Workspace) -> list[dict[str, Any]]:
    """Return the long-term memory of a workspace as clients list it; empty if it is missing."""
    path = os.path.relpath(workspace.memory_file, workspace.root)
    try:
        size = workspace.files.stat(path).st_size if workspace.files.is_file(path) else None
    except OSError:
        size = None
    if size is None:
        return []
    about = {"title": "Long-term memory", "mimeType": MARKDOWN, "size": size}
    return [{"uri": f"{SCHEME}{WORKSPACE}/{_quoted(path)}", "name": path, **about}]


def read(memory: Memory, uri: str) -> dict[str, Any]:
    """Return the text of a note by its address.

    Raises NoteNotFound, OutsideRoots, NoteUnreadable.
    """
    collection, _, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not path:
        raise NoteNotFound(uri, reason=f"an address is {SCHEME}collection/path")
    known = collections(memory)
    if collection not in known:
        raise NoteNotFound(uri, reason=f"no such collection; there are {', '.join(known)}")
    path = unquote(path, errors="surrogateescape")
    workspace, own = _parts(collection)
    note = memory.get(f"{workspace}{path if own == WORKSPACE else f'{own}/{path}'}:1")
    kind = MARKDOWN if note.path.lower().endswith(".md") else "text/plain"
    return {"uri": uri, "mimeType": kind, "text": _bounded(note)}


def _bounded(note: Excerpt) -> str:
    """The text of a note, as much as one message may hold, and how to read on."""
    sizes = accumulate(len(line) + 1 for line in note.lines)
    fitting = sum(1 for _ in takewhile(MOST_CHARACTERS.__ge__, sizes))
    if fitting == len(note.lines):
        return "\n".join(note.lines)
    shown = note.lines[:fitting] or (note.lines[0][:MOST_CHARACTERS],)
    left = len(note.lines) - len(shown)
    more = f"[{left:,} more lines: memory_get with path {note.path!r}, from {len(shown) + 1}]"
    return "\n".join([*shown, more])


def collections(memory: Memory) -> list[str]:
    """Return the names of the collections, the workspace's own first; those of others behind their names."""
    from commonplace.memory import beside, sources

    known = [source.name for source in sources(memory)]
    for name in memory.others:
        with suppress(CommonplaceError):  # a search says what is wrong with it
            known += [f"{name}:{source.name}" for source in sources(beside(memory, name))]
    return known


def paths(memory: Memory, collection: str) -> list[str]:
    """Return the paths of the notes of a collection, as addresses hold them."""
    workspace, own = _parts(collection)
    prefix = workspace if own == WORKSPACE else f"{workspace}{own}/"
    notes = (note.path for note in memory.notes() if note.collection == collection)
    return [_quoted(path.removeprefix(prefix)) for path in notes]


def _parts(collection: str) -> tuple[str, str]:
    """Return the prefix by which a collection's references name its workspace, and its name there."""
    workspace, colon, own = collection.rpartition(":")
    return workspace + colon, own


def _quoted(path: str) -> str:
    """A path as addresses hold it, names that are no UTF-8 included."""
    return quote(path, safe="/", errors="surrogateescape")
