"""The language model that a search may ask, opened when it is needed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.base.paths import Workspace
    from commonplace.config import Settings
    from commonplace.providers.llm.client import Client


class LanguageModel:
    """The language model of the settings; opened once, from whichever thread."""

    def __init__(self, workspace: Workspace, settings: Settings) -> None:
        """Bind to settings; nothing is opened yet."""
        self._workspace, self._settings = workspace, settings
        self._lock = threading.Lock()
        self._client: Client | None = None

    @property
    def is_set(self) -> bool:
        """Whether there is one to ask."""
        return self._settings.llm.provider != "none"

    def load(self) -> Client:
        """Return it, opened at the first call. Raises ConfigError, MissingExtra, ProviderError."""
        from commonplace.providers import opening

        with self._lock:
            if self._client is None:
                self._client = opening.open_llm(self._workspace, self._settings)
            assert self._client is not None
            return self._client
