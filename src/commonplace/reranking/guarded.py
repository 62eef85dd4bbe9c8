"""A reranker behind its cache, its breaker and its budget: what a search is given."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from commonplace.errors import ProviderError
from commonplace.refusals import TooLarge
from commonplace.reranking import cache
from commonplace.reranking.base import Reranker
from commonplace.reranking.remote import Answer, Call, RemoteReranker

if TYPE_CHECKING:
    from commonplace.costs.meter import Meter, Purpose
    from commonplace.embedding.breaker import Breaker
    from commonplace.reranking.cache import ScoreCache

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
        store: ScoreCache | None = None,
        breaker: Breaker | None = None,
        meter: Meter | None = None,
        breaker_name: str = "",
        timeout_s: float = 5.0,
    ) -> None:
        """Wrap a reranker; `breaker_name` is its name at the breaker, `timeout_s` bounds a call."""
        self.inner = inner
        self.name = inner.name
        self._store = store
        self._breaker = breaker
        self._meter = meter
        self._breaker_name = breaker_name or inner.name
        self._timeout_s = timeout_s

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        wanted = [text for text in dict.fromkeys(texts) if text.strip()] if question.strip() else []
        model = getattr(self.inner, "fingerprint", self.name)
        keys = {text: cache.key(model, question, text) for text in wanted}
        found = self._store.find(list(keys.values())) if self._store is not None else {}
        missing = [text for text, key in keys.items() if key not in found]
        if missing:
            made = dict(zip((keys[text] for text in missing), self.ask(question, missing), strict=True))
            if self._store is not None:
                self._store.keep(made)
            found |= made
        elif wanted and self._meter is not None:
            with suppress(ProviderError):  # nothing was spent, so the scores need not be lost for the ledger
                self._meter.known("rerank", Call(self.name, question, wanted).tokens)
        return [found[keys[text]] if text in keys else 0.0 for text in texts]

    def ask(self, question: str, texts: Sequence[str], purpose: Purpose = "rerank") -> list[float]:
        """Ask for the scores of texts, past the cache. Raises as `score` does."""
        with self._guarding():
            if isinstance(self.inner, RemoteReranker):
                return self.inner.score(question, texts, _Requests(self._meter, purpose, self._timeout_s))
            return self.inner.score(question, texts)

    def close(self) -> None:
        """Close the connections that are kept; the next call opens new ones."""
        self.inner.close()

    @contextmanager
    def _guarding(self) -> Iterator[None]:
        """Refuse a call while the provider is left alone, and note how it ends.

        What is too long says nothing about its provider.
        """
        refused: list[TooLarge] = []
        breaker = self._breaker
        if breaker is None:
            yield
            return
        with breaker.guarding(self._breaker_name):
            try:
                yield
            except TooLarge as error:
                refused.append(error)
        if refused:
            raise refused[0]


class _Requests:
    """Told of the requests of one call: each is metered."""

    def __init__(self, meter: Meter | None, purpose: Purpose, timeout_s: float) -> None:
        self._meter, self._purpose, self._timeout_s = meter, purpose, timeout_s

    @contextmanager
    def request(self, call: Call) -> Iterator[Answer]:
        """Around one request. Raises BudgetExceeded."""
        answer = Answer()
        if self._meter is None:
            yield answer
            return
        asked = len(call.question.encode("utf-8", "replace"))
        most = sum(len(text.encode("utf-8", "replace")) + asked + _AROUND for text in call.texts)
        with self._meter.calling(self._purpose, call.tokens, most, self._timeout_s) as metered:
            try:
                yield answer
            finally:
                metered.tokens = answer.tokens
