"""What a reranker is to the rest of the system."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol


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


def sigmoid(logit: float) -> float:
    """Return the probability that a logit stands for."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))
