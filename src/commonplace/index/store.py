"""The index of a workspace, kept usable and as fresh as is cheap: opening, freshness, sync, recovery."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from errno import EACCES
from itertools import count
from pathlib import Path
from stat import S_ISREG

from commonplace.base import fork, paths, remedies
from commonplace.base.errors import IndexUnavailable, NoteUnreadable, ProviderError
from commonplace.base.locks import LockTimeout, is_held, locked
from commonplace.base.messages import message
from commonplace.base.paths import refusal, shown
from commonplace.chunking.settings import ChunkSettings
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import changes, rules, vectors
from commonplace.index.base import ALL, Index, Key, Known
from commonplace.index.sqlite.opening import (
    Opened,
    answers,
    discard,
    in_memory,
    open_index,
    unusable,
)
from commonplace.index.sqlite.schema import is_damage
from commonplace.index.vectors import Vectors
from commonplace.notes.scan import EMPTY, MISSING, FileState, Source, fingerprint, inode, look, states
from commonplace.notes.scan import shown as listed
from commonplace.notes.scan import with_archive as archived
from commonplace.types.progress import Progress, silent, tell

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import TypeVar

    from commonplace.base.messages import Message
    from commonplace.index.changes import Patience
    from commonplace.index.opening import Remote
    from commonplace.notes.scan import Listing
    from commonplace.providers.embedding.base import Batching, Embedder
    from commonplace.types import SyncReport

    T = TypeVar("T")

# What a search may re-read before it answers; more than this is reported as stale instead.
CHEAP_FILES, CHEAP_BYTES = 500, 8 << 20
CHEAP_PASSAGES = 32  # and how many passages it may embed, once the model is loaded: some 0.2 s
WRITTEN_WAIT_S = 5.0  # how long a search waits for who writes the index, after a write of this process
SYNC_WAIT_S = 60.0  # how long a sync waits for another one to end
RETRY_S = 30.0  # how often one that searches the files themselves looks whether the index can be had again
# Looking at some thousand files takes as long as a search. Where it took more than the first figure, of this
# thread's own time, what it found holds for so many times as long and at most for the third; a small
# workspace is compared at every search.
SLOW_SCAN_S, SCAN_HOLDS, SCAN_HOLDS_S = 0.002, 200.0, 1.0


UNNAMED = message("notes.folder", "the folder of notes")
BEGUN = "the index is being filled by another process: the files themselves were searched"


class Store:
    """Owns the open index of one workspace; not thread-safe, its owner holds a lock."""

    def __init__(
        self,
        path: str,
        lock: str,
        sources: Sequence[Source],
        chunks: ChunkSettings,
        contexts: Mapping[str, str] | None = None,
        patience: Patience = (0, 1, 0.0),
        remote: Callable[[], Remote | None] = lambda: None,
    ) -> None:
        """Bind to an index file; nothing is opened until it is needed.

        `contexts` are those that a sync embeds with the passages below their prefixes. `patience` says when
        a search reads a transcript again that is being written. `remote` gives the server of the index, if
        there is one; while that does not answer, the file does.
        """
        self.sources = list(sources)
        self.chunks = chunks
        self._path, self._lock, self.remote = path, lock, remote
        self._identity = rules.identity(chunks)
        self._opened: Opened | None = None
        self._vectors: Vectors | None = None
        self._inode, self._version = 0, 0
        self._retry_at = 0.0
        self._holds_until, self._held = 0.0, 0
        self._written: set[str] = set()  # own notes that were written while that holds
        self._writes, self._compared = count(1), 0  # numbers of writes; the last before files were compared
        self._last = 0
        self._contexts, self._patience = contexts or {}, patience
        self._follows = any(source.format for source in self.sources)
        self._unread: list[tuple[str, str]] = []  # notes and folders, as they were compared last, and why
        self._away: list[str] = []  # what is said of collections that are not there
        self.notices: list[str] = []  # what stands of files when `stale` compares them, until they change
        self._folders: dict[str, int] = {}  # the number of each collection's folder, by its path
        self._of_parent: list[object] = []
        fork.renew_in_child(self, Store.renew)

    def renew(self) -> None:
        """Open the index anew in a child after a fork; its parent's connection is neither used nor closed."""
        self._of_parent += [self._opened, self._vectors]
        self._opened = self._vectors = None

    # --- the open index -----------------------------------------------------------------------------

    @property
    def opened(self) -> Opened:
        """The open index, opened now if it was not."""
        if self._opened is None:
            root = paths.locked_folder(Path(self._lock))
            told = paths.tighten(paths.Workspace(root) if root else None)
            server = self.remote()
            opened = (server.open_index if server else open_index)(self._path, self._identity)
            self._take(opened._replace(warnings=(*told, *opened.warnings)) if told else opened)
        assert self._opened is not None
        return self._opened

    @property
    def index(self) -> Index:
        """The index itself."""
        return self.opened.index

    def take_renewal(self) -> bool:
        """Whether the open index stands in the place of one that was not to be used; asked once of each."""
        opened = self._opened
        if opened is None or not opened.anew:
            return False
        self._opened = opened._replace(anew=False)
        return True

    @property
    def vectors(self) -> Vectors:
        """The index's vectors."""
        index = self.index
        if self._vectors is None:
            self._vectors = Vectors(index)
        return self._vectors

    @property
    def in_memory(self) -> bool:
        """Whether the files are scanned because no index can be had (level 3)."""
        return self.opened.in_memory

    @property
    def empty(self) -> bool:
        """Whether nothing is indexed, so that only reading the files can answer."""
        return not self.index.select(ALL, 1, struck=True)

    def settle(self, retry_s: float = RETRY_S) -> None:
        """Before a piece of work: open anew what was replaced, deleted, or can be had again.

        From here to the next call `index` and `vectors` belong together. Whether a file can be used again
        that could not be is looked at every `retry_s` seconds, without waiting for its lock.
        """
        if self._opened is None:
            return
        if self._opened.away and time.monotonic() >= self._retry_at + retry_s:
            self.close()
        elif not self._opened.in_memory:
            index = self._opened.index
            # Whoever has written to one that must be rebuilt has done that, most likely.
            is_written = index.rebuild_reason is not None and index.version != self._version
            if inode(index.path) != self._inode or is_written:
                self.close()
        elif time.monotonic() >= self._retry_at + retry_s:
            self._retry_at = time.monotonic()
            self._try_file()

    def _try_file(self) -> None:
        if answers(self._path):
            again = open_index(self._path, self._identity)
            if again.in_memory:
                again.index.close()
            else:
                self._take(again)

    def begin_with(self, other: Store) -> None:
        """Take on the vectors of another index. Raises IndexUnavailable if one is away."""
        for store in (self, other):
            if store.opened.away:
                raise IndexUnavailable(store.remote().url, store.opened.reason)  # type: ignore[union-attr]
        vectors.carry(other.index, self.index)

    def drop(self) -> None:
        """Delete the index from its server, and close it. Raises IndexUnavailable."""
        if self.remote() and not self.opened.away:
            self.index.drop()  # type: ignore[attr-defined]
        self.close()

    def close(self) -> None:
        """Close the index; the next use opens it anew."""
        if self._opened is not None:
            self._opened.index.close()
        self._opened = self._vectors = None
        self._holds_until, self._compared = 0.0, 0  # what was found held for the index that was open

    def _take(self, opened: Opened) -> None:
        self.close()
        self._opened = opened
        self._inode = inode(opened.index.path)
        self._version = opened.index.version if opened.index.rebuild_reason is not None else 0
        self._retry_at = time.monotonic()

    def recover(self, error: IndexUnavailable) -> None:
        """After a failure in use: begin a damaged index anew, serve from memory in every other case.

        One on a server is opened again, or the file in its place.
        """
        self.close()
        if (server := self.remote()) and error.path == server.url:
            return
        if is_damage(error.reason):
            try:
                self._take(discard(error.path, self._identity, error.reason))
                return
            except IndexUnavailable as again:
                error = again
        self._take(unusable(self._identity, error.reason))

    def ask(self, work: Callable[[], T]) -> T:
        """Ask something of the index, and once more where it turns out to be damaged; see `recover`.

        Raises what `work` does.
        """
        for last in (False, True):
            self.settle()
            try:
                return work()
            except IndexUnavailable as error:
                if last:
                    raise
                self.recover(error)
        raise AssertionError("never comes here")

    # --- freshness ----------------------------------------------------------------------------------

    def scan(self) -> list[FileState]:
        """The files on disk, of all collections."""
        return states(self._look())

    def _look(self) -> list[Listing]:
        """The files as they stand, those of archives that are new as well."""
        self.sources = [*map(archived, self.sources)]
        return look(self.sources)

    def freshen(self, since: int | None = None) -> int:
        """Re-read what changed on disk if that is cheap; return how many files are still stale.

        All collections are compared, also for a question about one: which collection a file belongs to
        depends on the others. An index that is empty, or in memory, reads all: nothing else can answer.
        Nothing is read where that was done after the write that `since` is the number of.
        """
        self.settle()
        if since is not None and since <= self._compared:
            return self._held
        last = self._last
        stale = self._freshen()
        self._compared = last
        return stale

    def _freshen(self) -> int:
        index = self.index
        if time.monotonic() < self._holds_until and self._read_written():
            return self._held
        self._written.clear()
        started = time.thread_time()
        listings = self._look()
        took_s = time.thread_time() - started
        self._unread, self._away = [], []
        whole = fingerprint(listings)
        if index.rebuild_reason is None and whole == index.meta.get("scan"):
            return self._hold(took_s)
        found = self._with_kept(listings)
        if index.rebuild_reason is not None:
            fills = self.empty or (self._is_cheap(found) and not self._away)  # which are lost in a rebuild
            if fills and self._try_sync(states(listings)):
                return 0
            return self._hold(took_s, len(found))  # until somebody syncs
        return self._compare_files(found, whole, took_s)

    def _with_kept(self, listings: Sequence[Listing], drop: Collection[str] = ()) -> list[FileState]:
        """Return the files of all listings, with those that the index keeps of places that are away.

        What is away is noted for answers; the collections of `drop` keep nothing.
        """
        found, noted = states(listings), changes.folders(self.index.meta.get(changes.FOLDERS))
        self._unread, self._away = [], []
        self._folders = noted | {one.root: inode(one.root) for one in listings if not one.away}
        for kept in changes.kept(listings, self.index.manifest(), noted):
            listing, away, files = kept
            if listing.source.name in drop:
                continue
            found += files
            if away.why in (MISSING, EMPTY):
                self._away.append(_told_away(kept))
            else:
                self._unread.append((listed(listing.source.name, away.path), away.why))
        return found

    def _compare_files(self, files: list[FileState], whole: bytes, took_s: float) -> int:
        """Compare files whose listing changed, and read them if that is cheap; return how many are stale."""
        closed, manifest = self._unread, self.index.manifest()
        found, waiting = self._patient(files, manifest)
        difference = self._compare(found, manifest)
        if not difference.stale:
            # Else the same files would count as read when they have rested, and nothing would be said.
            if not (waiting or closed or self._away):
                self._keep(whole)
            return self._hold(took_s)
        changed = [*difference.fresh, *difference.suspect]
        # An index that holds nothing (new, or begun anew after damage) is filled whatever it takes.
        if (not manifest or self._is_cheap(changed, len(difference.gone))) and self._try_sync(found):
            return self._hold(took_s)
        self._unread = closed + self._closed(changed[:CHEAP_FILES])
        if not manifest and self.empty:  # another process has just begun to fill it, or it cannot be filled
            self._take(in_memory(self._identity, BEGUN))
            self._try_sync(found)
            return 0
        return self._hold(took_s, _really_stale(difference, manifest))

    def _patient(self, found: list[FileState], manifest: Mapping[Key, Known]) -> tuple[list[FileState], int]:
        """Leave transcripts that are being written for later; return the files, and how many waited."""
        if not self._follows:
            return found, 0
        return changes.patient(found, manifest, self._patience)

    def _compare(self, found: Sequence[FileState], manifest: Mapping[Key, Known]) -> changes.Difference:
        """Compare files with the index; transcripts that are to be read in another way are new to it."""
        if self._follows:
            others = set(changes.reread(manifest, found, self.index.meta.get(changes.FORMATS)))
            manifest = {key: one for key, one in manifest.items() if key not in others}
        return changes.compare(found, manifest)

    def _is_cheap(self, states: Sequence[FileState], gone: int = 0) -> bool:
        """Whether a search may read these files before it answers."""
        few = len(states) + gone <= CHEAP_FILES and sum(state.size for state in states) <= CHEAP_BYTES
        return few or self.in_memory

    def _hold(self, took_s: float, stale: int = 0) -> int:
        """Let a slow comparison hold for a while; return how many files it left stale."""
        if took_s > SLOW_SCAN_S:
            self._holds_until = time.monotonic() + min(SCAN_HOLDS_S, SCAN_HOLDS * took_s)
            self._held = stale
        return stale

    def _read_written(self) -> bool:
        """Read the notes that were written since all files were compared; False where all are to be again.

        That is so for a note that is new, and where these cannot be read now.
        """
        if not self._written:
            return True
        index, own = self.index, self.sources[0]
        if index.rebuild_reason is not None:
            return False
        manifest, root, found = index.manifest(), os.path.realpath(own.root), dict[str, FileState]()
        while self._written:
            path = self._written.pop()  # before it is looked at: another thread may write it again
            try:
                status = os.stat(f"{root}/{path}", follow_symlinks=False)
            except OSError:
                return False
            if (own.name, path) not in manifest or not S_ISREG(status.st_mode):
                return False
            found[path] = FileState(own.name, path, f"{root}/{path}", status.st_mtime_ns, status.st_size)
        states = [*found.values()]  # each once, though it was written again meanwhile
        difference = changes.Difference([], states, [])
        return self._attempt(lambda: self._read(states, difference))

    def _keep(self, whole: bytes) -> None:
        """Remember a scan that equals the index; where that cannot be, the next one compares again."""
        if not self.index.readonly:
            with suppress(IndexUnavailable):
                self.index.meta["scan"] = whole

    def written(self, path: str = "") -> int:
        """Read an own note that was written at the next search; without a path compare all files.

        Whatever the last comparison found. Returns the number of this write.
        """
        if path:
            self._written.add(path)
        else:
            self._holds_until = 0.0
        self._last = number = next(self._writes)
        return number

    def stale(self) -> int:
        """How many files differ from what the index holds of them, by size and time.

        A file written in the moment it was indexed is compared by its content.
        """
        from commonplace.index import reading

        manifest = self.index.manifest()
        found = self._with_kept(listings := self._look())
        difference = changes.compare(found, manifest)
        self._unread += self._closed(states(listings))
        told, holding = {path for path, _ in self._unread}, []
        there = {state.key: state for state in found}
        for notice in reading.noted(self.index):
            if notice[0] not in there or there[notice[0]].size != notice[1]:
                continue
            if (said := notice[2]).code != reading.UNREAD:
                holding.append(notice)
            elif (path := said.values["path"]) not in told:
                self._unread.append((path, said[len(path) + 2 :]))
        self.notices = reading.lines(holding)
        return _really_stale(difference, manifest)

    def _closed(self, files: Sequence[FileState], but: Collection[str] = ()) -> list[tuple[str, str]]:
        """Which files this user may not read, and what helps, beside those that are told already."""
        told = {path for path, _ in self._unread}.union(but)
        closed = [state.shown for state in files if not os.access(state.absolute, os.R_OK)]
        return [(path, refusal(PermissionError(EACCES, ""))) for path in closed if path not in told]

    def unread(self) -> tuple[str, ...]:
        """Say what was away when files and index were compared last, and which notes could not be read."""
        return (*self._away, *self._unreadable())

    def _unreadable(self) -> tuple[str, ...]:
        if not self._unread:
            return ()
        first = [
            message("place", "{place}: {reason}", place=shown(path) or UNNAMED, reason=why)
            for path, why in self._unread[:20]
        ]
        if (number := len(self._unread)) == 1:
            one = "1 note or folder cannot be read, so nothing new in it is found ({first})"
            return (message("notes.unread_one", one, first=first[0]),)
        told = "{n:,} notes or folders cannot be read, so nothing new in them is found: {first}"
        return (message("notes.unread", told, n=number, first=first),)

    def _try_sync(self, states: Sequence[FileState]) -> bool:
        """Sync unless the index cannot be written or another process is at it."""
        if self.index.readonly:
            return False
        if self.in_memory:
            self._read(states)
            return True
        return self._attempt(lambda: self._read(states))

    def _read(self, states: Sequence[FileState], difference: changes.Difference | None = None) -> None:
        from commonplace.index import sync  # reading and cutting: most searches find nothing changed

        report = sync.sync_text(self.index, states, self.chunks, tell, difference)
        self._note_folders()
        self._unread = self._unread + [(failure.path, failure.reason) for failure in report.failed]

    def _note_folders(self) -> None:
        if self._folders != changes.folders(self.index.meta.get(changes.FOLDERS)):
            self.index.meta[changes.FOLDERS] = json.dumps(self._folders)

    def _attempt(self, work: Callable[[], object]) -> bool:
        """Write in passing; where that cannot be, what is indexed answers.

        A damaged index is told, and one that holds nothing: then only the files can answer.
        """
        try:
            with self._locked(WRITTEN_WAIT_S if self._compared < self._last else 0):
                work()
        except (NoteUnreadable, ProviderError):
            return False  # another process is at it, the lock cannot be opened, or the model failed
        except IndexUnavailable as error:
            if is_damage(error.reason) or self.empty:
                raise
            return False  # a full disk or a locked file
        return True

    def _locked(self, timeout_s: float) -> AbstractContextManager[None]:
        return locked(self._own_lock, timeout_s=timeout_s)

    @property
    def _own_lock(self) -> Path:
        """The lock of this index, among the programs of this machine."""
        return Path(self._lock)

    @property
    def _vectors_lock(self) -> Path:
        """The lock of those who embed, who write under the other one in between."""
        return self._own_lock.with_name(f"vectors-{self._own_lock.name}")

    def filling(self) -> AbstractContextManager[None]:
        """Hold the lock of those who embed. Raises NoteUnreadable where another process keeps it."""
        return locked(self._vectors_lock, SYNC_WAIT_S)

    @property
    def syncing(self) -> bool:
        """Whether somebody fills the index now, so that there is no need of another sync."""
        locks = (self._own_lock, self._vectors_lock, f"{self._path}.batches")
        return not self.in_memory and any(is_held(lock) for lock in locks)

    @property
    def few_pending(self) -> bool:
        """Whether a search may embed what has no vector yet before it answers."""
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

        `load` gives the model, if there is one; it is called when the text is committed, with the vectors
        there are. With `patient`, transcripts that are being written wait, as they do at a search. What is
        indexed of a place that is away stays, but for the collections of `drop`. Raises
        IndexUnavailable when the index can be neither written nor repaired, NoteUnreadable when another sync
        does not end, ProviderError, BudgetExceeded.
        """
        from commonplace.index import sync
        from commonplace.providers.embedding.base import batching

        self._settle_to_write()
        with self._locked(SYNC_WAIT_S):
            report = self._sync_text(progress, patient, drop)
            embedder = load(self.vectors)
            if embedder is not None:
                self.vectors.describe(self._contexts)
        if embedder is None:
            return replace(report, pending=self.index.vectors.pending())
        came, told = self._by_batches(embedder, progress, stop) if batching(embedder) else (0, "")

        def writing() -> AbstractContextManager[None]:  # a search may read what was written meanwhile
            return self._locked(SYNC_WAIT_S)

        with self.filling():
            if told:
                with writing():
                    filled = sync.assign_known(self.vectors, embedder)
            else:
                filled = sync.sync_vectors(self.vectors, embedder, progress, stop=stop, writing=writing)
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
        with self._locked(SYNC_WAIT_S):
            self._sync_text(progress)
            embedder = load(self.vectors)
            return embedder, _texts(self.vectors, embedder, self._contexts)

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
        files = found = states(listings)
        self._folders = {one.root: inode(one.root) for one in listings}
        try:
            if self.index.rebuild_reason is None:
                found = self._with_kept(listings, drop)
            if patient:
                found, _ = self._patient(found, self.index.manifest())
            report = sync.sync_text(self.index, found, self.chunks, progress)
        except IndexUnavailable as error:
            if not is_damage(error.reason):
                raise
            self._take(discard(error.path, self._identity, error.reason))
            report = sync.sync_text(self.index, files, self.chunks, progress)
        self._note_folders()
        self._unread += self._closed(files, [failure.path for failure in report.failed])
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


def _texts(vectors: Vectors, embedder: Embedder | None, contexts: Mapping[str, str]) -> list[str]:
    return list(vectors.missing(embedder, contexts).values()) if embedder else []


def _really_stale(difference: changes.Difference, manifest: Mapping[Key, Known]) -> int:
    """How many files differ; one written in the moment it was indexed is compared by its content."""
    known = [(state, manifest[state.key]) for state in difference.suspect]
    racy = [(state, one.hash) for state, one in known if one.mtime_ns == 0 and one.size == state.size]
    if not racy:
        return difference.stale
    from commonplace.index.reading import content_of  # most searches find nothing changed

    same = [state for state, content in racy if content_of(state) == content]
    return difference.stale - len(same)
