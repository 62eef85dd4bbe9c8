"""The ledger of a workspace and budgets over it, for whatever embeds or reranks; opened late."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.base.paths import Workspace

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding, Reranking
    from commonplace.providers.costs.budget import Budget
    from commonplace.providers.costs.ledger import Kind, Ledger


class Accounts:
    """Budgets for the models of one workspace; safe to share between threads."""

    def __init__(self, workspace: Workspace, folder: Path | None = None) -> None:
        """Name the workspace, or another folder for the ledger; nothing is made before a model is asked."""
        self.folder = folder or workspace.derived
        self._workspace = None if folder else workspace
        self._lock = threading.Lock()
        self._ledger: Ledger | None = None

    def budget(self, kind: Kind, settings: Embedding | Reranking, run: str = "") -> Budget:
        """Return the budget of calls of a kind, with the caps of its table of settings.

        `run` names what the caps of a run are for, empty: a run of its own. Raises ConfigError for unreadable
        prices, OutsideRoots, NoteUnreadable.
        """
        from commonplace.providers.costs.budget import Budget, caps

        return Budget(self.ledger(), caps(settings), run, kind)

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()

    def ledger(self) -> Ledger:
        """Return the ledger. Raises ConfigError for unreadable prices, OutsideRoots, NoteUnreadable."""
        from commonplace.providers.costs.ledger import Ledger, open_ledger

        with self._lock:
            if self._ledger is None:
                own = self._workspace
                self._ledger = open_ledger(own) if own else Ledger(self.folder / "ledger.sqlite")
            return self._ledger
