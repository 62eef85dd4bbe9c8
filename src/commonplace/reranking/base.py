"""What a reranker is to the rest of the system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from commonplace.config.credentials import NO_KEY, Secret

TIMEOUT_S = 5.0


class Reranker(Protocol):
    """A model that reads a question together with each text."""

    @property
    def name(self) -> str:
        """What people call it: `provider:model`."""

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return how well each text answers the question, from 0 to 1, higher is better.

        Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError; then there is no score of any text.
        """

    def close(self) -> None:
        """Close what it keeps open; the next call opens it again."""


@dataclass(frozen=True, slots=True)
class Spec:
    """What a reranker is made from, as the owner configured it; empty fields take the provider's defaults.

    `base_url` is the address of an endpoint, `path` a local folder, `timeout_s` bounds one call of `score`
    with all its requests and retries.
    """

    provider: str
    model: str = ""
    base_url: str = ""
    path: str = ""
    key: Secret = NO_KEY
    timeout_s: float = TIMEOUT_S
