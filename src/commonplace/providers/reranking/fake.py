"""A reranker whose scores can be worked out by hand, for tests of this library and of what is built on it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from commonplace.providers.spec import Spec

_WORD = re.compile(r"\w+")


class FakeReranker:
    """Scores a text by the share of the question's different words that it holds, whatever their case.

    A question without words scores 0 everywhere. `calls` are the questions and texts it got, in order.
    """

    def __init__(self, model: str = "words") -> None:
        """Make one of any name."""
        self.name = f"fake:{model}"
        self.calls: list[tuple[str, tuple[str, ...]]] = []
        self.closed = 0

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the share of words for each text."""
        self.calls.append((question, tuple(texts)))
        asked = set(_WORD.findall(question.lower()))
        return [len(asked & set(_WORD.findall(text.lower()))) / max(1, len(asked)) for text in texts]

    def close(self) -> None:
        """Count that it was closed; nothing is open."""
        self.closed += 1


def load(spec: Spec) -> FakeReranker:
    """Make a fake of the name that is set."""
    return FakeReranker(spec.model or "words")
