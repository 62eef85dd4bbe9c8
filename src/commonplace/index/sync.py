"""Files to index: what changed is read, cut and written; then what lacks a vector is embedded.

Both halves can be interrupted at any moment and go on where they stopped: each batch of files is one
transaction, and so is each batch of vectors.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Protocol

from commonplace.chunking import passages
from commonplace.chunking.passages import ChunkSettings
from commonplace.index import lexicon, schema
from commonplace.index.sqlite import Entry, Key, Known, SqliteIndex
from commonplace.index.vectors import Vectors
from commonplace.notes.parse import decode, parse
from commonplace.notes.scan import FileState
from commonplace.types import FileFailure, SyncReport

if TYPE_CHECKING:
    from commonplace.embedding.base import Embedder

BATCH_BYTES = 1 << 20  # text per transaction: large enough that FTS5 works in bulk
EMBED_BATCH = 256  # vectors per transaction: about a second of work, the most that Ctrl-C loses
# A file changed within this time of being read could change again under the same time stamp.
RACY_NS = 50_000_000


class Progress(Protocol):
    """Told how far a stage has come; `total` may grow."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report `done` of `total` files or passages."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


@dataclass(frozen=True, slots=True)
class Difference:
    """Files on disk against the index: never seen, to be compared by hash, and gone."""

    fresh: list[FileState] = field(default_factory=list)
    suspect: list[FileState] = field(default_factory=list)
    gone: list[Key] = field(default_factory=list)
    unchanged: int = 0

    @property
    def stale(self) -> int:
        """How many files the index may be wrong about."""
        return len(self.fresh) + len(self.suspect) + len(self.gone)


def identity(chunk: ChunkSettings) -> dict[str, str]:
    """What the content of an index depends on, besides the notes; any difference means a rebuild."""
    return {
        "schema": schema.VERSION,
        "tokenizer": f"{lexicon.VERSION}:{lexicon.TOKENIZER}",
        "chunking": chunk.fingerprint,
    }


def compare(states: Iterable[FileState], manifest: Mapping[Key, Known]) -> Difference:
    """Compare files by size and time of change."""
    fresh: list[FileState] = []
    suspect: list[FileState] = []
    seen: set[Key] = set()
    for state in states:
        known = manifest.get(state.key)
        seen.add(state.key)
        if known is None:
            fresh.append(state)
        elif known.mtime_ns != state.mtime_ns or known.size != state.size:
            suspect.append(state)
    unchanged = len(seen) - len(fresh) - len(suspect)
    gone = [] if len(seen) - len(fresh) == len(manifest) else [k for k in manifest if k not in seen]
    return Difference(fresh, suspect, gone, unchanged)


def sync_text(
    index: SqliteIndex,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress = silent,
    covered: Sequence[str] | None = None,
) -> SyncReport:
    """Bring text and full text up to the files found by a scan.

    `covered` names the collections that were scanned, where not all were: files of others are left alone.
    An index of another identity is rebuilt in one transaction; until it commits, readers see the old one.
    Raises IndexUnavailable.
    """
    reason = index.rebuild_reason
    if reason is None:
        return _update(index, states, chunk, progress, covered)
    with index.writing():
        index.recreate()
        report = _update(index, states, chunk, progress, covered)
    return replace(report, rebuilt=reason)


def _update(
    index: SqliteIndex,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress,
    covered: Sequence[str] | None,
) -> SyncReport:
    manifest = index.manifest()
    if covered is not None:
        manifest = {key: known for key, known in manifest.items() if key[0] in covered}
    difference = compare(states, manifest)
    reader = _Reader(manifest, chunk)
    batches = reader.batches([*difference.fresh, *difference.suspect], progress)
    _write(index, batches)
    if reader.touched:
        index.touch(reader.touched)
    if difference.gone:
        index.remove(difference.gone)
    return _report(difference, reader, manifest)


def _write(index: SqliteIndex, batches: Iterator[list[Entry]]) -> None:
    """Write batches in a second thread while this one reads and cuts the next.

    FTS5 spends most of its time outside Python's lock, so the two really run side by side.
    """
    waiting: deque[Future[None]] = deque()
    with ThreadPoolExecutor(1, "commonplace-index") as writer:
        try:
            for batch in batches:
                waiting.append(writer.submit(index.write, batch))
                if len(waiting) > 2:
                    waiting.popleft().result()
            for future in waiting:
                future.result()
        except BaseException:
            for future in waiting:
                future.cancel()
            raise


def _report(difference: Difference, reader: _Reader, manifest: Mapping[Key, Known]) -> SyncReport:
    """Count a file that vanished here and appeared there with the same content as moved."""
    gone = [manifest[key].hash for key in difference.gone]
    moved = 0
    for content in reader.added:
        if content in gone:
            gone.remove(content)
            moved += 1
    return SyncReport(
        added=len(reader.added) - moved,
        changed=reader.changed,
        moved=moved,
        removed=len(gone),
        unchanged=difference.unchanged + len(reader.touched),
        failed=tuple(reader.failed),
    )


class _Reader:
    """Reads and cuts changed files, and counts what it found."""

    def __init__(self, manifest: Mapping[Key, Known], chunk: ChunkSettings) -> None:
        self.manifest = manifest
        self.chunk = chunk
        self.added: list[str] = []
        self.changed = 0
        self.touched: list[FileState] = []
        self.failed: list[FileFailure] = []

    def batches(self, states: Sequence[FileState], progress: Progress) -> Iterator[list[Entry]]:
        """Yield entries for files whose content changed, about a megabyte at a time."""
        batch: list[Entry] = []
        size = 0
        for done, state in enumerate(states):
            progress("files", done, len(states))
            entry = self._entry(state)
            if entry is None:
                continue
            batch.append(entry)
            size += entry.state.size
            if size >= BATCH_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch
        progress("files", len(states), len(states))

    def _entry(self, state: FileState) -> Entry | None:
        try:
            data, state = _read(state)
        except OSError as error:
            self.failed.append(FileFailure(state.path, error.strerror or str(error)))
            return None
        content = content_hash(data)
        known = self.manifest.get(state.key)
        if known is not None and known.hash == content:
            self.touched.append(state)
            return None
        if known is None:
            self.added.append(content)
        else:
            self.changed += 1
        note = parse(decode(data), state.path)
        return Entry(state, content, note, *passages.split(note, self.chunk))


def content_hash(data: bytes) -> str:
    """Identity of a file's content, 32 hex digits; the first few name the note."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def _read(state: FileState) -> tuple[bytes, FileState]:
    """Read a file, with size and time as they stood when it was read.

    The time is recorded as unknown if the file could still change under the same time stamp.
    """
    with open(state.absolute, "rb") as file:
        status = os.fstat(file.fileno())
        data = file.read()
    racy = status.st_mtime_ns > time.time_ns() - RACY_NS
    return data, replace(state, mtime_ns=0 if racy else status.st_mtime_ns, size=len(data))


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
