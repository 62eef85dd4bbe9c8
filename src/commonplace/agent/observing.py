"""The hook that observes tools: what is significant goes to a worker, which writes it into today's note."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from commonplace.agent.hooks import AgentHook
from commonplace.upkeep.observations import Observer

if TYPE_CHECKING:
    from commonplace.config import Settings
    from commonplace.types import Entry, ToolExecution


class Worker(Protocol):
    """Who takes entries and brings them into notes, such as an `IndexWorker`."""

    def submit(self, entry: Entry) -> None:
        """Take an entry."""


class ObservationHook(AgentHook):
    """Turns tools that ran into entries; what they hold is redacted before it is handed on."""

    def __init__(self, worker: Worker, settings: Settings, root: Path | None = None) -> None:
        """Take who writes entries, the settings, and the workspace that paths are shown relative to."""
        self._worker, self._observer = worker, Observer(settings, root)

    def on_tool_executed(self, execution: ToolExecution) -> None:
        """Submit what is worth keeping of a tool that ran."""
        entry = self._observer.observe(execution)
        if entry is not None:
            self._worker.submit(entry)
