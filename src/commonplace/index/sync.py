"""Files to index: what changed is read, cut and written; then what lacks a vector is embedded.

Both halves can be interrupted at any moment and go on where they stopped: each batch of files is one
transaction, and so is each batch of vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.chunking.settings import ChunkSettings
from commonplace.index.changes import Difference, compare
from commonplace.index.progress import Progress, silent
from commonplace.index.reading import Reader
from commonplace.index.rows import Entry
from commonplace.index.sqlite import Key, Known, SqliteIndex
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import FileState
from commonplace.types import SyncReport

if TYPE_CHECKING:
    from commonplace.embedding.base import Embedder

EMBED_BATCH = 256  # vectors per transaction: about a second of work, the most that Ctrl-C loses


def sync_text(
    index: SqliteIndex,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress = silent,
) -> SyncReport:
    """Bring text and full text up to the files found by a scan.

    An index of another identity is rebuilt in one transaction; until it commits, readers see the old one.
    Raises IndexUnavailable.
    """
    reason = index.rebuild_reason
    if reason is None:
        return _update(index, states, chunk, progress)
    with index.writing():
        index.recreate()
        report = _update(index, states, chunk, progress)
    return replace(report, rebuilt=reason)


def _update(
    index: SqliteIndex,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress,
) -> SyncReport:
    manifest = index.manifest()
    difference = compare(states, manifest)
    reader = Reader(manifest, chunk)
    batches = reader.batches([*difference.fresh, *difference.suspect], progress)
    _write(index, batches)
    if reader.touched:
        index.touch(reader.touched)
    if difference.gone:
        index.remove(difference.gone)
    return _report(difference, reader, manifest)


def _write(index: SqliteIndex, batches: Iterator[list[Entry]]) -> None:
    """Write batches, each one's full text in a second thread while this one reads and cuts the next.

    Only that half leaves Python's lock for long; moving the rest over as well made both threads slower.
    """
    with ThreadPoolExecutor(1, "commonplace-index") as writer:
        writing: Future[None] | None = None
        try:
            for batch in batches:
                if writing is not None:
                    writing.result()
                index.stage(batch)
                writing = writer.submit(index.publish)
        finally:
            if writing is not None:
                writing.result()


def _report(difference: Difference, reader: Reader, manifest: Mapping[Key, Known]) -> SyncReport:
    """Count a file that vanished here and appeared there with the same content as moved."""
    gone = Counter(manifest[key].hash for key in difference.gone)
    moved = (gone & Counter(reader.added)).total()
    return SyncReport(
        added=len(reader.added) - moved,
        changed=reader.changed,
        moved=moved,
        removed=gone.total() - moved,
        unchanged=difference.unchanged + len(reader.touched),
        failed=tuple(reader.failed),
    )


def sync_vectors(
    vectors: Vectors,
    embedder: Embedder,
    progress: Progress = silent,
    limit: int | None = None,
    stop: Callable[[], bool] = lambda: False,
) -> SyncReport:
    """Embed what lacks a vector, at most `limit` passages; a vector known for the same text is reused.

    Within a round, texts are embedded in the order of their length. Raises ProviderError.
    """
    index = vectors.index
    vectors.adopt(embedder.fingerprint)
    total = index.counts()["pending"]
    embedded = reused = 0
    while not stop() and (limit is None or embedded + reused < limit):
        progress("vectors", embedded + reused, total)
        room = EMBED_BATCH * 4 if limit is None else min(EMBED_BATCH * 4, limit - embedded - reused)
        round_ = vectors.pending(room, embedder.scripts)
        if not round_:
            break
        ids = vectors.known(pending.key for pending in round_)
        missing = {p.key: p.text for p in round_ if p.key not in ids}
        vectors.assign((p.passage, ids[p.key]) for p in round_ if p.key in ids)
        ordered = sorted(missing, key=lambda k: (len(missing[k]), k))
        for start in range(0, len(ordered), EMBED_BATCH):
            keys = ordered[start : start + EMBED_BATCH]
            matrix = embedder.embed([missing[k] for k in keys], "passage")
            with index.writing():
                ids |= vectors.store(keys, matrix)
                fresh = set(keys)
                vectors.assign((p.passage, ids[p.key]) for p in round_ if p.key in fresh)
            progress("vectors", embedded + reused + start + len(keys), total)
        embedded += len(missing)
        reused += len(round_) - len(missing)
    vectors.prune()
    pending = index.counts()["pending"]
    return SyncReport(embedded=embedded, reused=reused, pending=pending)
