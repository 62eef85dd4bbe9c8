"""The index without what is forgotten: rows, tokens of the full text, vectors, freed pages, the log.

Full text keeps the tokens of deleted rows until its segments are merged, and SQLite keeps deleted bytes in
free pages: both are rewritten.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import apsw

from commonplace import paths
from commonplace.base.connection import connect
from commonplace.config.collections import applying
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.embedding import cache
from commonplace.erasure import stores
from commonplace.erasure.ground import Ground
from commonplace.erasure.wanted import Wanted
from commonplace.errors import IndexUnavailable
from commonplace.index import schema
from commonplace.index.vectors import Vectors, embedded_text
from commonplace.types.erasure import Erased

_TEXTS = (
    "SELECT p.text, s.headings, n.path FROM passages p JOIN sections s ON s.id = p.section_id"
    " JOIN notes n ON n.id = p.note_id WHERE n.collection = ? AND n.path = ?"
)


def vector_keys(ground: Ground, changed: Iterable[str], asked: Iterable[str]) -> set[str]:
    """Return the keys that the texts of some files, and some questions, have in the cache of vectors."""
    models = stores.models(stores.vector_cache())
    found: set[str] = set()
    if models:
        texts = embedded(ground, changed)
        found |= {cache.key(model, "passage", text).hex() for model in models for text in texts}
        found |= {cache.key(model, "query", text).hex() for model in models for text in asked}
    return found


def embedded(ground: Ground, changed: Iterable[str]) -> set[str]:
    """Return the texts that the index has embedded, or would, for some files of the workspace's own."""
    if not _is_there(ground.index):
        return set()
    found: set[str] = set()
    with schema.translated(os.fspath(ground.index)):
        connection = connect(paths.root_of(ground.index), ground.index, readonly=True)
        try:
            if not schema.exists(connection):
                return set()
            noted: Any = connection.execute("SELECT value FROM meta WHERE key = 'contexts'").get
            contexts = json.loads(noted) if noted else {}
            for path in changed:
                above = applying(contexts, path, WORKSPACE_COLLECTION) if contexts else ()
                rows: Iterable[Any] = connection.execute(_TEXTS, (WORKSPACE_COLLECTION, path))
                found |= {embedded_text(text, json.loads(headings), above) for text, headings, _ in rows}
        finally:
            connection.close()
    return found


def _is_there(index: Path) -> bool:
    return paths.root_of(index).is_file(index)


def count(ground: Ground, wanted: Wanted, changed: Iterable[str]) -> list[Erased]:
    """Say how many passages of the index are of files that change."""
    if not _is_there(ground.index):
        return []
    passages = len(embedded(ground, changed))
    return [Erased("index", ground.shown(ground.index), count=passages)] if passages else []


def clean(ground: Ground) -> None:
    """Bring the index up to the files and rewrite it; remove the one for when nothing can be written.

    Raises IndexUnavailable, NoteUnreadable.
    """
    fallback = paths.fallback_index(ground.workspace.root)
    if fallback != ground.index and _is_there(fallback):
        schema.remove_files(os.fspath(fallback))
    if not _is_there(ground.index):
        return
    store = ground.open_store()
    try:
        store.sync(lambda _: None)
        index = store.index
        if index.path != os.fspath(ground.index):
            raise IndexUnavailable(os.fspath(ground.index), "cannot be written here")
        with index.writing():
            index.drop_meta("staging")  # vectors made beside the others belong to texts of before
        Vectors(index).prune()
        rewrite(index.connection, ground.index)
    finally:
        store.close()


def rewrite(connection: apsw.Connection, path: Path) -> None:
    """Merge every full text so that no token of a deleted row is left, and write the file anew.

    Raises IndexUnavailable, NoteUnreadable.
    """
    with schema.translated(os.fspath(path)):
        with schema.transaction(connection):
            for table in map(schema.quoted, schema.full_text(connection)):
                connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
        stores.compact(connection, path)
