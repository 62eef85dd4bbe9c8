"""Writing of entries that agents submit, in the background: queue, spool, note, index, in this order.

Three small threads, so that each waits only for its own resource: the first appends submitted entries to
the spool on disk, the second writes the spool into notes, the third brings the index up to them.
"""

from __future__ import annotations

import atexit
import logging
import queue
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Self

from commonplace.base import fork
from commonplace.base.errors import CommonplaceError
from commonplace.base.tuples import NamedTuple
from commonplace.storage.queue import Queue

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Entry

_AT_ONCE = 100  # entries that one append to the spool takes
# Entries within this time are appended together. A killed process loses the entries of this last interval,
# and those of an append that has not ended.
_GATHER_S = 0.01
_WRITE_AFTER_S = 0.2  # a note is read and written as a whole, which many entries may share
_OTHERS_S = 5.0  # what another process is waited for that writes the same spool into notes
_EXIT_S = 3.0  # what the end of the interpreter waits for the spool and the notes
logger = logging.getLogger("commonplace.worker")


class Chore:
    """One thing to do, and the daemon thread that does it; calls for it never wait.

    `work` returns whether it succeeded; after a failure it is tried again, in pauses that grow.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[], bool],
        *,
        gather_s: float = 0.0,
        quiet_s: float = 0.0,
        at_most_s: float = 10.0,
        first_pause_s: float = 0.25,
        longest_pause_s: float = 30.0,
    ) -> None:
        """Name what is to be done; the thread starts with the first call.

        It is done `gather_s` after a call, when no other came for `quiet_s`, or after `at_most_s`.
        """
        self._name, self._work = name, work
        self._gather_s, self._quiet_s, self._at_most_s = gather_s, quiet_s, at_most_s
        self._first_pause_s, self._longest_pause_s = first_pause_s, longest_pause_s
        self.renew()

    def renew(self) -> None:
        """Begin without a thread and without calls: new, or in a child after a fork."""
        # A queue written in C: putting something in takes no lock that another thread could sleep with.
        self._calls: queue.SimpleQueue[bool] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    @property
    def alive(self) -> bool:
        """Tell whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def call(self) -> None:
        """Have it done soon, on its thread; start that if needed."""
        if self._calls.empty():
            self._calls.put(True)
        if not self.alive:
            self._ended.clear()
            thread = threading.Thread(target=self._run, name=f"commonplace {self._name}", daemon=True)
            with suppress(RuntimeError):  # no more threads, or the interpreter is about to end
                thread.start()
                self._thread = thread

    def end(self) -> None:
        """Have the thread do what it is called for, without pauses, and then end."""
        if self.alive:
            self._ended.set()
            self._calls.put(False)

    def join(self, deadline: float) -> bool:
        """Wait for the thread to end, until `deadline` (monotonic); tell whether it has."""
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(max(0.0, deadline - time.monotonic()))
        return not self.alive

    def _run(self) -> None:
        pause = 0.0
        while True:
            called = self._wait(pause)
            done = called and self._attempt()
            if called:
                pause = 0.0 if done else min(self._longest_pause_s, max(self._first_pause_s, pause * 2))
            if self._ended.is_set() and not done:
                return

    def _wait(self, pause: float) -> bool:
        """Wait for a call, or for the pause after a failure, and collect more calls; False without any."""
        if pause:
            self._ended.wait(pause)  # whether or not there is a call
        called = pause > 0 or (not self._ended.is_set() and self._calls.get())
        if called:
            # Not by waiting for calls: each would wake this thread, and the caller might have to make room.
            self._ended.wait(self._gather_s)
            until = time.monotonic() + self._at_most_s
            with suppress(queue.Empty):
                while self._quiet_s and not self._ended.is_set() and time.monotonic() < until:
                    self._calls.get(timeout=self._quiet_s)
        with suppress(queue.Empty):
            while True:
                called = self._calls.get_nowait() or called
        return called

    def _attempt(self) -> bool:
        try:
            return self._work()
        # A thread that dies of a fault in `work` would leave all later calls unanswered.
        except Exception as error:  # noqa: BLE001
            logger.error("%s failed and is tried again: %s", self._name, type(error).__name__)
            return False


class WorkerState(NamedTuple):
    """Entries of a worker: in memory, written into notes, lost; and the present failure, or empty."""

    queued: int
    written: int
    lost: int
    trouble: str


