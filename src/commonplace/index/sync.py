"""Files to index: what changed is read, cut and written; then what lacks a vector is embedded.

Both halves can be interrupted at any moment and go on where they stopped: each batch of files is one
transaction, and so is each batch of vectors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING

from commonplace.base.paths import shown
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import ChunkSettings
from commonplace.index.base import Index, Key, Known
from commonplace.index.changes import FORMATS, Difference, compare, formats, reread
from commonplace.index.reading import UNREAD, Reader, keep, lines
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import FileState, transcript_name
from commonplace.providers.embedding.base import check_length, gives_words, signs
from commonplace.types import SyncReport
from commonplace.types.progress import Progress, silent

if TYPE_CHECKING:
    from commonplace.index.base import Floats
    from commonplace.index.vectors import Pending
    from commonplace.providers.embedding.base import Batching, Embedder

    _Made = tuple[list[bytes], Floats, dict[bytes, bytes]]

Writing = Callable[[], AbstractContextManager[object]]
BATCH_FROM = 100  # texts; fewer are embedded directly, which takes seconds
SLICE = 16  # texts between two looks at how far it is: less than a second of work
EMBED_BATCH = 256  # vectors per transaction: about a second of work, the most that Ctrl-C loses


def sync_text(
    index: Index,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress = silent,
) -> SyncReport:
    """Bring text and full text up to the files found by a scan.

    An index of another identity is rebuilt in one transaction; until it commits, readers see the old one.
    A passage whose text was embedded before gets that vector at once. Raises IndexUnavailable.
    """
    reason = index.rebuild_reason
    if reason is None:
        return _update(index, states, chunk, progress)
    with index.transaction(anew=True):
        report = _update(index, states, chunk, progress)
        Vectors(index).prune()
    return replace(report, rebuilt=reason)


def _update(
    index: Index,
    states: Sequence[FileState],
    chunk: ChunkSettings,
    progress: Progress,
) -> SyncReport:
    manifest = index.manifest()
    if others := reread(manifest, states, index.meta.get(FORMATS)):
        index.update(gone=others)
        manifest = index.manifest()
    if (told := formats(states)) and told != index.meta.get(FORMATS):
        index.meta[FORMATS] = told
    difference = compare(states, manifest)
    reader = Reader(manifest, chunk)
    last = index.write(reader.batches([*difference.fresh, *difference.suspect], progress))
    gone = [key for key in difference.gone if (key[0], transcript_name(key[1])) not in reader.unread]
    if reader.touched or gone:
        index.update(reader.touched, gone)
    notices = keep(index, reader, gone)
    vectors = Vectors(index)
    reused = vectors.reuse(after=last)
    vectors.store.prune(lost=True)
    report = _report(difference._replace(gone=gone), reader, manifest)
    standing = lines(one for one in notices if one[-1].code != UNREAD)
    return replace(report, reused=reused, warnings=(*report.warnings, *standing))


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
    stop: Callable[[], bool] = lambda: False,
    *,
    sweep: bool = True,
    writing: Writing = nullcontext,
) -> SyncReport:
    """Embed the passages without a vector; one known for the same text is reused.

    The index is written while `writing` is held, and may be written by others while texts are embedded.

    Within a round, texts are embedded in the order of their length. When the model is another than the
    index's, all its vectors are made first, while the old ones answer until the switch at the end;
    stopped in between, it goes on from there. Without `sweep`, vectors that a killed process left without a
    passage are not looked for. Raises ProviderError.
    """
    job = _Job(vectors, embedder, progress, stop, writing)
    if vectors.serves(embedder):
        return job.fill(sweep)
    vectors.index.meta["staging"] = embedder.fingerprint
    total = sum(map(len, vectors.texts(EMBED_BATCH * 4, embedder)))
    staged, done = job.make(vectors.texts(EMBED_BATCH * 4, embedder), vectors.known, total)
    if done < total:
        return SyncReport(embedded=staged, pending=total - done)
    with writing(), vectors.index.transaction():
        report = _Job(vectors, embedder, silent, lambda: False, nullcontext).fill()
    return replace(report, embedded=staged + report.embedded, reused=max(0, report.reused - staged))


def sync_by_batches(
    vectors: Vectors,
    embedder: Batching,
    progress: Progress = silent,
    stop: Callable[[], bool] = lambda: False,
) -> tuple[int, str]:
    """Let batches make what lacks a vector, if it is much; return how many came, and why not all did.

    They wait in the index until `sync_vectors` gives them to their passages, so this may take an hour
    while other processes search and sync. Raises ProviderError, BudgetExceeded.
    """
    from commonplace.providers.embedding.batch import StillWorking

    texts = vectors.missing(embedder)
    if len(texts) < BATCH_FROM:
        return 0, ""
    vectors.index.meta["staging"] = embedder.fingerprint
    keys, done = list(texts), 0
    progress("batches", 0, len(keys))
    try:
        for places, matrix in embedder.embed_each(list(texts.values())):
            with vectors.index.transaction():
                vectors.store.add([keys[place] for place in places], matrix)
            done += len(places)
            progress("batches", done, len(keys))
            if stop():
                return done, "stopped"
    except StillWorking as error:
        return done, str(error)
    return done, ""


class _Job(NamedTuple):
    """Embedding passages of an index with a model."""

    vectors: Vectors
    embedder: Embedder
    progress: Progress
    stop: Callable[[], bool]
    writing: Writing

    def fill(self, sweep: bool = True) -> SyncReport:
        """Give passages without a vector one, made now or known from elsewhere."""
        vectors, embedder, meta = self.vectors, self.embedder, self.vectors.index.meta
        sweep = sweep or meta.get("model") != embedder.fingerprint  # another's are left over
        with self.writing():
            vectors.adopt(embedder)
            reused, total = vectors.reuse(), vectors.store.pending()

        def pending_now() -> list[Pending]:
            return vectors.pending(EMBED_BATCH * 4, embedder)

        # Of the passages those get one that are still there: others may have written meanwhile.
        given = lambda _: vectors.assign(pending_now())  # noqa: E731
        made, done = self.make(iter(pending_now, []), given, total, vectors.store.length)
        with self.writing():
            pending = vectors.store.pending()
            # While some are missing, vectors may be there that are not assigned yet, and were paid for.
            if not pending and (meta.pop("staging", None) is not None or (sweep and (made or reused))):
                vectors.prune()
        return SyncReport(embedded=made, reused=reused + max(0, done - made), pending=pending)

    def make(
        self,
        rounds: Iterable[Sequence[Pending]],
        given: Callable[[Sequence[Pending]], list[Pending]],
        total: int,
        length: int = 0,
    ) -> tuple[int, int]:
        """Embed rounds of passages; return how many vectors were made, and how many passages have one.

        `given` returns the passages that just got a vector.
        """
        made = done = 0
        self.progress("vectors", done, total)
        for round_ in rounds:
            if self.stop():
                break
            with self.writing(), self.vectors.index.transaction():
                known = given(round_)
            done += len(known)
            keys = {pending.key for pending in known}
            missing = {p.key: p for p in round_ if p.key not in keys}
            for batch in _by_length(missing):
                some = _embed(self.embedder, batch, self.progress, done, total)
                check_length(some[1], length, shown(self.vectors.index.path))
                length, keys = some[1].shape[1], set(some[0])
                with self.writing(), self.vectors.index.transaction():
                    self.vectors.store.add(*some)
                    done += len(given([p for p in round_ if p.key in keys]))
                self.progress("vectors", done, max(done, total))
            made += len(missing)
        return made, done


def _by_length(missing: Mapping[bytes, Pending]) -> Iterator[list[Pending]]:
    """Yield batches of passages to embed, shortest texts first."""
    ordered = sorted(missing.values(), key=lambda pending: (len(pending.text), pending.key))
    for start in range(0, len(ordered), EMBED_BATCH):
        yield ordered[start : start + EMBED_BATCH]


def _embed(embedder: Embedder, batch: Sequence[Pending], progress: Progress, done: int, total: int) -> _Made:
    """Embed texts behind those that are `done`, and say often how far it is.

    A model in this process takes text by text, so that parts cost no more; a request to a server is not cut.
    """
    import numpy as np

    from commonplace.providers import opening

    step = len(batch) if opening.is_remote(embedder) else SLICE
    parts = []
    for start in range(0, len(batch), step):
        parts.append(_embed_part(embedder, batch[start : start + step]))
        reached = done + min(len(batch), start + step)
        progress("vectors", reached, max(reached, total))
    keys = [key for part in parts for key in part[0]]
    words = {key: own for part in parts for key, own in part[2].items()}
    return keys, np.concatenate([part[1] for part in parts]), words


def _embed_part(embedder: Embedder, batch: Sequence[Pending]) -> _Made:
    """Embed texts: their keys, their vectors, and the signs of the words of turns, as a store adds them."""
    import numpy as np

    turns = [pending for pending in batch if pending.start is not None]
    if not turns or not gives_words(embedder):
        matrix = embedder.embed([pending.text for pending in batch], "passage")
        return [pending.key for pending in batch], matrix, {}
    others = [pending for pending in batch if pending.start is None]
    rows, words = embedder.embed_words([p.text for p in turns], [p.start or 0 for p in turns])
    matrix = np.concatenate([rows, embedder.embed([p.text for p in others], "passage")])
    kept = {pending.key: signs(own) for pending, own in zip(turns, words, strict=True)}
    return [pending.key for pending in (*turns, *others)], matrix, kept
