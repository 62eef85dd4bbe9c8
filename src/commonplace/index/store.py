"""The index of a workspace, kept usable and as fresh as is cheap: opening, freshness, sync, recovery."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from pathlib import Path

from commonplace.base import fork, paths, remedies
from commonplace.base.errors import IndexUnavailable, NoteUnreadable, ProviderError
from commonplace.base.locks import LockTimeout, is_held, locked
from commonplace.base.messages import message
from commonplace.base.paths import shown
from commonplace.chunking.settings import ChunkSettings
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import changes, rules
from commonplace.index.base import ALL, Index
from commonplace.index.sqlite.opening import Opened, discard, in_memory, open_index, unusable
from commonplace.index.sqlite.schema import is_damage
from commonplace.notes.scan import (
    EMPTY,
    MISSING,
    CollectionFiles,
    FileState,
    fingerprint,
    inode,
    look,
    states,
)
from commonplace.notes.scan import shown as listed
from commonplace.notes.scan import with_archive as archived
from commonplace.providers.embedding.base import batching
from commonplace.types.progress import Progress, silent, tell

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import TypeVar

    from commonplace.base.messages import Message
    from commonplace.index.opening import Remote
    from commonplace.index.vectors import Vectors
    from commonplace.notes.scan import Listing
    from commonplace.providers.embedding.base import Batching, Embedder
    from commonplace.types import SyncReport

    T = TypeVar("T")

# The most that a search re-reads before it answers; more is reported as stale instead.
CHEAP_FILES, CHEAP_BYTES = 500, 8 << 20
CHEAP_PASSAGES = 32  # and how many passages it may embed, once the model is loaded: some 0.2 s
WRITTEN_WAIT_S = 5.0  # how long a search waits for who writes the index, after a write of this process
SYNC_WAIT_S = 60.0  # how long a sync waits for another one to end
RETRY_S = 30.0  # how often one that searches the files themselves looks whether the index can be had again
# Looking at some thousand files takes as long as a search. Where it took more than the first figure, of this
# thread's own time, what it found holds for so many times as long, from the third on for ten times as long; a
# small workspace is compared at every search.
SLOW_SCAN_S, SCAN_HOLDS, SCAN_HOLDS_S = 0.002, 200.0, 1.0


UNNAMED = message("notes.folder", "the folder of notes")
BEGUN = "the index is being filled by another process: the files themselves were searched"


class Store:
    """Owns the open index of one workspace; not thread-safe, its owner holds a lock."""

    def __init__(
        self,
        path: str,
        lock: str,
        sources: Sequence[CollectionFiles],
        chunks: ChunkSettings,
        contexts: Mapping[str, str] | None = None,
        remote: Callable[[], Remote | None] = lambda: None,
    ) -> None:
        """Bind to an index file, which is opened when it is needed.

        `contexts` are those that a sync embeds with the passages below their prefixes. `remote` gives the
        server of the index, or None; while the server is away, the file answers.
        """
        self.sources = list(sources)
        self.chunks = chunks
        self.notices: list[str] = []  # of files, as the last sync noted them; filled by `stale`
        self._path, self.remote = path, remote
        # The locks of those who write the index, and of those who embed, who write in between.
        self._lock = Path(lock)
        self._vectors_lock = self._lock.with_name(f"vectors-{self._lock.name}")
        self._identity = rules.identity(chunks)
        self._contexts = contexts or {}
        self._opened: Opened | None = None
        self._is_renewed = False
        self._inode, self._version = 0, 0
        self._retry_at = 0.0
        self._holds_until, self._held = 0.0, 0
        self._is_written = False  # own notes, since the last comparison
        self._unread: list[tuple[str, str]] = []  # notes and folders that could not be read, and why
        self._away: list[str] = []  # warnings about missing collections
        self._of_parent: list[object] = []
        fork.renew_in_child(self, Store.renew)

    def renew(self) -> None:
        """Open the index anew in a child after a fork; its parent's connection is neither used nor closed."""
        self._of_parent.append(self._opened)
        self._opened = None

    # --- the open index -----------------------------------------------------------------------------

    @property
    def opened(self) -> Opened:
        """The open index, opened now if it was not."""
        if self._opened is None:
            root = paths.locked_folder(self._lock)
            told = paths.tighten(paths.Workspace(root) if root else None)
            opened = self._open()
            self._take(opened._replace(warnings=(*told, *opened.warnings)))
        assert self._opened is not None
        return self._opened

    def _open(self) -> Opened:
        server = self.remote()
        return (server.open_index if server else open_index)(self._path, self._identity)

    @property
    def index(self) -> Index:
        """The index itself."""
        return self.opened.index

    def take_renewal(self) -> bool:
        """Tell once if the open index replaces one that was made by other rules."""
        is_renewed, self._is_renewed = self._is_renewed, False
        return is_renewed

    @property
    def vectors(self) -> Vectors:
        """The index's vectors."""
        from commonplace.index.vectors import Vectors  # not needed by words alone

        return Vectors(self.index)

    @property
    def in_memory(self) -> bool:
        """True if the files are scanned because no index can be used (level 3)."""
        return self.opened.in_memory

    @property
    def empty(self) -> bool:
        """True before the first note is indexed: only reading the files can answer."""
        return not self.index.select(ALL, 1, struck=True)

    def settle(self, retry_s: float = RETRY_S) -> None:
        """Before a piece of work: open anew what was replaced, deleted, or can be had again.

        From here to the next call `index` stays the same. Whether a file or a server can be
        used again that could not be is looked at every `retry_s` seconds.
        """
        opened = self._opened
        if opened is None:
            return
        if opened.in_memory or opened.away:
            if time.monotonic() >= self._retry_at + retry_s:
                self._retry_at = time.monotonic()
                again = self._open()
                if not again.in_memory:
                    self._take(again)
                else:
                    again.index.close()
            return
        # A write to one that must be rebuilt was most likely the rebuild.
        is_written = opened.index.rebuild_reason is not None and opened.index.version != self._version
        if inode(opened.index.path) != self._inode or is_written:
            self.close()

    def begin_with(self, other: Store) -> None:
        """Take on the vectors of another index. Raises IndexUnavailable if one is away."""
        for store in (self, other):
            if store.opened.away:
                raise IndexUnavailable(store.remote().url, store.opened.reason)  # type: ignore[union-attr]
        from commonplace.index.vectors import carry

        carry(other.index, self.index)

    def drop(self) -> None:
        """Delete the index from its server, and close it. Raises IndexUnavailable."""
        if self.remote() and not self.opened.away:
            self.index.drop()  # type: ignore[attr-defined]
        self.close()

    def close(self) -> None:
        """Close the index; the next use opens it anew."""
        if self._opened is not None:
            self._opened.index.close()
        self._opened = None
        self._holds_until = 0.0

    def _take(self, opened: Opened) -> None:
        self.close()
        self._opened = opened
        self._is_renewed = self._is_renewed or opened.anew
        self._inode = inode(opened.index.path)
        self._version = opened.index.version if opened.index.rebuild_reason is not None else 0
        self._retry_at = time.monotonic()

    def ask(self, work: Callable[[], T]) -> T:
        """Ask something of the index, and once more where it turns out that it cannot be used.

        Raises what `work` does.
        """
        self.settle()
        try:
            return work()
        except IndexUnavailable as error:
            self.recover(error)
        self.settle()
        return work()

    def recover(self, error: IndexUnavailable) -> None:
        """Begin a damaged index anew, serve from memory in every other case; open a server's again."""
        self.close()
        if (server := self.remote()) and error.path == server.url:
            return
        try:
            self._take(self._begun_anew(error))
        except IndexUnavailable as again:
            self._take(unusable(self._identity, again.reason))

    def _begun_anew(self, error: IndexUnavailable) -> Opened:
        """Return a new index in the place of a damaged one. Raises the error of another one."""
        if not is_damage(error.reason):
            raise error
        return discard(error.path, self._identity, error.reason)

    # --- freshness ----------------------------------------------------------------------------------

    def scan(self) -> list[FileState]:
        """Return the files on disk, of all collections."""
        return states(self._look())

    def _look(self) -> list[Listing]:
        """Return the files as they stand, those of archives that are new as well."""
        self.sources = [*map(archived, self.sources)]
        return look(self.sources)

    def written(self) -> None:
        """Compare the files at the next search: an own note, or any of them, was written."""
        self._is_written = True

    def freshen(self) -> int:
        """Re-read changed files if that is cheap; return how many files are still stale.

        All collections are compared, also for a question about one: the collection of a file depends on the
        others. An index that is empty, or in memory, reads all files.
        """
        self.settle()
        is_written, self._is_written = self._is_written, False  # another thread may set it again
        if time.monotonic() < self._holds_until and not is_written:
            return self._held
        started = time.thread_time()
        listings = self._look()
        took_s = time.thread_time() - started
        stale = self._compare(listings, WRITTEN_WAIT_S if is_written else 0)
        if took_s > SLOW_SCAN_S:
            self._holds_until = time.monotonic() + min(max(SCAN_HOLDS_S, 10 * took_s), SCAN_HOLDS * took_s)
            self._held = stale
        return stale

    def _compare(self, listings: Sequence[Listing], wait_s: float) -> int:
        """Compare files with the index, and read them if that is cheap; return how many are stale."""
        index, whole = self.index, fingerprint(listings)
        self._unread, self._away = [], []
        if index.rebuild_reason is None and whole == index.meta.get("scan"):
            return 0
        found = self._with_kept(listings)
        if index.rebuild_reason is not None:
            fills = self.empty or (self._is_cheap(found) and not self._away)  # which are lost in a rebuild
            return 0 if fills and self._try_read(states(listings), wait_s) else len(found)
        manifest = index.manifest()
        found, waiting = changes.patient(found, manifest)
        difference = changes.compare(found, manifest)
        changed = [*difference.fresh, *difference.suspect]
        if not (changed or difference.gone):
            # Otherwise these files would count as read later, without a warning.
            if not (waiting or self._unread or self._away or index.readonly):
                with suppress(IndexUnavailable):
                    index.meta["scan"] = whole
            return 0
        # An empty index (new, or begun anew after damage) is filled at any cost.
        cheap = not manifest or self._is_cheap(changed, len(difference.gone))
        if cheap and self._try_read(found, wait_s):
            return 0
        if not manifest and self.empty:  # another process has just begun to fill it, or it cannot be filled
            self._take(in_memory(self._identity, BEGUN))
            self._try_read(found, 0)
            return 0
        return difference.stale

    def _with_kept(self, listings: Sequence[Listing], drop: Collection[str] = ()) -> list[FileState]:
        """Return the files of all listings, with those that the index keeps of places that are away.

        Absent places are noted for answers; files of the collections of `drop` are not kept.
        """
        found = states(listings)
        self._unread, self._away = [], []
        for kept in changes.kept(listings, self.index.manifest()):
            listing, away, files = kept
            if listing.source.name in drop:
                continue
            found += files
            if away.why in (MISSING, EMPTY):
                self._away.append(_told_away(kept))
            else:
                self._unread.append((listed(listing.source.name, away.path), away.why))
        return found

    def _is_cheap(self, states: Sequence[FileState], gone: int = 0) -> bool:
        """Return whether a search may read these files before it answers."""
        few = len(states) + gone <= CHEAP_FILES and sum(state.size for state in states) <= CHEAP_BYTES
        return few or self.in_memory

    def stale(self) -> int:
        """Count the files that differ from the index by size and time, without reading them."""
        from commonplace.index import reading

        found = self._with_kept(self._look())
        sizes, told = {state.key: state.size for state in found}, {path for path, _ in self._unread}
        holding = [one for one in reading.noted(self.index) if sizes.get(one[0]) == one[1]]
        for *_, notice in holding:
            if notice.code == reading.UNREAD and (path := notice.values["path"]) not in told:
                self._unread.append((path, notice[len(path) + 2 :]))
        self.notices = reading.lines(one for one in holding if one[-1].code != reading.UNREAD)
        return changes.compare(found, self.index.manifest()).stale

    def unread(self) -> tuple[str, ...]:
        """Say what was away when files and index were compared last, and which notes could not be read."""
        if not self._unread:
            return tuple(self._away)
        first = [
            message("place", "{place}: {reason}", place=shown(path) or UNNAMED, reason=why)
            for path, why in self._unread[:20]
        ]
        told = "{n:note or folder|notes or folders} cannot be read, so nothing new there is found: {first}"
        return (*self._away, message("notes.unread", told, n=len(self._unread), first=first))

    def _try_read(self, states: Sequence[FileState], wait_s: float) -> bool:
        """Read files in passing; return whether that was possible, otherwise the index answers as it is."""
        from commonplace.index import sync  # reading and cutting, which most searches do not need

        def read() -> None:
            report = sync.sync_text(self.index, states, self.chunks, tell)
            self._unread += [(failure.path, failure.reason) for failure in report.failed]

        return self._attempt(read, wait_s)

    def _attempt(self, work: Callable[[], object], wait_s: float = 0) -> bool:
        """Write in passing; where that is not possible, the index answers as it is.

        Raises IndexUnavailable for an index that is damaged or empty: then only the files can answer.
        """
        if self.in_memory:
            work()
            return True
        if self.index.readonly:
            return False
        try:
            with locked(self._lock, wait_s):
                work()
        except (NoteUnreadable, ProviderError):
            return False  # another process is at it, the lock cannot be opened, or the model failed
        except IndexUnavailable as error:
            if is_damage(error.reason) or self.empty:
                raise
            return False  # a full disk or a locked file
        return True

    def filling(self) -> AbstractContextManager[None]:
        """Hold the lock of those who embed. Raises NoteUnreadable where another process keeps it."""
        return locked(self._vectors_lock, SYNC_WAIT_S)

    @property
    def syncing(self) -> bool:
        """True if a process fills the index now, so that another sync is not needed."""
        locks = (self._lock, self._vectors_lock, f"{self._path}.batches")
        return not self.in_memory and any(is_held(lock) for lock in locks)

    @property
    def few_pending(self) -> bool:
        """True if a search may embed the passages without a vector before it answers."""
        may_write = not (self.in_memory or self.index.readonly)
        return may_write and 0 < self.index.vectors.pending() <= CHEAP_PASSAGES

    def catch_up(self, embedder: Embedder) -> bool:
        """Embed the few passages that a search has just read, unless another process is at it."""
        from commonplace.index import sync

        def work() -> None:
            with locked(self._vectors_lock, timeout_s=0):
                sync.sync_vectors(self.vectors, embedder, tell, sweep=False)

        return self._attempt(work)

    # --- sync ---------------------------------------------------------------------------------------

    def sync(
        self,
        load: Callable[[Vectors], Embedder | None],
        progress: Progress = silent,
        stop: Callable[[], bool] = lambda: False,
        *,
        patient: bool = False,
        drop: Collection[str] = (),
    ) -> SyncReport:
        """Bring text, then vectors, up to the files, while no other process does.

        `load` gives the model, or None; it is called when the text is committed, with the vectors
        there are. With `patient`, transcripts that are being written wait, as they do at a search. What is
        indexed of a place that is away stays, but for the collections of `drop`. Raises
        IndexUnavailable when the index can be neither written nor repaired, NoteUnreadable when another sync
        does not end, ProviderError, BudgetExceeded.
        """
        from commonplace.index import sync

        self._settle_to_write()
        with locked(self._lock, SYNC_WAIT_S):
            report = self._sync_text(progress, patient, drop)
            embedder = load(self.vectors)
            if embedder is None:
                return replace(report, pending=self.index.vectors.pending())
            self.vectors.describe(self._contexts)
        came, told = self._by_batches(embedder, progress, stop) if batching(embedder) else (0, "")
        with self.filling():  # a search may read what was written meanwhile
            filled = sync.sync_vectors(
                self.vectors, embedder, progress, (lambda: True) if told else stop,
                writing=lambda: locked(self._lock, SYNC_WAIT_S),
            )  # fmt: skip
        return replace(
            report,
            embedded=came + filled.embedded,
            reused=report.reused + max(0, filled.reused - came),  # which it finds stored already
            pending=filled.pending,
            warnings=(*report.warnings, *filter(None, [told])),
        )

    def estimate(
        self, load: Callable[[Vectors], Embedder | None], progress: Progress = silent
    ) -> tuple[Embedder | None, list[str]]:
        """Bring the text up to date; return the model and the texts that a sync would have to embed.

        Raises as `sync` does, but for what a model may fail with.
        """
        self._settle_to_write()
        with locked(self._lock, SYNC_WAIT_S):
            self._sync_text(progress)
            embedder = load(self.vectors)
            texts = self.vectors.missing(embedder, self._contexts).values() if embedder else ()
            return embedder, [*texts]

    def _by_batches(
        self, embedder: Batching, progress: Progress, stop: Callable[[], bool]
    ) -> tuple[int, str]:
        """Let batches make vectors while others search and sync; return how many came, and why no more."""
        from commonplace.index import sync

        try:
            with locked(f"{self._path}.batches", timeout_s=0):
                return sync.sync_by_batches(self.vectors, embedder, progress, stop)
        except LockTimeout:
            return 0, "another sync waits for batches, which bring the vectors that are missing"

    def _settle_to_write(self) -> None:
        self.settle(retry_s=0)
        if self.in_memory or self.index.readonly:
            opened = self.opened
            raise IndexUnavailable(self._path, opened.reason or "; ".join(opened.warnings))

    def _sync_text(self, progress: Progress, patient: bool = False, drop: Collection[str] = ()) -> SyncReport:
        from commonplace.index import sync

        listings = self._look()
        try:
            found = states(listings)
            if self.index.rebuild_reason is None:
                found = self._with_kept(listings, drop)
            if patient:
                found, _ = changes.patient(found, self.index.manifest())
            report = sync.sync_text(self.index, found, self.chunks, progress)
        except IndexUnavailable as error:
            self._take(self._begun_anew(error))
            report = sync.sync_text(self.index, states(listings), self.chunks, progress)
        return replace(report, warnings=(*self.opened.warnings, *self.unread(), *report.warnings))


def _told_away(kept: changes.Kept) -> Message:
    """Say of a folder that is missing or without notes what the index keeps, and what helps."""
    source, away, n = kept.listing.source, kept.away, len(kept.states)
    whole = source.name != WORKSPACE_COLLECTION and away.why == MISSING and not away.path
    place = source.place if whole else os.path.join(source.root, away.path)
    values = {"name": source.name, "folder": shown(place.rstrip("/")), "n": n}
    remedy = remedies.say("collection.remove" if whole else "sync.drop", source.name)
    state = "is missing" if away.why == MISSING else "is empty or holds no notes"
    told = f"{{name}}: {{folder}} {state}; the index keeps {{n:note}} of it; {{remedy}}"
    return message(f"away.{away.why}", told, **values, remedy=remedy)
