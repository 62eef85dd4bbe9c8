"""A thread in the background that does one thing: when it is called for, and again later where it failed."""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress

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
        """Whether its thread runs."""
        return self._thread is not None and self._thread.is_alive()

    def call(self) -> None:
        """Have it done soon, on its thread; starts that if there is none."""
        if self._calls.empty():
            self._calls.put(True)
        if not self.alive:
            self._start()

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

    def _start(self) -> None:
        self._ended.clear()
        thread = threading.Thread(target=self._run, name=f"commonplace {self._name}", daemon=True)
        with suppress(RuntimeError):  # no more threads, or the interpreter is about to end
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        pause, wanted = 0.0, False
        while True:
            if pause:
                self._ended.wait(pause)  # whoever calls
                wanted = True
            elif not self._ended.is_set():
                wanted = self._calls.get()
            if wanted:
                self._gather()
            if self._emptied() or wanted:
                done = self._try()
                pause = 0.0 if done else min(self._longest_pause_s, max(self._first_pause_s, pause * 2))
                wanted = False
                if done or not self._ended.is_set():
                    continue
            if self._ended.is_set():
                return

    def _gather(self) -> None:
        """Let more calls come in before all of them are answered at once."""
        # Not by waiting for calls: each would wake this thread, and whoever calls might have to make room.
        self._ended.wait(self._gather_s)
        until = time.monotonic() + self._at_most_s
        while self._quiet_s and not self._ended.is_set() and time.monotonic() < until:
            try:
                self._calls.get(timeout=self._quiet_s)
            except queue.Empty:
                return

    def _emptied(self) -> bool:
        """Take all calls, and tell whether there was one."""
        called = False
        with suppress(queue.Empty):
            while True:
                called = self._calls.get_nowait() or called
        return called

    def _try(self) -> bool:
        try:
            return self._work()
        # A thread that dies of a mistake of ours would leave all later calls unanswered.
        except Exception as error:  # noqa: BLE001
            logger.error("%s failed and is tried again: %s", self._name, type(error).__name__)
            return False
