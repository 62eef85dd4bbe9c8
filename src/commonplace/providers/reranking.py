"""Models that read a question and a text together and say how well the one answers the other.

A reranker behind HTTP, of any provider: texts cut and packed, asked for, scores put in their places.

A provider is a `Service`: what its requests and answers look like, and its limits, as data. Making a
reranker touches no network.

Cohere: docs.cohere.com/reference/rerank (version 2). Jina AI: api.jina.ai/docs. Voyage AI:
docs.voyageai.com/reference/reranker-api. llama.cpp, vLLM, Infinity and others speak Jina's language;
text-embeddings-inference one of its own (huggingface.github.io/text-embeddings-inference).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import packing
from commonplace.providers.cache import score_key
from commonplace.providers.catalog import RERANKERS, Reranker, Spec
from commonplace.providers.guard import Call, Guard, Store, Watcher, count_at, unwatched
from commonplace.providers.http import Endpoint
from commonplace.providers.packing import Limits
from commonplace.providers.refusals import TooLarge, says

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


@dataclass(frozen=True, slots=True)
class Pairs:
    """What one request asks for."""

    model: str
    question: str
    texts: Sequence[str]

    @property
    def tokens(self) -> int:
        """About how many tokens it is: the question is read with every text."""
        return sum(map(packing.tokens, self.texts)) + len(self.texts) * packing.tokens(self.question)


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `body` makes a request, `results` takes the list of results out of its answer.

    `otherwise` makes the request of a server that does not take the first kind: its refusal names the
    `field` that it misses. `usage` reads how many tokens an answer says it took, None where it does not.
    """

    name: str
    body: Callable[[Pairs], dict[str, object]]
    results: Callable[[object], object]
    limits: Limits
    usage: Callable[[object], int | None]
    otherwise: Callable[[Pairs], dict[str, object]] | None = None
    field: str = ""


