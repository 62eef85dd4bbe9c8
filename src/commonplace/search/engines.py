"""Other search engines over the same notes; their hits are read from the files of this workspace."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.config.settings import ENGINES
from commonplace.markdown.metadata import date_of
from commonplace.notes.scan import CollectionFiles
from commonplace.providers import qmd
from commonplace.search.references import shown
from commonplace.types.results import Factor, Hit, Mode, SearchResult

if TYPE_CHECKING:
    from commonplace.types import Excerpt

Read = Callable[[str], "Excerpt"]  # lines of a note by their reference, as they may be shown


def search(
    engine: str,
    question: str,
    sources: Sequence[CollectionFiles],
    read: Read,
    *,
    mode: Mode,
    limit: int,
    collections: Sequence[str],
    min_score: float | None,
) -> SearchResult:
    """Ask an engine; hits in the workspace and its collections are cited as by our own search.

    Raises ConfigError for an engine that there is not, ProviderError.
    """
    if engine not in ENGINES[1:]:
        raise ConfigError("engine", f"{engine!r} is not allowed; it must be one of {', '.join(ENGINES)}")
    started = time.perf_counter()
    found = qmd.search(question, mode=mode, limit=limit, collections=collections, min_score=min_score)
    took_ms = (time.perf_counter() - started) * 1000
    roots = [(os.path.realpath(source.root), source.name) for source in sources]
    # Of a folder in another one, the inner collection is meant.
    roots.sort(key=lambda row: len(row[0]), reverse=True)
    hits = tuple(_hit(one, roots, read) for one in found)
    return SearchResult(question, hits, 2, timings_ms={engine: took_ms}, mode=mode, engine=engine)


def _hit(found: qmd.Found, roots: Sequence[tuple[str, str]], read: Read) -> Hit:
    """Convert a hit of QMD; its lines are read from the file if that is a note of this workspace."""
    path, collection, text, docid = found.path, qmd.NAME, found.text, ""
    first, last = found.first, found.last
    real = os.path.realpath(found.path)
    own = ((root, name) for root, name in roots if real.startswith(root + os.sep))
    for root, name in [*own][:1] if os.path.isabs(found.path) else ():
        path, collection = shown(name, os.path.relpath(real, root).replace(os.sep, "/")), name
        with suppress(CommonplaceError):  # left out of our index, or changed since QMD read it
            excerpt = read(f"{path}:{first}-{last}")
            written = [at for at, line in enumerate(excerpt.lines) if line.strip()] or [0]
            text = "\n".join(excerpt.lines[written[0] : written[-1] + 1])
            first, last, docid = first + written[0], first + written[-1], excerpt.docid
    return Hit(
        path, first, last, text, found.score, found.title, (), date_of(path), collection, docid,
        factors=(Factor(qmd.NAME, found.score, "its own score"),), contexts=found.contexts,
    )  # fmt: skip
