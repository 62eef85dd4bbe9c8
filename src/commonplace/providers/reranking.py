"""Rerankers: models that read a question and a text together and score how well the text answers it.

A reranker behind HTTP cuts and packs texts, and puts the scores of an answer into their places. Servers
speak Jina's protocol: llama.cpp, vLLM, Infinity and others.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import packing, services
from commonplace.providers.catalog import RERANKERS, Spec
from commonplace.providers.guard import Guard, ModelCall, Watcher, unwatched
from commonplace.providers.http import as_dict

_ATTEMPTS = 3  # somebody waits, and there is an order without a reranker
_ROUNDED = 1e-6  # a probability that was rounded may lie so far outside 0 to 1
_AROUND = 8  # tokens that a tokenizer may put around a pair, generously


def sigmoid(logit: float) -> float:
    """Return the probability that a logit stands for."""
    return 1.0 / (1.0 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1.0 + math.exp(logit))


class RemoteReranker:
    """A reranker of a service; safe to call from several threads."""

    def __init__(self, spec: Spec) -> None:
        """Prepare, without a request. Raises ConfigError, ProviderError without a key or a fit address."""
        self.service = service = services.reranking(spec.provider)
        self.model, self.endpoint = RERANKERS.connect(spec, needs_model=False)
        self.close = self.endpoint.close
        self.name = f"{service.name}:{self.model or self.endpoint.origin.partition('://')[2]}"
        self._timeout_s = spec.query_deadline_s
        self._logits = False  # whether it was seen to give logits: then a score inside 0 to 1 is one too

    def score(self, question: str, texts: Sequence[str], watcher: Watcher = unwatched) -> list[float]:
        """Return the scores of texts before the deadline. Raises ProviderError if one is missing."""
        deadline, most = Deadline(self._timeout_s), self.service.input_tokens
        question = packing.cut(packing.clean(question), most // 2)
        asked = packing.tokens(question)
        cut = [packing.cut(packing.clean(text), most - asked) for text in texts]

        def ask(texts: Sequence[str]) -> list[float]:
            body = {"query": question, "documents": list(texts), self.service.limit: len(texts)}
            if self.model:
                body["model"] = self.model
            with watcher(question, texts) as request:
                body |= self.service.extra
                answer = self.endpoint.post("rerank", body, deadline, attempts=_ATTEMPTS)
                request.tokens = self.service.usage(answer)
                results = as_dict(answer).get("results", as_dict(answer).get("data"))
                return placed(self.service.name, results, len(texts))

        scores: list[float] = []
        sizes = [packing.tokens(text) + asked for text in cut]
        for group in packing.pack(sizes, self.service.inputs, self.service.tokens):
            scores += packing.ask_in_parts(ask, cut[group.start : group.stop], packing.halve)
        self._logits = self._logits or any(not -_ROUNDED <= score <= 1 + _ROUNDED for score in scores)
        return [sigmoid(score) if self._logits else min(1.0, max(0.0, score)) for score in scores]


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
        is_number = type(score) in (int, float) and abs(score) <= sys.float_info.max
        if type(place) is not int or not 0 <= place < count or place in scores or not is_number:
            raise ProviderError(provider, "the answer holds a result without a place or a score of its own")
        scores[place] = float(score)
    if len(scores) < count:
        raise ProviderError(provider, f"the answer leaves out {count - len(scores)} of {count} texts")
    return [scores[place] for place in range(count)]


class GuardedReranker(Guard):
    """A reranker as a search sees it, unless a cap would be passed.

    A blank text scores 0 without a request; so does every text where the question is blank.
    """

    timeout_s = 5.0  # of a call

    def score(self, question: str, texts: Sequence[str], purpose: str = "rerank") -> list[float]:
        """Return the scores of texts. Raises ProviderError, BudgetExceeded, MissingExtra, ConfigError."""
        asked = [text for text in dict.fromkeys(texts) if text.strip()] if question.strip() else []

        def watched(question: str, texts: Sequence[str]) -> AbstractContextManager[ModelCall]:
            around = len(question.encode("utf-8", "replace")) + _AROUND
            most = sum(len(text.encode("utf-8", "replace")) + around for text in texts)
            # The question is read with every text.
            about = sum(map(packing.tokens, texts)) + len(texts) * packing.tokens(question)
            return self.request(purpose, about, most, self.timeout_s)

        scores: list[float] = []
        if asked:
            with self.asking():
                watching = (watched,) if isinstance(self.inner, RemoteReranker) else ()
                scores = self.inner.score(question, asked, *watching)
        known = dict(zip(asked, scores, strict=True))
        return [known.get(text, 0.0) for text in texts]
