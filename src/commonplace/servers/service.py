"""What a server serves: one memory, opened when it is first needed, and got ready before that."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace import __version__

if TYPE_CHECKING:
    from commonplace.memory import Memory


def _nobody(message: str) -> None:
    """Hear nothing."""


class Service:
    """One memory and who it serves; safe to use from any thread."""

    info = {"name": "commonplace", "title": "commonplace", "version": __version__}  # noqa: RUF012 - constant

    def __init__(
        self, open_memory: Callable[[], Memory], agent: str = "", tell: Callable[[str], None] = _nobody
    ) -> None:
        """Serve what `open_memory` opens.

        `agent` is who asks where a client does not say; `tell` is told what goes wrong inside.
        """
        self.agent, self.tell = agent, tell
        self._open, self._lock = open_memory, threading.Lock()
        self._memory: Memory | None = None

    @property
    def memory(self) -> Memory:
        """The memory, opened now if it was not. Raises as `Memory.open` does."""
        with self._lock:
            if self._memory is None:
                self._memory = self._open()
            return self._memory

    def close(self) -> None:
        """Close the memory; it is opened again when it is needed."""
        with self._lock:
            if self._memory is not None:
                self._memory.close()
                self._memory = None

    def warm(self) -> None:
        """Load what the first question would have to wait for: the program, the index, a model in here.

        What goes wrong is left for the first question, which has somebody to tell it to.
        """
        from commonplace.agent import answers as answers  # imported now rather than by the first question
        from commonplace.memory import warm

        try:
            warm(self.memory)
        except Exception:  # noqa: BLE001 - it is a favour; the first question meets the same and tells it
            return
