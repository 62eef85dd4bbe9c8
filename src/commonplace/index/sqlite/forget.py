"""The index without what is forgotten: rows, tokens of the full text, vectors, freed pages, the log.

Full text keeps the tokens of deleted rows until its segments are merged, and SQLite keeps deleted bytes in
free pages: both are rewritten.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import apsw

from commonplace.base import paths
from commonplace.base.database import compact, connect, full_text, quoted
from commonplace.base.errors import IndexUnavailable
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index.sqlite import schema
from commonplace.index.store import Store
from commonplace.types.changes import Erased
from commonplace.types.store import Site

_PASSAGES = (
    "SELECT count(*) FROM notes n CROSS JOIN passages p"
    " ON p.id BETWEEN n.first_passage AND n.last_passage AND p.note_id = n.id"
    " WHERE n.collection = ? AND n.path = ?"
)


def count(site: Site, changed: Iterable[str]) -> list[Erased]:
    """Say how many passages of the index are of files that change."""
    passages = 0
    if _is_there(site.index):
        with schema.translated(os.fspath(site.index)):
            connection = connect(paths.root_of(site.index), site.index, readonly=True)
            try:
                if schema.exists(connection):
                    for path in (one for one in changed if one == one.encode("utf-8", "replace").decode()):
                        passages += int(connection.execute(_PASSAGES, (WORKSPACE_COLLECTION, path)).get)
            finally:
                connection.close()
    return [Erased("index", site.shown(site.index), count=passages)] if passages else []


def renew(site: Site, open_store: Callable[[], Store]) -> None:
    """Bring the index up to the files and rewrite it, on a server as well as in the file.

    Raises IndexUnavailable, NoteUnreadable.
    """
    store = open_store()
    is_remote = store.remote() is not None
    if is_remote:
        _renew(store, "")
        store = open_store()
        store.remote = lambda: None
    if _is_there(site.index):
        _renew(store, os.fspath(site.index))


def _renew(store: Store, path: str) -> None:
    """Renew the index at a path, or the one on a server for ""."""
    try:
        with store.filling():  # what is being embedded may be forgotten
            store.sync(lambda _: None, drop=(WORKSPACE_COLLECTION,))  # it may be empty now
            index = store.index
            if index.path != path if path else store.opened.away:
                raise IndexUnavailable(path or "; ".join(store.opened.warnings), schema.UNWRITABLE)
            with index.transaction():
                index.meta.pop("staging", None)  # vectors made beside the others belong to texts of before
                index.vectors.prune()
            if path:
                rewrite(index.connection, Path(path))  # type: ignore[attr-defined]
            else:
                index.erase()  # type: ignore[attr-defined]
    finally:
        store.close()


def _is_there(index: Path) -> bool:
    return paths.root_of(index).is_file(index)


def rewrite(connection: apsw.Connection, path: Path) -> None:
    """Merge every full text so that no token of a deleted row is left, and write the file anew.

    Raises IndexUnavailable, NoteUnreadable.
    """
    with schema.translated(os.fspath(path)):
        with schema.transaction(connection):
            for table in map(quoted, full_text(connection)):
                connection.execute(f"INSERT INTO {table}({table}) VALUES('optimize')")
        compact(connection, path)