class RemoteReranker:
    """A reranker of a provider; safe to call from several threads."""

    def __init__(self, spec: Spec, service: Service) -> None:
        """Prepare, without a request. Raises ConfigError, ProviderError without a key or a fit address."""
        row = RERANKERS.find(service.name)
        self.service = service
        self.model = spec.model or row.model
        base_url = (spec.base_url or row.base_url).strip().rstrip("/")
        if not base_url:
            message = f"{service.name} needs one; set it in your own config.toml"
            raise ConfigError("reranking.base_url", message)
        self.key = RERANKERS.needed_key(spec)
        self.endpoint = Endpoint(service.name, base_url.removesuffix("/rerank"), self.key)
        self.close = self.endpoint.close
        self.name = f"{service.name}:{self.model or self.endpoint.origin.partition('://')[2]}"
        # It changes with anything that changes a score: a server's name for a model may say little.
        self.fingerprint = f"{self.name}@{self.endpoint.base_url}"
        self._timeout_s = spec.query_deadline_s
        self._otherwise = False  # whether the server takes the other kind of request, once it has said so
        self._logits = False  # whether it was seen to give logits: then a score inside 0 to 1 is one too

    def score(self, question: str, texts: Sequence[str], watcher: Watcher = unwatched) -> list[float]:
        """Return the scores of texts before the deadline. Raises ProviderError; then none is returned."""
        deadline = Deadline(self._timeout_s)
        service, limits = self.service, self.service.limits
        question = packing.cut(packing.clean(question), limits.input_tokens // 2)
        asked = packing.tokens(question)
        cut = [packing.cut(packing.clean(text), limits.input_tokens - asked) for text in texts]

        def post(pairs: Pairs) -> list[float]:
            body = service.otherwise if service.otherwise and self._otherwise else service.body
            with watcher(pairs) as request:
                answer = self.endpoint.post("rerank", body(pairs), deadline, attempts=_ATTEMPTS)
                request.tokens = service.usage(answer)
                return placed(service.name, service.results(answer), len(pairs.texts))

        def ask(texts: Sequence[str]) -> list[float]:
            pairs = Pairs(self.model, question, texts)
            try:
                return post(pairs)
            except ProviderError as error:
                known = self._otherwise or service.otherwise is None or error.status not in _REFUSED
                if known or isinstance(error, TooLarge) or not says(str(error), [f" {service.field} "]):
                    raise
            # The server asks for the other kind of request, and gets it from now on if that is understood.
            self._otherwise = True
            try:
                return post(pairs)
            except ProviderError as error:
                self._otherwise = isinstance(error, TooLarge)  # that is about the texts: the kind was right
                raise

        scores: list[float] = []
        for group in packing.pack([packing.tokens(text) + asked for text in cut], limits):
            scores += packing.ask_in_parts(ask, cut[group.start : group.stop], packing.halve)
        self._logits = self._logits or are_logits(scores)
        return bounded(scores, logits=self._logits)


def are_logits(scores: Iterable[float]) -> bool:
    """Whether scores are no probabilities: one at least lies outside 0 to 1."""
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
        if not (_is_number(score) and isinstance(place, int) and not isinstance(place, bool)):
            raise ProviderError(provider, "the answer holds a result without a place or a score")
        if not 0 <= place < count:
            raise ProviderError(provider, f"the answer scores text {place} of {count}, which was not sent")
        if place in scores:
            raise ProviderError(provider, f"the answer scores text {place} twice")
        scores[place] = float(score)
    if len(scores) < count:
        raise ProviderError(provider, f"the answer leaves out {count - len(scores)} of {count} texts")
    return [scores[place] for place in range(count)]


def _is_number(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # an integer beyond any float
        return False


def _documents(pairs: Pairs, limit: str = "top_n") -> dict[str, object]:
    model: dict[str, object] = {"model": pairs.model} if pairs.model else {}
    texts = list(pairs.texts)
    return model | {"query": pairs.question, "documents": texts, limit: len(texts)}


def _listed(answer: object) -> object:
    """The results of an answer: `results`, as most call them, `data`, or the answer itself."""
    if isinstance(answer, dict):
        return answer.get("results", answer.get("data"))
    return answer


_ROWS = (
    # 10,000 documents, and 4096 tokens of each where a request does not ask for more; from 100 documents on a
    # request counts as two searches, so it makes no difference how they are packed.
    Service(
        "cohere",
        _documents,
        _listed,
        Limits(inputs=100, tokens=400_000, input_tokens=4000),
        usage=count_at("meta", "tokens", "input_tokens"),
    ),
    # Version 3 reads up to 64 documents in one context of 131,000 tokens; the others take more.
    Service(
        "jina",
        lambda pairs: _documents(pairs) | {"return_documents": False},
        _listed,
        Limits(inputs=64, tokens=64_000, input_tokens=4000),
        usage=count_at("usage", "total_tokens"),
    ),
    # 1000 documents and 600,000 tokens, the question counted with each; the smallest model takes half.
    Service(
        "voyage",
        partial(_documents, limit="top_k"),
        _listed,
        Limits(inputs=1000, tokens=200_000, input_tokens=4000),
        usage=count_at("usage", "total_tokens"),
    ),
    # 32 texts are what text-embeddings-inference takes unless its owner says otherwise.
    Service(
        "compatible",
        _documents,
        _listed,
        Limits(inputs=32, tokens=32_000, input_tokens=4000),
        otherwise=lambda pairs: {"query": pairs.question, "texts": list(pairs.texts), "truncate": True},
        field="texts",
        usage=count_at("usage", "total_tokens"),
    ),
)
SERVICES = {row.name: row for row in _ROWS}


def load(spec: Spec) -> RemoteReranker:
    """Make a reranker of a service in the table. Raises ConfigError, ProviderError."""
    return RemoteReranker(spec, SERVICES[spec.provider])


# --- a reranker as a search sees it --------------------------------------------------------------------

_AROUND = 8  # tokens that a tokenizer may put around a pair, generously


class GuardedReranker:
    """Scores what the cache does not know, unless the provider is left alone or a cap would be passed.

    A blank text answers nothing: it scores 0 without a request; so does every text where
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
        if not isinstance(self.inner, RemoteReranker):
            return self.inner.score(question, texts)

        def watched(pairs: Pairs) -> AbstractContextManager[Call]:
            asked = len(pairs.question.encode("utf-8", "replace"))
            most = sum(len(text.encode("utf-8", "replace")) + asked + _AROUND for text in pairs.texts)
            return self._guard.request(purpose, pairs.tokens, most, self._timeout_s)

        return self.inner.score(question, texts, watched)
