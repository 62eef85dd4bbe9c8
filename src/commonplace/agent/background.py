"""One thread in the background for jobs that no host waits for."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from commonplace.base import fork
from commonplace.base.errors import CommonplaceError

Job = Callable[[], object]
logger = logging.getLogger("commonplace.background")


class Background:
    """Runs jobs one after the other on a daemon thread, each when it is due; any thread may add some.

    The thread starts with the first job. Jobs must be of the kind that a later process can take up: the end
    of the interpreter waits for none. A child after a fork begins without jobs.
    """

    def __init__(self, name: str) -> None:
        """Name the thread."""
        self._name = name
        self._begin()
        fork.renew_in_child(self, Background._begin)

    def _begin(self) -> None:
        self._changed = threading.Condition()
        self._jobs: dict[object, tuple[float, Job]] = {}  # by key, each with the time at which it is due
        self._thread: threading.Thread | None = None
        self._is_closed = False

    def put(self, job: Job, in_s: float = 0.0, key: object = None) -> bool:
        """Add a job that is due in some seconds; it replaces the one that waits under the same key.

        Never waits, never raises; return False without a thread, or when closed.
        """
        with self._changed:
            if self._is_closed:
                return False
            key = object() if key is None else key
            self._jobs.pop(key, None)
            self._jobs[key] = (time.monotonic() + in_s, job)
            self._changed.notify()
            if self._thread is None or not self._thread.is_alive():
                thread = threading.Thread(target=self._run, name=f"commonplace {self._name}", daemon=True)
                with suppress(RuntimeError):  # no more threads, or the interpreter is about to end
                    thread.start()
                    self._thread = thread
            return self._thread is not None and self._thread.is_alive()

    @property
    def due(self) -> int:
        """The number of jobs that are due and wait for their turn."""
        with self._changed:
            return sum(due <= time.monotonic() for due, _ in self._jobs.values())

    def take(self, key: object) -> Job | None:
        """Cancel the job that waits under a key, and return it."""
        with self._changed:
            return self._jobs.pop(key, (0.0, None))[1]

    def moved(self) -> Background:
        """Return another one for the jobs that wait; this one's thread ends with the job that it runs."""
        other = Background(self._name)
        with self._changed:
            self._is_closed, jobs, self._jobs = True, self._jobs, {}
        for key, (due, job) in jobs.items():
            other.put(job, due - time.monotonic(), key)
        return other

    def close(self, deadline_s: float = 0.0) -> bool:
        """Refuse jobs, drop those that are not due, and tell whether the rest ended by the deadline."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()
            thread = self._thread
        if thread is None or thread is threading.current_thread():
            return True
        thread.join(deadline_s)
        return not thread.is_alive()

    def _run(self) -> None:
        while (job := self._next()) is not None:
            try:
                job()
            # The thread is there for all other jobs as well. A message may hold words of a user.
            except Exception as error:  # noqa: BLE001
                why = error if isinstance(error, CommonplaceError) else type(error).__name__
                logger.warning("%s failed: %s", self._name, why)

    def _next(self) -> Job | None:
        """Wait for the next job that is due; None after `close`, when no more is."""
        with self._changed:
            while True:
                key, (due, job) = min(
                    self._jobs.items(), key=lambda item: item[1][0], default=(None, (float("inf"), None))
                )
                left_s = due - time.monotonic()
                if job is not None and left_s <= 0:
                    del self._jobs[key]
                    return job
                if self._is_closed:
                    return None
                self._changed.wait(min(left_s, threading.TIMEOUT_MAX))
