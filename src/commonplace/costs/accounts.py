"""The ledger of a workspace and the caps of its settings, for whatever embeds or reranks; opened late."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.paths import Workspace

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding, Reranking
    from commonplace.costs.ledger import Kind, Ledger
    from commonplace.costs.meter import Meter


class Accounts:
    """Meters for the models of one workspace; safe to share between threads."""

    def __init__(self, workspace: Workspace, settings: Embedding, folder: Path | None = None) -> None:
        """Name the workspace, or another folder for the ledger; nothing is made before a model is metered."""
        self.folder = folder or workspace.derived
        self._workspace = None if folder else workspace
        self._settings = settings
        self._lock = threading.Lock()
        self._ledger: Ledger | None = None

    def meter(
        self,
        provider: str,
        model: str,
        run: str = "",
        *,
        kind: Kind = "embedding",
        settings: Embedding | Reranking | None = None,
    ) -> Meter:
        """Return the meter of a model; `run` names what the caps of a run are for, empty: a run of its own.

        The caps are those of `settings`, for calls of a `kind`; unless told, those of embedding. Raises
        ConfigError for unreadable prices, OutsideRoots, NoteUnreadable.
        """
        from commonplace.costs.budget import Budget, caps
        from commonplace.costs.meter import Meter

        return Meter(Budget(self.ledger(), caps(settings or self._settings), run, kind), provider, model)

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        with self._lock:
            if self._ledger is not None:
                self._ledger.close()

    def ledger(self) -> Ledger:
        """Return the ledger. Raises ConfigError for unreadable prices, OutsideRoots, NoteUnreadable."""
        from commonplace.costs.ledger import Ledger, open_ledger

        with self._lock:
            if self._ledger is None:
                own = self._workspace
                self._ledger = open_ledger(own) if own else Ledger(self.folder / "ledger.sqlite")
            return self._ledger
