"""A reranker as a search sees it: guarded, its scores kept for the process."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.providers.cache import score_key
from commonplace.providers.guard import Call, Guard, Store
from commonplace.providers.reranking.base import Reranker
from commonplace.providers.reranking.remote import Pairs, RemoteReranker

if TYPE_CHECKING:
    from commonplace.providers.breaker import Breaker
    from commonplace.providers.costs import Budget

_AROUND = 8  # tokens that a tokenizer may put around a pair, generously


class GuardedReranker:
    """Scores what the cache does not know, unless the provider is left alone or a cap would be passed.

    A text without anything in it answers nothing: it scores 0, and nobody is asked; so does every text where
    the question is blank.
    """

    def __init__(
        self,
        inner: Reranker,
        *,
        store: Store[float] | None = None,
        breaker: Breaker | None = None,
        budget: Budget | None = None,
        breaker_name: str = "",
        timeout_s: float = 5.0,
    ) -> None:
        """Wrap a reranker; `breaker_name` is its name at the breaker, `timeout_s` bounds a call."""
        self.inner = inner
        self.name = inner.name
        self._timeout_s = timeout_s
        provider, _, model = inner.name.partition(":")
        self._guard: Guard[str, float] = Guard(
            provider,
            model,
            fingerprint=getattr(inner, "fingerprint", inner.name),
            store=store,
            breaker=breaker,
            breaker_name=breaker_name or inner.name,
            budget=budget,
        )

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        asked = [text for text in dict.fromkeys(texts) if text.strip()] if question.strip() else []

        def size(text: str) -> int:
            return Pairs(self.name, question, [text]).tokens

        key = partial(score_key, self._guard.fingerprint, question)
        scores = self._guard(
            asked, key, lambda missing: self._ask(question, missing, "rerank"), "rerank", size
        )
        known = dict(zip(asked, scores, strict=True))
        return [known.get(text, 0.0) for text in texts]

    def try_out(self, question: str, texts: Sequence[str]) -> list[float]:
        """Ask for the scores of texts, past the cache. Raises as `score` does."""
        with self._guard.asking():
            return self._ask(question, texts, "test")

    def close(self) -> None:
        """Close the connections that are kept; the next call opens new ones."""
        self.inner.close()

    def _ask(self, question: str, texts: Sequence[str], purpose: str) -> list[float]:
        if isinstance(self.inner, RemoteReranker):
            return self.inner.score(question, texts, partial(self._request, purpose))
        return self.inner.score(question, texts)

    @contextmanager
    def _request(self, purpose: str, pairs: Pairs) -> Iterator[Call]:
        """Around one request."""
        asked = len(pairs.question.encode("utf-8", "replace"))
        most = sum(len(text.encode("utf-8", "replace")) + asked + _AROUND for text in pairs.texts)
        with self._guard.request(purpose, pairs.tokens, most, self._timeout_s) as call:
            yield call