class IndexWorker:
    """Takes entries from a host and brings them into notes and index without holding the host up.

    A submitted entry is on disk some milliseconds later, even if writing notes or the index fails; entries
    that a worker leaves there are taken up by the next one, or by `commonplace sync`.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        capacity: int = 1000,
        sync_after_s: float = 1.0,
        spool_only: bool = False,
    ) -> None:
        """Start on a memory, with what its spool holds; `capacity` entries wait in memory if the disk fails.

        With `spool_only` entries are put into the spool alone, for the next sync of the workspace: the
        host's process then writes no notes and embeds no text.
        """
        self._memory = memory
        self._spool = Queue(memory.workspace)
        self._capacity, self._sync_after_s = capacity, sync_after_s
        self._written = 0
        self._troubles: dict[str, str] = {}
        self._spool_only, self._leaving = spool_only, False
        self._begin()
        _workers.add(self)
        fork.renew_in_child(self, IndexWorker.renew)
        if not spool_only:
            self._writing.call()
            self._syncing.call()

    def _begin(self) -> None:
        self._queue: deque[Entry] = deque()
        self._held: Sequence[Entry] = ()
        self._lost = self._lost_told = 0
        self._put, self._settled = 0, -1  # into the spool, and of these into notes
        self._deadline = float("inf")
        self._spooling = Chore("spool", self._put_into_spool, gather_s=_GATHER_S)
        self._writing = Chore("write", self._write, gather_s=_WRITE_AFTER_S)
        self._syncing = Chore("sync", self._sync, quiet_s=self._sync_after_s, longest_pause_s=300.0)

    def submit(self, entry: Entry) -> None:
        """Take an entry, to be written into the note of its day. Never waits, never raises.

        One is lost, and counted, only where the spool could not be written for so long that as many wait
        in memory as there is room for.
        """
        if len(self._queue) >= self._capacity:
            self._lost += 1
            return
        self._queue.append(entry)
        self._spooling.call()

    def nudge(self) -> None:
        """Say that files changed: the index is brought up to them when it has been quiet for a while."""
        if not self._spool_only:
            self._syncing.call()

    @property
    def state(self) -> WorkerState:
        """The state of the work."""
        waiting = len(self._queue) + len(self._held)
        return WorkerState(waiting, self._written, self._lost, "; ".join(self._troubles.values()))

    def stop(self, deadline_s: float = 5.0) -> bool:
        """Finish what is submitted, within the deadline; tell whether all of it is in notes (or the spool).

        Other entries stay in the queue. A worker that gets an entry afterwards starts again.
        """
        self._deadline = deadline = time.monotonic() + deadline_s
        # One after the other: what the first still does is work for the next.
        for chore in (self._spooling, self._writing, self._syncing):
            chore.end()
            chore.join(deadline)
            if chore is self._spooling and self._queue and not chore.alive:
                self._put_into_spool()  # no thread could be had for it
        if not self._syncing.alive:
            self._deadline = float("inf")
        written = self._spool_only or self._settled == self._put
        return written and not (self._queue or self._held or self._lost)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def leave(self) -> None:
        """Bring submitted entries to disk when the interpreter ends without a call of `stop`."""
        self._leaving = True
        self.stop(_EXIT_S)

    def renew(self) -> None:
        """Start afresh in a child after a fork: it only fills the spool, which its parent writes down.

        The locks of the memory may be held there by threads that no longer exist.
        """
        self._spool_only = True
        self._begin()

    # --- on the threads -----------------------------------------------------------------------------

    def _put_into_spool(self) -> bool:
        while self._held or self._queue:
            if not self._held:
                self._held = [self._queue.popleft() for _ in range(min(_AT_ONCE, len(self._queue)))]
            try:
                self._spool.extend(self._held)
            except CommonplaceError as error:
                self._tell("spool", str(error))
                return False
            self._put += len(self._held)
            self._held = ()
            if not self._spool_only:
                self._writing.call()
        self._tell("spool", "")
        if self._lost > self._lost_told:
            logger.error("%d entries were lost: the spool could not be written", self._lost - self._lost_told)
            self._lost_told = self._lost
        return True

    def _write(self) -> bool:
        put, left_s = self._put, max(0.0, self._deadline - time.monotonic())
        drained = self._spool.drain(self._memory.capture, wait_s=min(_OTHERS_S, left_s))
        self._tell("notes", drained.trouble)
        if drained.set_aside:
            logger.warning("%d entries fit into no note: %s", drained.set_aside, self._spool.set_aside)
        if drained.written:
            self._written += drained.written
            self._syncing.call()
        if drained.trouble or drained.busy:
            return False
        self._settled = put
        return True

    def _sync(self) -> bool:
        if self._leaving:
            return True
        try:
            self._memory.sync(stop=lambda: time.monotonic() > self._deadline, patient=True)
        except CommonplaceError as error:
            self._tell("index", str(error))
            return False
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
            return True  # the interpreter ends: no threads are to be had, and the next sync goes on from here
        self._tell("index", "")
        return True

    def _tell(self, part: str, trouble: str) -> None:
        """Log what fails, once, and once that it does no more."""
        was = self._troubles.pop(part, "")
        if trouble:
            self._troubles[part] = trouble
        if trouble and not was:
            logger.warning("%s: %s; nothing is lost, it is tried again", part, trouble)
        elif was and not trouble:
            logger.info("%s: works again", part)


_workers: weakref.WeakSet[IndexWorker] = weakref.WeakSet()


@atexit.register
def _leave() -> None:
    for worker in list(_workers):
        worker.leave()
