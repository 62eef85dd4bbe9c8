"""Rerankers: models that read a question and a text together and score how well the text answers it.

A reranker behind HTTP cuts and packs texts, and puts the scores of an answer into their places. llama.cpp,
vLLM, Infinity and others speak Jina's protocol; text-embeddings-inference (TEI) has its own.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import packing, services
from commonplace.providers.cache import score_key
from commonplace.providers.catalog import RERANKERS, Reranker, Spec
from commonplace.providers.guard import Call, Guard, Store, Watcher, unwatched
from commonplace.providers.http import Endpoint
from commonplace.providers.refusals import TooLarge
from commonplace.providers.services import RerankApi, count_at

if TYPE_CHECKING:
    from commonplace.providers.breaker import Breaker
    from commonplace.providers.costs import Budget

_ATTEMPTS = 3  # somebody waits, and there is an order without a reranker
_REFUSED = frozenset({400, 422})
_ROUNDED = 1e-6  # a probability that was rounded may lie so far outside 0 to 1


def sigmoid(logit: float) -> float:
    """Return the probability that a logit stands for."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


class RemoteReranker:
    """A reranker of a service; safe to call from several threads."""

    def __init__(self, spec: Spec, service: RerankApi) -> None:
        """Prepare, without a request. Raises ConfigError, ProviderError without a key or a fit address."""
        row = RERANKERS.find(service.name)
        self.service = service
        self.model = spec.model or row.model
        base_url = (spec.base_url or row.base_url).strip().rstrip("/")
        if not base_url:
            message = f"{service.name} needs one; set it in your own config.toml"
            raise ConfigError("reranking.base_url", message)
        key = RERANKERS.needed_key(spec)
        self.endpoint = Endpoint(service.name, base_url.removesuffix("/rerank"), key)
        self.close, self.breaker_name = self.endpoint.close, self.endpoint.breaker_name(self.model)
        self.name = f"{service.name}:{self.model or self.endpoint.origin.partition('://')[2]}"
        # It changes with anything that changes a score: a server's name for a model may say little.
        self.fingerprint = f"{self.name}@{self.endpoint.base_url}"
        self._timeout_s = spec.query_deadline_s
        self._takes_texts = False  # whether it has refused `documents` and named `texts` (TEI)
        self._logits = False  # whether it was seen to give logits: then a score inside 0 to 1 is one too

    def score(self, question: str, texts: Sequence[str], watcher: Watcher = unwatched) -> list[float]:
        """Return the scores of texts before the deadline. Raises ProviderError if one is missing."""
        deadline = Deadline(self._timeout_s)
        limits = self.service.limits
        question = packing.cut(packing.clean(question), limits.input_tokens // 2)
        asked = packing.tokens(question)
        cut = [packing.cut(packing.clean(text), limits.input_tokens - asked) for text in texts]

        def post(texts: Sequence[str]) -> list[float]:
            with watcher(question, texts) as request:
                body = self._body(question, texts)
                answer = self.endpoint.post("rerank", body, deadline, attempts=_ATTEMPTS)
                request.tokens = count_at(answer, self.service.usage_at)
                if isinstance(answer, dict):
                    answer = answer.get("results", answer.get("data"))
                return placed(self.service.name, answer, len(texts))

        def ask(texts: Sequence[str]) -> list[float]:
            try:
                return post(texts)
            except ProviderError as error:
                known = self._takes_texts or self.service.name != "compatible" or error.status not in _REFUSED
                if known or isinstance(error, TooLarge) or not re.search(r"\btexts\b", str(error)):
                    raise
            self._takes_texts = True
            try:
                return post(texts)
            except ProviderError as error:
                self._takes_texts = isinstance(error, TooLarge)  # that is about the texts: the form was right
                raise

        scores: list[float] = []
        for group in packing.pack([packing.tokens(text) + asked for text in cut], limits):
            scores += packing.ask_in_parts(ask, cut[group.start : group.stop], packing.halve)
        self._logits = self._logits or are_logits(scores)
        return bounded(scores, logits=self._logits)

    def _body(self, question: str, texts: Sequence[str]) -> dict[str, object]:
        if self._takes_texts:
            return {"query": question, "texts": list(texts), "truncate": True}
        model: dict[str, object] = {"model": self.model} if self.model else {}
        count = {self.service.limit: len(texts)}
        return {**model, "query": question, "documents": list(texts), **count, **self.service.extra}


def are_logits(scores: Iterable[float]) -> bool:
    """Tell whether scores are logits: at least one lies outside 0 to 1."""
    return any(not -_ROUNDED <= score <= 1 + _ROUNDED for score in scores)


def bounded(scores: Iterable[float], *, logits: bool) -> list[float]:
    """Return scores from 0 to 1; of logits, the probabilities."""
    return [sigmoid(score) if logits else min(1.0, max(0.0, score)) for score in scores]


def placed(provider: str, results: object, count: int) -> list[float]:
    """Put the results of an answer, in any order, into the order of the texts that were sent.

    A result is `{"index": 0, "relevance_score": 0.9}`, or has a `score`. Raises ProviderError unless each of
    the texts has one finite score.
    """
    if not isinstance(results, list):
        raise ProviderError(provider, "the answer holds no scores")
    scores: dict[int, float] = {}
    for result in results:
        row = result if isinstance(result, Mapping) else {}
        place, score = row.get("index"), row.get("relevance_score", row.get("score"))
        if type(place) is not int or not 0 <= place < count or place in scores or not _is_number(score):
            raise ProviderError(provider, "the answer holds a result without a place or a score of its own")
        scores[place] = float(score)
    if len(scores) < count:
        raise ProviderError(provider, f"the answer leaves out {count - len(scores)} of {count} texts")
    return [scores[place] for place in range(count)]


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def load(spec: Spec) -> RemoteReranker:
    """Make a reranker of a service in the table. Raises ConfigError, ProviderError."""
    return RemoteReranker(spec, services.reranking(spec.provider))


# --- a reranker as a search sees it --------------------------------------------------------------------

_AROUND = 8  # tokens that a tokenizer may put around a pair, generously


class GuardedReranker:
    """Scores what the cache does not know, unless the provider is left alone or a cap would be passed.

    A blank text scores 0 without a request; so does every text where
    the question is blank.
    """

    def __init__(
        self,
        inner: Reranker,
        *,
        store: Store[float] | None = None,
        breaker: Breaker | None = None,
        budget: Budget | None = None,
        trial: bool = False,
        timeout_s: float = 5.0,
    ) -> None:
        """Wrap a reranker; the breaker lets a `trial` through, `timeout_s` bounds a call."""
        self.inner, self.name = inner, inner.name
        self.breaker_name: str = getattr(inner, "breaker_name", inner.name)
        self._timeout_s = timeout_s
        provider, _, model = inner.name.partition(":")
        self._guard: Guard[str, float] = Guard(
            provider,
            model,
            fingerprint=getattr(inner, "fingerprint", inner.name),
            store=store,
            breaker=breaker,
            breaker_name=self.breaker_name,
            budget=budget,
            trial=trial,
        )

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        asked = [text for text in dict.fromkeys(texts) if text.strip()] if question.strip() else []

        def size(text: str) -> int:
            return _tokens(question, [text])

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
        if not isinstance(self.inner, RemoteReranker):
            return self.inner.score(question, texts)

        def watched(question: str, texts: Sequence[str]) -> AbstractContextManager[Call]:
            asked = len(question.encode("utf-8", "replace"))
            most = sum(len(text.encode("utf-8", "replace")) + asked + _AROUND for text in texts)
            return self._guard.request(purpose, _tokens(question, texts), most, self._timeout_s)

        return self.inner.score(question, texts, watched)


def _tokens(question: str, texts: Sequence[str]) -> int:
    """About how many tokens a request has: the question is read with every text."""
    return sum(map(packing.tokens, texts)) + len(texts) * packing.tokens(question)
