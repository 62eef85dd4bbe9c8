"""A reranker that runs on this machine: loaded late, given back when idle, one pair at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from commonplace.deadline import Deadline
from commonplace.embedding import runtime
from commonplace.embedding.loading import Shared
from commonplace.errors import ProviderError

# A token is rarely more than a dozen characters; cutting first keeps a megabyte of text cheap.
CHARACTERS_A_TOKEN = 32
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Traits(Generic[T]):
    """What a model is like: its names, where a pair is cut, how it is asked.

    `shorten` gives as much of a question as leaves room for a text, `run` the probability of a pair.
    `fingerprint` changes with anything that changes a score.
    """

    provider: str
    model: str
    fingerprint: str
    max_tokens: int
    shorten: Callable[[T, str], str]
    run: Callable[[T, str, str], float]


class LocalReranker(Generic[T]):
    """A model whose weights are loaded at its first pair; safe in several threads."""

    def __init__(self, traits: Traits[T], shared: Shared[T], timeout_s: float) -> None:
        """Put a model together; nothing is loaded."""
        self.name = f"{traits.provider}:{traits.model}"
        self.model = traits.model
        self.fingerprint = traits.fingerprint
        self.shared = shared
        self._traits = traits
        self._timeout_s = timeout_s
        self._characters = traits.max_tokens * CHARACTERS_A_TOKEN

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, also when time is over.

        Loading does not count: it happens once, and would otherwise never come to its end.
        """
        if not texts:
            return []
        traits = self._traits
        with self.shared.use() as model:
            deadline = Deadline(self._timeout_s)
            asked = runtime.clean(question, self._characters)
            asked = runtime.run(traits.provider, lambda: traits.shorten(model, asked))

            def work(text: str) -> float:
                if not deadline.left_s():
                    told = f"the model did not score {len(texts)} texts within {deadline.seconds:g} s"
                    raise ProviderError(traits.provider, told)
                pair = runtime.clean(text, self._characters)
                return runtime.run(traits.provider, lambda: traits.run(model, asked, pair))

            return runtime.each(work, texts)

    def close(self) -> None:
        """Nothing is kept open; the model is given back when it is idle."""
