"""The hook that sums up sessions when they rest or end, on a thread of its own."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from commonplace.agent.hooks import AgentHook
from commonplace.base.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.types.events import MessageEvent, SessionEvent
    from commonplace.upkeep.summaries import Summarizer

_LATER_S = 2.0  # what a manager of hooks waits for this one longer than the hook itself does
logger = logging.getLogger("commonplace.summaries")
Work = Callable[[], None]


class SummaryHook(AgentHook):
    """Opens sessions, sums them up when they rest or end, and what earlier runs left behind first.

    No host waits for a summary, but for the end of a session, and there no longer than told: what is not
    done by then is done at the next start.
    """

    def __init__(self, summarizer: Summarizer, *, wait_s: float | None = None) -> None:
        """Bind to what writes summaries; `wait_s` is how long the end of a session waits (settings)."""
        self._summarizer = summarizer
        self._wait_s = summarizer.settings.wait_s if wait_s is None else wait_s
        self.deadline_s = self._wait_s + _LATER_S
        self._enabled = summarizer.settings.enabled
        self._work: queue.SimpleQueue[Work | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False

    def on_session_start(self, event: SessionEvent) -> None:
        """Take the session as one that is alive, and see to what earlier ones left."""
        self._opened(event.session, event.agent)

    def on_message_received(self, event: MessageEvent) -> None:
        """Take the session as one that is alive, where nobody said that it began."""
        self._opened(event.session, event.agent)

    def on_session_idle(self, event: SessionEvent) -> None:
        """Sum up what is new, without anybody waiting."""
        if self._enabled:
            self._put(lambda: self._summarize(event))

    def on_session_end(self, event: SessionEvent) -> None:
        """Sum up what is new and let go of the session; wait for it as long as told."""
        if not self._enabled:
            return
        done = threading.Event()

        def work() -> None:
            try:
                self._summarize(event)
            finally:  # what failed is anybody's to do again
                try:
                    self._summarizer.pending.close(event.session)
                finally:
                    done.set()

        if self._put(work) and not done.wait(self._wait_s):
            logger.info("session %s: its summary is still under way", event.session)

    def close(self, deadline_s: float = 0.0) -> bool:
        """Take nothing more, and tell whether all was done by the deadline; the rest stays pending."""
        with self._lock:
            self._closed = True
            self._work.put(None)
            thread = self._thread
        if thread is not None:
            thread.join(deadline_s)
        return thread is None or not thread.is_alive()

    def _opened(self, session: str, agent: str) -> None:
        if not self._enabled or self._summarizer.pending.is_open(session):
            return
        if self._thread is None:
            self._put(self._run_pending)
        if not self._summarizer.pending.open(session, agent):
            logger.info("session %s: another process has it open", session)

    def _summarize(self, event: SessionEvent) -> None:
        self._summarizer.summarize(event.session, agent=event.agent)

    def _run_pending(self) -> None:
        """See to what was left behind, as long as nothing newer is to be done; then go on behind that."""
        for outcome in self._summarizer.run_pending(lambda: not self._work.empty()):
            if outcome.error:
                logger.warning("session %s: not summed up (%s)", outcome.session, outcome.error)
        if not self._work.empty():
            self._put(self._run_pending)

    def _put(self, work: Work) -> bool:
        with self._lock:
            if self._closed:
                return False
            self._work.put(work)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="commonplace-summaries", daemon=True)
                self._thread.start()
        return True

    def _run(self) -> None:
        while (work := self._work.get()) is not None:
            try:
                work()
            except CommonplaceError as error:
                logger.warning("not summed up, to be tried again: %s", error)
            # The thread is there for all the other sessions as well, whatever happens to this one.
            except Exception as error:  # noqa: BLE001
                logger.warning("not summed up, to be tried again: %s", type(error).__name__)
