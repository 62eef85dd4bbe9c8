"""Hooks that keep a session in memory: tools are observed, and sessions that rest or end are summed up."""

from __future__ import annotations

import logging
import threading
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.agent.background import Background
from commonplace.agent.hooks import AgentHook
from commonplace.types.events import MessageEvent, SessionEvent
from commonplace.upkeep.observations import Observer

if TYPE_CHECKING:
    from commonplace.agent.worker import IndexWorker
    from commonplace.config import Settings
    from commonplace.types import ToolExecution
    from commonplace.upkeep.summaries import Summarizer

END_WAIT_S = 10.0  # that the end of a session waits for its summary
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
        self._background = Background("summaries")

    def on_session_start(self, event: SessionEvent | MessageEvent) -> None:
        """Take the session as one that is alive, and see to what earlier ones left."""
        if not self._enabled or self._summarizer.pending.is_open(event.session):
            return
        self._background.put(self._run_pending, key="pending")
        if not self._summarizer.pending.open(event.session, event.agent):
            logger.info("session %s: another process has it open", event.session)

    on_message_received = on_session_start  # if the start was not reported

    def on_session_idle(self, event: SessionEvent) -> None:
        """Sum up new turns, in the background."""
        if self._enabled:
            self._background.put(partial(self._summarizer.summarize, event.session, agent=event.agent))

    def on_session_end(self, event: SessionEvent) -> None:
        """Sum up what is new and let go of the session; wait for that at most `wait_s`."""
        done = threading.Event()
        if self._enabled and self._background.put(partial(self._finish, event, done)):
            done.wait(self._wait_s)

    def wait(self, deadline_s: float) -> bool:
        """Wait for what is under way and in line, at most until the deadline; tell whether it is done."""
        done = threading.Event()
        return self._background.put(done.set) and done.wait(deadline_s)

    def close(self, deadline_s: float = 0.0) -> bool:
        """Refuse new jobs, and tell whether all were done by the deadline; the rest stays pending."""
        return self._background.close(deadline_s)

    def _finish(self, event: SessionEvent, done: threading.Event) -> None:
        with ExitStack() as afterwards:
            afterwards.callback(done.set)
            afterwards.callback(self._summarizer.pending.close, event.session)  # others may do what failed
            self._summarizer.summarize(event.session, agent=event.agent)

    def _run_pending(self) -> None:
        """Sum up sessions left behind, until a newer job waits; then queue the rest behind it."""
        for outcome in self._summarizer.run_pending(lambda: bool(self._background.due)):
            if outcome.error:
                logger.warning("session %s: not summed up (%s)", outcome.session, outcome.error)
        if self._background.due:
            self._background.put(self._run_pending, key="pending")
