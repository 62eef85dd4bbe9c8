"""Notes as resources: `commonplace://collection/path`, listed page by page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote

from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.errors import NoteNotFound
from commonplace.servers.protocol import PARAMS, Refusal

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import NoteInfo

SCHEME = "commonplace://"
PAGE = 100
MARKDOWN = "text/markdown"
TEMPLATE = {
    "uriTemplate": f"{SCHEME}{{collection}}/{{+path}}",
    "name": "note",
    "description": "A note: its collection, and its path in it. The workspace's own collection is `memory`.",
    "mimeType": MARKDOWN,
}


def page(memory: Memory, cursor: str | None = None) -> dict[str, Any]:
    """Return a page of notes by path; the cursor is the last path of the page before. Raises Refusal."""
    notes = sorted(memory.notes(), key=lambda note: note.path)
    if cursor is not None:
        last = unquote(cursor, errors="surrogateescape")
        if not cursor or _quoted(last) != cursor:
            raise Refusal(PARAMS, "cursor: not one that was given out")
        notes = [note for note in notes if note.path > last]
    shown = notes[:PAGE]
    more = {"nextCursor": _quoted(shown[-1].path)} if len(notes) > PAGE else {}
    return {"resources": [_listed(note) for note in shown], **more}


def _listed(note: NoteInfo) -> dict[str, Any]:
    about = {"title": note.title} if note.title else {}
    kind = MARKDOWN if note.path.lower().endswith(".md") else "text/plain"
    return {"uri": address(note), "name": note.path, **about, "mimeType": kind, "size": note.size}


def address(note: NoteInfo) -> str:
    """Return the address of a note."""
    own = note.collection == WORKSPACE
    path = note.path if own else note.path.removeprefix(f"{note.collection}/")
    return f"{SCHEME}{note.collection}/{_quoted(path)}"


def _quoted(path: str) -> str:
    """A path as addresses hold it, names that are no UTF-8 included."""
    return quote(path, safe="/", errors="surrogateescape")


def read(memory: Memory, uri: str) -> dict[str, Any]:
    """Return the text of a note by its address.

    Raises NoteNotFound, OutsideRoots, NoteUnreadable.
    """
    collection, _, path = uri.removeprefix(SCHEME).partition("/")
    if not uri.startswith(SCHEME) or not path:
        raise NoteNotFound(uri, reason=f"an address is {SCHEME}collection/path")
    from commonplace.memory import sources

    known = [source.name for source in sources(memory)]
    if collection not in known:
        raise NoteNotFound(uri, reason=f"no such collection; there are {', '.join(known)}")
    path = unquote(path, errors="surrogateescape")
    found = memory.get((path if collection == WORKSPACE else f"{collection}/{path}") + ":1")
    kind = MARKDOWN if found.path.lower().endswith(".md") else "text/plain"
    return {"uri": uri, "mimeType": kind, "text": "\n".join(found.lines)}
