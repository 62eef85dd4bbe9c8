"""Writing of entries that agents submit: into the queue on disk at once, into notes and index soon after."""

from __future__ import annotations

import atexit
import logging
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from commonplace.agent.background import Background
from commonplace.base import fork
from commonplace.base.deadline import Deadline
from commonplace.base.errors import CommonplaceError
from commonplace.base.tuples import NamedTuple
from commonplace.storage.queue import Queue

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import Entry

_WRITE_AFTER_S = 0.2  # a note is read and written as a whole, which many entries may share
_SYNC_WITHIN_S = 10.0  # even if files change all the time
_AGAIN_S = {"queue": 0.25, "notes": 1.0, "index": 10.0}  # after which what failed is tried again
_OTHERS_S = 5.0  # what another process is waited for that writes the same queue into notes
_EXIT_S = 3.0  # what the end of the interpreter waits for the notes
logger = logging.getLogger("commonplace.worker")


class WorkerState(NamedTuple):
    """Entries of a worker: in memory, written into notes, lost; and the present failure, or empty."""

    queued: int
    written: int
    lost: int
    trouble: str


class IndexWorker:
    """Takes entries from a host and brings them into notes and index in the background.

    A submitted entry is on disk when `submit` returns. Entries that a worker leaves in the queue are taken up
    by the next one, or by `commonplace sync`. While the queue cannot be written, entries wait in memory.
    """

    def __init__(
        self, memory: Memory, *, capacity: int = 1000, sync_after_s: float = 1.0, spool_only: bool = False
    ) -> None:
        """Start on a memory, with what its queue holds; `capacity` entries wait in memory if the disk fails.

        With `spool_only` entries are put into the queue alone, for the next sync of the workspace: the
        host's process then writes no notes and embeds no text.
        """
        self._memory, self._queue = memory, Queue(memory.workspace)
        self._capacity, self._sync_after_s, self._spool_only = capacity, sync_after_s, spool_only
        self._written = 0
        self._begin()
        _workers.add(self)
        fork.renew_in_child(self, IndexWorker.renew)
        if not spool_only:
            self._soon(self._write, 0.0)
            self.nudge()

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._held: list[Entry] = []  # not on disk yet
        self._lost = 0
        self._troubles: dict[str, str] = {}
        self._latest: dict[object, float] = {}  # when each part of the work is done at the latest
        self._ending: Deadline | None = None
        self._background = Background("worker")

    def submit(self, entry: Entry) -> None:
        """Take an entry, to be written into the note of its day. Never raises.

        It waits for the disk, usually a millisecond. One is lost, and counted, only where the queue could not
        be written for so long that as many wait in memory as there is room for.
        """
        with self._lock:
            if len(self._held) >= self._capacity:
                self._lost += 1
                return
            self._held.append(entry)
        if "queue" not in self._troubles and self._flush() and not self._spool_only:
            self._soon(self._write, _WRITE_AFTER_S)

    def nudge(self) -> None:
        """Say that files changed: the index is brought up to them when it has been quiet for a while."""
        if not self._spool_only:
            self._soon(self._sync, self._sync_after_s, _SYNC_WITHIN_S)

    @property
    def state(self) -> WorkerState:
        """The state of the work."""
        return WorkerState(len(self._held), self._written, self._lost, "; ".join(self._troubles.values()))

    def stop(self, deadline_s: float = 5.0, *, sync: bool = True) -> bool:
        """Finish what is submitted, within the deadline; tell whether all of it is in notes (or the queue).

        Other entries stay in the queue. A worker that gets an entry afterwards starts again.
        """
        deadline = Deadline(deadline_s)
        self._ending = deadline if sync else Deadline(0.0)
        has_ended = self._background.close(deadline_s)
        is_written = self._flush() if self._spool_only else self._write(deadline.left_s())
        if not self._spool_only and self._ending.left_s():
            self._sync()
        if has_ended:
            self._ending, self._background = None, Background("worker")
        return is_written and not (self._held or self._lost)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def renew(self) -> None:
        """Start afresh in a child after a fork: it only fills the queue, which its parent writes down.

        The locks of the memory may be held there by threads that no longer exist.
        """
        self._spool_only = True
        self._begin()

    # --- in the background --------------------------------------------------------------------------

    def _soon(self, work: Callable[[], object], in_s: float, within_s: float = 0.0) -> None:
        """Do `work` after `in_s` seconds without another call, `within_s` seconds after the first at most."""
        now = time.monotonic()
        latest = self._latest.setdefault(work, now + max(in_s, within_s))
        self._background.put(work, min(in_s, latest - now), key=work)

    def _flush(self) -> bool:
        """Put what waits in memory into the queue on disk."""
        self._latest.pop(self._flush, None)
        with self._lock:
            try:
                if self._held:
                    self._queue.extend(self._held)
                self._held = []
            except CommonplaceError as error:
                return self._note("queue", str(error), self._flush if self._spool_only else self._write)
        if "queue" in self._troubles and self._lost:
            logger.error("%d entries were lost: the queue could not be written", self._lost)
        return self._note("queue")

    def _write(self, wait_s: float = _OTHERS_S) -> bool:
        """Write the queue into notes; tell whether all of it is there."""
        self._latest.pop(self._write, None)
        if not self._flush():
            return False
        drained = self._queue.drain(self._memory.capture, wait_s=wait_s)
        if drained.set_aside:
            logger.warning("%d entries fit into no note: %s", drained.set_aside, self._queue.set_aside)
        if drained.written:
            self._written += drained.written
            self.nudge()
        if drained.busy:
            self._soon(self._write, _AGAIN_S["notes"])
            return False
        return self._note("notes", drained.trouble, self._write)

    def _sync(self) -> bool:
        """Bring the index up to the notes; embedding ends when `stop` has no time left."""
        self._latest.pop(self._sync, None)
        if self._ending is not None and not self._ending.left_s():
            return False
        try:
            self._memory.sync(
                stop=lambda: self._ending is not None and not self._ending.left_s(), patient=True
            )
        except CommonplaceError as error:
            return self._note("index", str(error), self._sync)
        except RuntimeError:
            if threading.main_thread().is_alive():
                raise
            return False  # the interpreter ends, and the next sync goes on from here
        return self._note("index")

    def _note(self, place: str, trouble: str = "", again: Callable[[], object] = bool) -> bool:
        """Note how a part of the work went: log a change, have what failed done again; tell if it is well."""
        was = self._troubles.pop(place, "")
        if not trouble:
            if was:
                logger.info("%s: works again", place)
            return True
        self._troubles[place] = trouble
        if not was:
            logger.warning("%s: %s; nothing is lost, it is tried again", place, trouble)
        self._soon(again, _AGAIN_S[place])
        return False


_workers: weakref.WeakSet[IndexWorker] = weakref.WeakSet()


@atexit.register
def _leave() -> None:
    """Bring submitted entries to disk when the interpreter ends without a call of `stop`."""
    for worker in list(_workers):
        worker.stop(_EXIT_S, sync=False)
