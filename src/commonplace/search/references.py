"""Where the notes of references lie: by path as a hit shows it, or by the start of their content."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import NoteNotFound
from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.index.base import Key
from commonplace.index.store import Store
from commonplace.notes.scan import Globs

if TYPE_CHECKING:
    from commonplace.markdown.references import Reference


def shown(collection: str, path: str) -> str:
    """Return a path as people write it: relative to the workspace, or below a collection's name."""
    return path if collection == WORKSPACE else f"{collection}/{path}"


def key_of(store: Store, path: str) -> Key:
    """Return the collection and the path in it of a path as it is shown."""
    head, _, rest = path.partition("/")
    own = os.path.lexists(os.path.join(store.sources[0].root, path))
    if rest and not own and any(source.name == head for source in store.sources[1:]):
        return head, rest
    return WORKSPACE, path


def format_of(store: Store, path: str) -> str:
    """Return the format of the transcript at a path as it is shown; empty for any other file."""
    collection, inner = key_of(store, path)
    return next(source.format_of(inner) for source in store.sources if source.name == collection)


def is_indexed(store: Store, path: str) -> bool:
    """Whether the settings have the file at a path as it is shown indexed, so that a search may cite it."""
    collection, inner = key_of(store, path)
    source = next(source for source in store.sources if source.name == collection)
    return Globs(source.globs)(inner) and not Globs(source.ignore)(inner)


def find(store: Store, wanted: Reference) -> tuple[str, str]:
    """Return the shown path and the absolute one of the note that a reference names.

    The file need not lie inside the roots: whoever reads it checks that. Raises NoteNotFound, with near
    misses.
    """
    if wanted.docid:
        return _find_docid(store, wanted.docid)
    collection, path = key_of(store, wanted.path)
    absolute = os.path.join(_root(store, collection), path)
    outside = ".." in path.split("/") or os.path.isabs(path)
    if collection == WORKSPACE and not outside and not os.path.lexists(absolute):
        raise NoteNotFound(paths.shown(path), _near_misses(store, path))
    return wanted.path, absolute


def _find_docid(store: Store, prefix: str) -> tuple[str, str]:
    """The note whose content hash starts so; of several with one content the first."""
    store.freshen()
    found = store.index.notes(docids=[prefix])
    if not found or len({note.hash for note in found}) > 1:
        names = [shown(note.collection, note.path) for note in found[:5]]
        raise NoteNotFound(f"#{prefix}", names, "several notes have it" if found else "no such note")
    note = found[0]
    return shown(note.collection, note.path), os.path.join(_root(store, note.collection), note.path)


def _near_misses(store: Store, path: str) -> list[str]:
    from difflib import get_close_matches

    known = {shown(state.collection, state.path) for state in store.scan()}
    named = {name.rpartition("/")[2]: name for name in sorted(known)}
    close = get_close_matches(path, known, 3) or get_close_matches(path.rpartition("/")[2], named, 3)
    return [named.get(name, name) for name in close]


def _root(store: Store, collection: str) -> str:
    return next(source.root for source in store.sources if source.name == collection)
