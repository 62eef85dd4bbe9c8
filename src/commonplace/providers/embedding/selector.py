"""The model that embeds for one workspace: chosen at its first use, or why it cannot be used."""

from __future__ import annotations

import threading
from contextlib import suppress
from pathlib import Path

from commonplace.base.errors import CommonplaceError

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config.settings import Embedding
    from commonplace.providers.costs import Ledger
    from commonplace.providers.embedding.base import Embedder


class CurrentModel:
    """Chooses among the models that the settings name; `trouble` says why earlier ones cannot be used."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Embedding,
        ledger_folder: Path | None = None,
        given: Embedder | None = None,
    ) -> None:
        """Bind to settings. `given` replaces what they name; the ledger lies in the workspace by default."""
        self.model = self._given = given
        self.trouble: str | None = None
        self.wanted = settings.provider != "none"  # whether text is to be embedded at all
        self._settings = settings
        self._workspace, self._ledger_folder = workspace, ledger_folder
        self._ledger: Ledger | None = None
        self._former: Embedder | None = None
        self._lock = threading.RLock()

    def load(self) -> Embedder | None:
        """The model, made once; None if it is not wanted or cannot be used."""
        with self._lock:
            return self.model if self.model or self.trouble else self.choose()

    def choose(self) -> Embedder | None:
        """The first model of the settings that can be used now; a provider may have come back or failed."""
        from commonplace.providers import opening

        with self._lock:
            if self._given is not None or not self.wanted:
                return self.model
            reasons: list[str] = []
            self.model = None
            try:
                for model in opening.models(self._settings, self.ledger):
                    if not isinstance(model, str):
                        self.model = model
                        break
                    reasons.append(model)
            except CommonplaceError as error:
                reasons.append(str(error))
            end = f"{self.model.name} stands in" if self.model else "full text answers alone"
            self.trouble = f"no embedding model ({'; '.join(reasons)}); {end}" if reasons else None
            return self.model

    def former(self, fingerprint: str) -> Embedder | None:
        """The model whose vectors an index still holds, if questions may go to it (decision 16)."""
        from commonplace.providers import opening

        if self._former is None or self._former.fingerprint != fingerprint:
            self._former = None
            with suppress(CommonplaceError):
                self._former = opening.former(self._settings, self.ledger, fingerprint)
        return self._former

    def ledger(self) -> Ledger:
        """The record of calls, made when first needed."""
        if self._ledger is None:
            from commonplace.providers.costs import Ledger

            folder = self._ledger_folder
            self._ledger = Ledger(folder / "ledger.sqlite") if folder else Ledger.of(self._workspace)
        return self._ledger

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        if self._ledger is not None:
            self._ledger.close()
