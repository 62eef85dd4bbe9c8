"""Hooks that keep a session in memory: tools are observed, and idle sessions are summed up."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from commonplace.agent.hooks import AgentHook
from commonplace.agent.worker import Chore
from commonplace.base.errors import CommonplaceError
from commonplace.types.events import MessageEvent, SessionEvent
from commonplace.upkeep.observations import Observer

if TYPE_CHECKING:
    from commonplace.agent.worker import IndexWorker
    from commonplace.config import Settings
    from commonplace.types import ToolExecution
    from commonplace.upkeep.summaries import Summarizer

IDLE_S = 600.0
END_WAIT_S = 10.0  # that the end of a session waits for its summary
_CLOSING_S = 1.0  # that closing an idle timer waits for its thread
_LATER_S = 2.0  # what a manager of hooks waits for summaries longer than the hook itself does
logger = logging.getLogger("commonplace.summaries")


class ObservationHook(AgentHook):
    """Turns tools that ran into entries, redacted before they reach the worker."""

    def __init__(self, worker: IndexWorker, settings: Settings, root: Path | None = None) -> None:
        """Take the worker for entries, the settings, and the folder that paths are relative to."""
        self._worker, self._observer = worker, Observer(settings, root)

    def on_tool_executed(self, execution: ToolExecution) -> None:
        """Submit what is worth keeping of a tool that ran."""
        entry = self._observer.observe(execution)
        if entry is not None:
            self._worker.submit(entry)


class SummaryHook(AgentHook):
    """Opens sessions, sums them up when they rest or end, and what earlier runs left behind first.

    No host waits for a summary, but for the end of a session, and there no longer than `wait_s`: what is not
    done by then is done at the next start.
    """

    def __init__(self, summarizer: Summarizer, *, wait_s: float = END_WAIT_S) -> None:
        """Bind to what writes summaries; `wait_s` is how long the end of a session waits."""
        self._summarizer = summarizer
        self._wait_s, self.deadline_s = wait_s, wait_s + _LATER_S
        self._enabled = summarizer.settings.enabled
        self._jobs: deque[Callable[[], object]] = deque()
        self._thread = Chore("summaries", self._work_off)
        self._closed = False

    def on_session_start(self, event: SessionEvent | MessageEvent) -> None:
        """Take the session as one that is alive, and see to what earlier ones left."""
        if not self._enabled or self._summarizer.pending.is_open(event.session):
            return
        if not self._thread.alive:
            self._put(self._run_pending)
        if not self._summarizer.pending.open(event.session, event.agent):
            logger.info("session %s: another process has it open", event.session)

    on_message_received = on_session_start  # if the start was not reported

    def on_session_idle(self, event: SessionEvent) -> None:
        """Sum up new turns, in the background."""
        if self._enabled:
            self._put(lambda: self._summarizer.summarize(event.session, agent=event.agent))

    def on_session_end(self, event: SessionEvent) -> None:
        """Sum up what is new and let go of the session; wait for that at most `wait_s`."""
        if not self._enabled:
            return
        done = threading.Event()

        def work() -> None:
            try:
                self._summarizer.summarize(event.session, agent=event.agent)
            finally:  # what failed is anybody's to do again
                try:
                    self._summarizer.pending.close(event.session)
                finally:
                    done.set()

        if self._put(work) and not done.wait(self._wait_s):
            logger.info("session %s: its summary is still under way", event.session)

    def wait(self, deadline_s: float) -> bool:
        """Wait for what is under way and in line, at most until the deadline; tell whether it is done."""
        done = threading.Event()
        return self._put(done.set) and done.wait(deadline_s)

    def close(self, deadline_s: float = 0.0) -> bool:
        """Refuse new jobs, and tell whether all were done by the deadline; the rest stays pending."""
        self._closed = True
        self._thread.end()
        return self._thread.join(time.monotonic() + deadline_s)

    def _run_pending(self) -> None:
        """Sum up sessions left behind, until a newer job waits; then queue the rest behind it."""
        for outcome in self._summarizer.run_pending(lambda: bool(self._jobs)):
            if outcome.error:
                logger.warning("session %s: not summed up (%s)", outcome.session, outcome.error)
        if self._jobs:
            self._put(self._run_pending)

    def _put(self, job: Callable[[], object]) -> bool:
        if self._closed:
            return False
        self._jobs.append(job)
        self._thread.call()
        return True

    def _work_off(self) -> bool:
        while self._jobs:
            try:
                self._jobs.popleft()()
            # The thread is there for all the other sessions as well, whatever happens to this one.
            except Exception as error:  # noqa: BLE001
                why = error if isinstance(error, CommonplaceError) else type(error).__name__
                logger.warning("not summed up, to be tried again: %s", why)
        return True


class Emitter(Protocol):
    """A receiver of events: hooks, or a forwarder."""

    def emit(self, name: str, event: object) -> None:
        """Report an event. Never raises."""


class IdleTimer:
    """Tells hooks `on_session_idle` when a session was not touched for a while; any thread may use it."""

    def __init__(self, manager: Emitter, idle_s: float = IDLE_S) -> None:
        """Bind to the hooks to call, and after how many seconds; the thread starts with the first session."""
        self._manager, self._idle_s = manager, idle_s
        self._changed = threading.Condition()
        self._rests: dict[str, tuple[float, str]] = {}  # when each session will rest, and its agent
        self._thread: threading.Thread | None = None
        self._closed = False

    def touch(self, session: str, agent: str = "") -> None:
        """Restart the idle time of a session."""
        with self._changed:
            if self._closed:
                return
            self._rests.pop(session, None)  # so that they are in the order in which they will rest
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
        """Call no hook any more, and let the thread go."""
        with self._changed:
            self._closed = True
            self._rests.clear()
            self._changed.notify()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_CLOSING_S)

    def _run(self) -> None:
        while True:
            with self._changed:
                if self._closed:
                    return
                session, (due, agent) = next(iter(self._rests.items()), ("", (0.0, "")))
                left_s = due - time.monotonic() if self._rests else None
                if left_s is None or left_s > 0:
                    self._changed.wait(left_s)
                    continue
                del self._rests[session]
            self._manager.emit("on_session_idle", SessionEvent(session, agent))
