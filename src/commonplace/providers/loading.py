"""Models in memory: loaded when first used, shared by all callers, let go of when nobody asks for a while."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, TypeVar

IDLE_S = 300.0  # a conversation pauses for less; what a model takes is some hundred megabytes
LEAST_S = 0.01  # between two looks at one that is in use, however short its idle time
T = TypeVar("T")


class Shared(Generic[T]):
    """Something costly, made by `load` at its first use and forgotten `idle_s` seconds after its last one.

    A call in flight keeps what it uses; the next call after that loads anew. A forked child begins without.
    """

    def __init__(
        self, load: Callable[[], T], idle_s: float = IDLE_S, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Note how it is made; nothing is loaded yet."""
        self._load = load
        self._idle_s = idle_s
        self._clock = clock
        self._begin()
        _ALL.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._held: T | None = None
        self._users = 0
        self._used_at = 0.0
        self._watched = False

    @property
    def loaded(self) -> bool:
        """Whether it is in memory now."""
        return self._held is not None

    @contextmanager
    def use(self) -> Iterator[T]:
        """Lend it for a piece of work, loaded if it is not. Raises whatever `load` does."""
        held = self._take()
        try:
            yield held
        finally:
            with self._lock:
                self._users = max(0, self._users - 1)  # a fork in between has counted anew
                self._used_at = self._clock()

    def put(self, held: T) -> None:
        """Take one that was made already, in order to learn something from it."""
        with self._lock:
            self._keep(held)

    def expire(self) -> float | None:
        """Forget it if it has been idle for long enough; return the seconds until it may be, None if gone."""
        with self._lock:
            left = self._idle_s - (self._clock() - self._used_at)
            if self._held is not None and (self._users or left > 0):
                return self._idle_s if self._users else left
            held, self._held = self._held, None
            self._watched = False
        if held is not None:
            del held  # outside the lock: letting go of a large model takes a while
            _return_memory()
        return None

    def _take(self) -> T:
        with self._lock:
            if self._held is None:
                self._keep(self._load())
            assert self._held is not None
            self._users += 1
            return self._held

    def _keep(self, held: T) -> None:
        self._held = held
        self._used_at = self._clock()
        if not self._watched:
            watch = threading.Thread(
                target=_watch, args=(weakref.ref(self), self._idle_s), name="commonplace-idle", daemon=True
            )
            with suppress(RuntimeError):  # no thread to be had, or the interpreter ends: it stays loaded
                watch.start()
                self._watched = True

    def _begin_in_child(self) -> None:
        # Not destroyed: its threads do not exist here, and a destructor might wait for one.
        _LEFT_BEHIND.append(self._held)
        self._begin()


def _watch(reference: weakref.ref[Shared[Any]], wait_s: float) -> None:
    """Sleep until something may be idle; end when it was forgotten or nobody holds it any more."""
    left: float | None = wait_s
    while left is not None:
        time.sleep(max(left, LEAST_S))
        shared = reference()
        left = None if shared is None else shared.expire()
        del shared


def _return_memory() -> None:
    """Give what was freed back to the system; glibc keeps it otherwise.

    Of the 91 MB that the bundled model takes, 22 come back without this, 73 with it.
    """
    if sys.platform == "linux":
        import ctypes

        with suppress(OSError, AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def _after_fork() -> None:
    for shared in list(_ALL):
        shared._begin_in_child()


_ALL: weakref.WeakSet[Shared[Any]] = weakref.WeakSet()
_LEFT_BEHIND: list[object] = []
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
