"""A reranker behind HTTP, whoever provides it: texts cut and packed, asked for, scores put in their places.

A provider is a `Service`: what its requests and answers look like, and its limits, as data. Making a
reranker touches no network.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from commonplace.config import credentials
from commonplace.deadline import Deadline
from commonplace.embedding import packing
from commonplace.embedding.packing import Limits
from commonplace.errors import ConfigError, ProviderError
from commonplace.refusals import TooLarge
from commonplace.reranking import registry, scores
from commonplace.reranking.base import Spec
from commonplace.transport import Endpoint

_ATTEMPTS = 3  # somebody waits, and there is an order without us
_REFUSED = frozenset({400, 422})


@dataclass(frozen=True, slots=True)
class Call:
    """What one request asks for."""

    model: str
    question: str
    texts: Sequence[str]

    @property
    def tokens(self) -> int:
        """About how many tokens it is: the question is read with every text."""
        return sum(map(packing.tokens, self.texts)) + len(self.texts) * packing.tokens(self.question)


@dataclass(slots=True)
class Answer:
    """What a request brought, written down as it becomes known: tokens as counted there."""

    tokens: int | None = None


class Watcher(Protocol):
    """Who is told of every request of a call."""

    def request(self, call: Call) -> AbstractContextManager[Answer]:
        """Around one request. Raises what refuses it, which ends the call."""


class Unwatched:
    """A watcher that looks away."""

    @contextmanager
    def request(self, call: Call) -> Iterator[Answer]:
        """Around one request."""
        yield Answer()


UNWATCHED = Unwatched()


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `body` makes a request, `results` takes the list of results out of its answer.

    `otherwise` makes the request of a server that does not take the first kind, which it tells by naming
    `wanted`. `usage` reads how many tokens an answer says it took, None where it does not.
    """

    name: str
    body: Callable[[Call], dict[str, object]]
    results: Callable[[object], object]
    limits: Limits
    key_needed: bool = True
    otherwise: Callable[[Call], dict[str, object]] | None = None
    wanted: str = ""
    usage: Callable[[object], int | None] = lambda answer: None


class RemoteReranker:
    """A reranker of a provider; safe to call from several threads."""

    def __init__(self, spec: Spec, service: Service) -> None:
        """Prepare, without a request. Raises ConfigError, ProviderError without a key or a fit address."""
        row = registry.find(service.name)
        self.service = service
        self.model = spec.model or row.model
        base_url = (spec.base_url or row.base_url).strip().rstrip("/")
        if not base_url:
            told = f"{service.name} needs one; set it in your own config.toml"
            raise ConfigError("reranking.base_url", told)
        self.key = credentials.at_address(spec.key, row.keys, spec.base_url, row.base_url)
        if service.key_needed and not self.key and credentials.is_own(spec.base_url, row.base_url):
            raise ProviderError(service.name, f"no key: set {' or '.join(row.keys)}", permanent=True)
        self.endpoint = Endpoint(service.name, base_url.removesuffix("/rerank"), self.key)
        self.name = f"{service.name}:{self.model or self.endpoint.origin.partition('://')[2]}"
        self._timeout_s = spec.timeout_s
        self._otherwise = False  # whether the server takes the other kind of request, once it has said so
        self._logits = False  # whether it was seen to give logits: then a score inside 0 to 1 is one too

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a score: a server's name for a model may say little."""
        return f"{self.name}@{self.endpoint.base_url}"

    def score(self, question: str, texts: Sequence[str], watcher: Watcher = UNWATCHED) -> list[float]:
        """Return the scores of texts before the deadline. Raises ProviderError; then none is returned."""
        deadline = Deadline(self._timeout_s)
        limits = self.service.limits
        question = packing.cut(_clean(question), limits.input_tokens // 2)
        room = limits.input_tokens - packing.tokens(question)
        cut = [packing.cut(_clean(text), room) for text in texts]
        sizes = [packing.tokens(text) + packing.tokens(question) for text in cut]
        found: list[float] = []
        for group in packing.pack(sizes, limits):
            call = Call(self.model, question, cut[group.start : group.stop])
            found += self._fetch(call, deadline, watcher)
        self._logits = self._logits or scores.are_logits(found)
        return scores.bounded(found, logits=self._logits)

    def close(self) -> None:
        """Close the connections that are kept."""
        self.endpoint.close()

    def _fetch(self, call: Call, deadline: Deadline, watcher: Watcher) -> list[float]:
        """One request; where it is too long for the server, two smaller ones, and then a shorter text."""
        try:
            return self._conceding(call, deadline, watcher)
        except TooLarge:
            if len(call.texts) == 1:
                shorter = packing.halve(call.texts[0])
                if not shorter:
                    raise
                return self._fetch(Call(call.model, call.question, [shorter]), deadline, watcher)
            first, second = (Call(call.model, call.question, half) for half in packing.parts(call.texts))
            return self._fetch(first, deadline, watcher) + self._fetch(second, deadline, watcher)

    def _conceding(self, call: Call, deadline: Deadline, watcher: Watcher) -> list[float]:
        """Ask, and where the server wants the other kind of request, ask in that way from now on."""
        other = self.service.otherwise
        if other is None or self._otherwise:
            return self._request(call, other or self.service.body, deadline, watcher)
        try:
            return self._request(call, self.service.body, deadline, watcher)
        except ProviderError as error:
            if error.status not in _REFUSED or not re.search(self.service.wanted, str(error)):
                raise
        try:
            found = self._request(call, other, deadline, watcher)
        except TooLarge:  # which is about the texts: the kind was right
            self._otherwise = True
            raise
        self._otherwise = True
        return found

    def _request(
        self,
        call: Call,
        body: Callable[[Call], dict[str, object]],
        deadline: Deadline,
        watcher: Watcher,
    ) -> list[float]:
        with watcher.request(call) as answer:
            got = self.endpoint.post("rerank", body(call), deadline, attempts=_ATTEMPTS)
            answer.tokens = self.service.usage(got)
            return scores.placed(self.service.name, self.service.results(got), len(call.texts))


def _clean(text: str) -> str:
    """A text that JSON can hold: half a surrogate pair is none."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
