"""A moment by which a call with all its parts must be over."""

from __future__ import annotations

import threading
import time


class Deadline:
    """A moment by which a call must be over, shared by all its requests; it can be brought forward."""

    def __init__(self, seconds: float) -> None:
        """Start the clock."""
        self.seconds = seconds
        self._until = time.monotonic() + seconds
        self._ended = threading.Event()

    def left_s(self) -> float:
        """Return the seconds that are left, 0 when it is over."""
        return 0.0 if self._ended.is_set() else max(0.0, self._until - time.monotonic())

    def end(self) -> None:
        """Let everything that waits for this deadline give up now."""
        self._ended.set()

    def pause(self, seconds: float) -> None:
        """Sleep, but no longer than is left."""
        self._ended.wait(min(seconds, self.left_s()))
