"""The model that embeds for one workspace now: chosen when it is needed, and what stands in its way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.config.settings import Embedding
    from commonplace.costs.accounts import Accounts
    from commonplace.embedding.base import Embedder
    from commonplace.paths import Workspace


class CurrentModel:
    """Chooses among the models that the settings name; trouble is remembered and told, not raised."""

    def __init__(
        self,
        workspace: Workspace,
        settings: Embedding,
        ledger_folder: Path | None = None,
        given: Embedder | None = None,
    ) -> None:
        """Bind to settings. `given` replaces what they name; the ledger lies in the workspace unless told."""
        self.model = self._given = given
        self.trouble: str | None = None
        self._settings = settings
        self._workspace, self._ledger_folder = workspace, ledger_folder
        self._accounts: Accounts | None = None
        self._former: Embedder | None = None

    @property
    def wanted(self) -> bool:
        """Whether text is to be embedded at all."""
        return self._settings.provider != "none"

    def load(self) -> Embedder | None:
        """The model, made once; None if there is none, or none that can be used."""
        if self.model is None and self.trouble is None and self.wanted:
            self._choose(lambda model: True)
        return self.model

    def for_filling(self, holds: Callable[[Embedder], bool]) -> Embedder | None:
        """The model to embed passages with: a provider may have come back, or have failed, meanwhile.

        `holds` tells whether the index has vectors of a model. One that is to fill it anew must have answered
        first, where the choice is ours (`auto`); an outage alone throws no vectors away.
        """
        if self._given is None and self.wanted:
            self._choose(holds)
        return self.model

    def former(self, fingerprint: str) -> Embedder | None:
        """The model whose vectors an index still holds, if questions may go to it (decision 16)."""
        from commonplace.embedding import configured

        if self._former is None or self._former.fingerprint != fingerprint:
            self._former = None
            with suppress(CommonplaceError):
                self._former = configured.former(self._settings, self.accounts(), fingerprint)
        return self._former

    def accounts(self) -> Accounts:
        """The ledger of the workspace and meters over it, made when first needed."""
        if self._accounts is None:
            from commonplace.costs.accounts import Accounts

            self._accounts = Accounts(self._workspace, self._settings, self._ledger_folder)
        return self._accounts

    def close(self) -> None:
        """Close the ledger; it is opened again when it is needed."""
        if self._accounts is not None:
            self._accounts.close()

    def _choose(self, trusted: Callable[[Embedder], bool]) -> None:
        """Take the first model of the settings that can be used, and remember why none before it can."""
        from commonplace.embedding import configured

        found: Embedder | None = None
        told: list[str] = []
        try:
            for model in configured.models(self._settings, self.accounts()):
                trouble = model if isinstance(model, str) else self._unfit(model, trusted)
                if not trouble and not isinstance(model, str):
                    found = model
                    break
                told.append(trouble)
        except CommonplaceError as error:
            told.append(str(error))
        end = f"{found.name} stands in" if found else "full text answers alone"
        self.model = found
        self.trouble = f"no embedding model ({'; '.join(told)}); {end}" if told else None

    def _unfit(self, model: Embedder, trusted: Callable[[Embedder], bool]) -> str:
        from commonplace.embedding import configured
        from commonplace.embedding.automatic import AUTO

        if self._settings.provider != AUTO or trusted(model):
            return ""
        return configured.trouble(model)
