"""The ledger of a workspace and the caps of its settings, for whatever embeds: opened when it is needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from commonplace.paths import Workspace

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding
    from commonplace.costs.ledger import Ledger
    from commonplace.costs.meter import Meter


class Accounts:
    """Meters for the models of one workspace; safe to share between threads."""

    def __init__(self, workspace: Workspace, settings: Embedding) -> None:
        """Name the workspace; nothing is opened or made before a model is metered."""
        self.workspace, self._settings = workspace, settings
        self._lock = threading.Lock()
        self._ledger: Ledger | None = None

    def meter(self, provider: str, model: str, run: str = "") -> Meter:
        """Return the meter of a model; `run` names what the caps of a run are for, empty: a run of its own.

        Raises ConfigError for unreadable prices, OutsideRoots, NoteUnreadable.
        """
        from commonplace.costs.budget import Budget, caps
        from commonplace.costs.meter import Meter

        return Meter(Budget(self._opened(), caps(self._settings), run, "embedding"), provider, model)

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()

    def _opened(self) -> Ledger:
        from commonplace.costs.ledger import open_ledger

        with self._lock:
            if self._ledger is None:
                self._ledger = open_ledger(self.workspace)
            return self._ledger
