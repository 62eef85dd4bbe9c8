"""A timer for all sessions: who says nothing for a while rests, and hooks are told so, once."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from commonplace.types.events import SessionEvent

if TYPE_CHECKING:
    from commonplace.agent.hooks import HookManager

IDLE_S = 600.0
_CLOSING_S = 1.0


class IdleTimer:
    """Tells hooks `on_session_idle` when a session was not touched for a while; any thread may use it."""

    def __init__(self, manager: HookManager, idle_s: float = IDLE_S) -> None:
        """Bind to who is told, and after how many seconds; the thread starts with the first session."""
        self._manager, self._idle_s = manager, idle_s
        self._changed = threading.Condition()
        self._rests: dict[str, tuple[float, str]] = {}  # when each session will rest, and its agent
        self._thread: threading.Thread | None = None
        self._closed = False

    def touch(self, session: str, agent: str = "") -> None:
        """Something was said: a session rests that much later."""
        with self._changed:
            if self._closed:
                return
            self._rests.pop(session, None)  # so that they stand in the order in which they will rest
            self._rests[session] = (time.monotonic() + self._idle_s, agent)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="commonplace-idle", daemon=True)
                self._thread.start()
            elif len(self._rests) == 1:
                self._changed.notify()

    def end(self, session: str) -> None:
        """A session is over and will not rest any more."""
        with self._changed:
            self._rests.pop(session, None)

    def close(self) -> None:
        """Tell nobody anything any more, and let the thread go."""
        with self._changed:
            self._closed = True
            self._rests.clear()
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        while (event := self._next()) is not None:
            self._manager.emit("on_session_idle", event)

    def _next(self) -> SessionEvent | None:
        """Wait for a session that rests; None once the timer is closed."""
        with self._changed:
            while not self._closed:
                session, (due, agent) = next(iter(self._rests.items()), ("", (0.0, "")))
                if not self._rests:
                    self._changed.wait()
                elif (left := due - time.monotonic()) > 0:
                    self._changed.wait(left)
                else:
                    del self._rests[session]
                    return SessionEvent(session, agent)
        return None
