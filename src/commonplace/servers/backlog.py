"""Background work, on a bounded number of threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

THREADS = 2  # one may wait for a language model
LONGEST = 1000  # works that wait
Work = Callable[[], object]


class Backlog:
    """Runs works in the order of their arrival; safe from any thread.

    A work that equals a waiting one is not added again, and no work runs twice at once: a work that takes up
    all files on disk needs no second call. Daemon threads run works and end when the queue is empty, so works
    must be of the kind that a later process can take up.
    """

    def __init__(self, tell: Callable[[str], None]) -> None:
        """`tell` is called with what goes wrong in a work."""
        self._tell, self._lock = tell, threading.Lock()
        self._waiting: dict[Work, None] = {}
        self._running: list[Work] = []
        self._threads = 0

    def add(self, work: Work) -> None:
        """Run a hashable work soon. Never waits, never raises; a full queue reports the work and drops it."""
        with self._lock:
            is_full = len(self._waiting) >= LONGEST and work not in self._waiting
            if not is_full:
                self._waiting[work] = None
            if self._threads < THREADS:
                with suppress(RuntimeError):  # no more threads; the next call tries again
                    threading.Thread(target=self._run, name="commonplace-backlog", daemon=True).start()
                    self._threads += 1
        if is_full:
            self._tell(f"{LONGEST} works wait already; one more was not taken")

    def _run(self) -> None:
        while work := self._next():
            try:
                work()
            except Exception as error:  # noqa: BLE001 - its words may be those of a tool, and a log keeps them
                self._tell(f"{type(error).__name__} while an event of a client was noted")
            with self._lock:
                self._running.remove(work)

    def _next(self) -> Work | None:
        """Take the first work that does not run already; without one, return None and count a thread less."""
        with self._lock:
            work = next((one for one in self._waiting if one not in self._running), None)
            if work is None:
                self._threads -= 1
                return None
            del self._waiting[work]
            self._running.append(work)
            return work
