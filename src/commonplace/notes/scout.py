"""A look at the files taken by a process of its own, while this one still loads what a search needs.

A thread would not do: importing holds Python's lock, and so does most of looking.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from commonplace.notes.scan import Source, fingerprint, look


def can_help() -> bool:
    """Whether a process of its own would run beside this one: by fork, safe on Linux, on a processor left."""
    return sys.platform == "linux" and len(os.sched_getaffinity(0)) > 1


def send(sources: Sequence[Source]) -> Scout | None:
    """Send a scout to the files of all collections, or None where none can be had.

    Only for a program without threads: what they hold would be held for ever in the copy.
    """
    try:
        return Scout(sources)
    except OSError:  # no processes or no descriptors left
        return None


class Scout:
    """A process that looks at the files once; it must be dismissed, whether it was heard or not."""

    def __init__(self, sources: Sequence[Source]) -> None:
        """Start it. Raises OSError."""
        self.started = time.monotonic()
        self._reading, writing = os.pipe()
        try:
            self._process = os.fork()
        except OSError:
            os.close(self._reading)
            os.close(writing)
            raise
        if self._process == 0:
            _report(sources, writing)
        os.close(writing)

    def hear(self) -> bytes:
        """Wait for the fingerprint of what it found; one that failed found something else than any index."""
        with os.fdopen(self._reading, "rb", closefd=False) as pipe:
            return pipe.read()

    def dismiss(self) -> None:
        """End it, whatever it has found."""
        os.close(self._reading)
        # Whoever started this program may have told the system to forget processes that have ended.
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)


def _report(sources: Sequence[Source], writing: int) -> NoReturn:
    """Look and tell, in the process made for it: what belongs to the other is neither flushed nor closed."""
    try:
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(fingerprint(look(sources)))
    finally:  # errors as well: the other one looks for itself and meets them
        os._exit(0)
