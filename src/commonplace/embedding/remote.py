"""A model behind HTTP, whoever provides it: texts prepared, packed, asked for side by side, answers checked.

A provider is a `Service`: what its requests and answers look like, and its limits, as data. Making a model
touches no network; its vectors' length is what was configured, or what its first answer has.
"""

from __future__ import annotations

import hashlib
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from commonplace.config import credentials
from commonplace.config.credentials import Secret
from commonplace.deadline import Deadline
from commonplace.embedding import families, packing, registry, vectors
from commonplace.embedding.base import Kind, Spec
from commonplace.embedding.packing import Limits
from commonplace.embedding.vectors import NoVector
from commonplace.errors import ProviderError
from commonplace.refusals import TooLarge
from commonplace.transport import ATTEMPTS, Endpoint

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

# Providers refuse an input without text; what stands for it carries no meaning either.
BLANK = "-"
_TICK_S = 0.2
# Somebody waits for a question; full text answers without it.
_ATTEMPTS: dict[Kind, int] = {"query": 3, "passage": ATTEMPTS}


@dataclass(frozen=True, slots=True)
class Call:
    """What one request asks for; `dimensions` is None unless shorter vectors are wanted."""

    model: str
    inputs: Sequence[str]
    kind: Kind
    dimensions: int | None


@dataclass(slots=True)
class Answer:
    """What a request brought, written down as it becomes known: tokens as counted there, (n, d) unit rows."""

    tokens: int | None = None
    rows: Floats | None = None


class Watcher(Protocol):
    """Who is told of every request of a call, in the thread that makes it."""

    def request(self, inputs: Sequence[str], *, batched: bool = False) -> AbstractContextManager[Answer]:
        """Around one request, or the start of a batch. Raises what refuses it, which ends the call."""


class Unwatched:
    """A watcher that looks away."""

    @contextmanager
    def request(self, inputs: Sequence[str], *, batched: bool = False) -> Iterator[Answer]:
        """Around one request."""
        yield Answer()


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `path` and `body` make a request, `vectors` takes the vectors out of its answer.

    A vector is a list of numbers or, as OpenAI may send it, base64 of little-endian float32. `header` and
    `scheme` say how the key travels. `usage` reads how many tokens an answer says it took, None where it does
    not. `placed` adds the address to the identity of a model, where a name alone
    does not say which model it is.
    """

    name: str
    path: Callable[[Call], str]
    body: Callable[[Call], dict[str, object]]
    vectors: Callable[[object], Sequence[object]]
    limits: Limits
    header: str = "Authorization"
    scheme: str = "Bearer "
    key_needed: bool = True
    placed: bool = False
    usage: Callable[[object], int | None] = lambda answer: None


UNWATCHED = Unwatched()
_PLACE = r"(?:@(?:\[[^\]\s]+\]|[^:\s]+)(?::\d+)?)?"
_FINGERPRINT = re.compile(
    rf"(?P<provider>\w+)-1{_PLACE}:(?P<model>[^\s@]+):(?P<size>\d{{1,5}}|full):[0-9a-f]{{12}}"
)


def count_at(*names: str) -> Callable[[object], int | None]:
    """Return what reads the number of tokens at a place of an answer, None where there is none.

    A zero is none: no text has no tokens, and some servers put it where they have not counted.
    """

    def read(answer: object) -> int | None:
        for name in names:
            answer = answer.get(name) if isinstance(answer, dict) else None
        return answer if isinstance(answer, int) and not isinstance(answer, bool) and answer > 0 else None

    return read


class RemoteEmbedder:
    """A model of a provider; safe to call from several threads.

    Passage requests of all threads share the provider's limit on how many are under way; a question is asked
    at once.
    """

    def __init__(self, spec: Spec, service: Service) -> None:
        """Prepare, without a request. Raises ProviderError if key, model or a fit address is missing."""
        row = registry.find(service.name)
        self.model = spec.model or row.model
        self.service = service
        self._spec = spec
        key = _key(spec, row, needed=service.key_needed)
        base_url = spec.base_url or row.base_url
        if not self.model or not base_url:
            missing = "model" if base_url else "base_url"
            raise ProviderError(service.name, f"no {missing}: set embedding.{missing}", permanent=True)
        self.endpoint = Endpoint(service.name, base_url, key, header=service.header, scheme=service.scheme)
        self.family = families.find(self.model)
        self.input_tokens = min(self.family.max_tokens, service.limits.input_tokens)
        self._turns = threading.BoundedSemaphore(service.limits.concurrency)
        self._lock = threading.Lock()
        self._learned = spec.dimensions or 0

    @property
    def name(self) -> str:
        """Model and provider."""
        return f"{self.model} ({self.service.name})"

    @property
    def scripts(self) -> frozenset[str]:
        """What the model's family was trained on."""
        return self.family.scripts

    @property
    def dimensions(self) -> int:
        """Length of a vector: configured, seen, known of the family, or else asked for now.

        Only an unknown model that was never called makes a request here. Raises ProviderError.
        """
        if not self._known_dimensions():
            self.embed([BLANK], "query")
        return self._known_dimensions()

    @property
    def requested_dimensions(self) -> int | None:
        """What was asked for; None for vectors as the model makes them."""
        return self._spec.dimensions

    @property
    def fingerprint(self) -> str:
        """Provider, model, asked-for dimensions, and a digest of how texts are prepared.

        Not the address: the same model elsewhere gives the same vectors. Where a server's name for a model
        says little, its host and port are in (`Service.placed`). The key is not.
        """
        model = self.model.removeprefix("models/").removesuffix(":latest")
        place = f"@{self.endpoint.origin.partition('://')[2]}" if self.service.placed else ""
        prepared = repr((self.family.query, self.family.passage, self.input_tokens, packing.RULE, BLANK))
        digest = hashlib.sha256(prepared.encode()).hexdigest()[:12]
        shorter = self._spec.dimensions not in (None, self.family.dimensions)
        size = self._spec.dimensions if shorter else "full"
        return f"{self.service.name}-1{place}:{model}:{size}:{digest}"

    def embed(self, texts: Sequence[str], kind: Kind, watcher: Watcher = UNWATCHED) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows before the deadline of their kind.

        Raises ProviderError; then no vector of the call is returned, and the watcher alone knows of those
        that came.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self._known_dimensions()), np.float32)
        return self.embed_prepared([self.prepare(text, kind) for text in texts], kind, watcher)

    def embed_prepared(self, inputs: Sequence[str], kind: Kind, watcher: Watcher = UNWATCHED) -> Floats:
        """Embed what `prepare` made of texts, one at least; otherwise as `embed`."""
        import numpy as np

        groups = list(packing.pack(map(packing.tokens, inputs), self.service.limits))
        requests = [inputs[group.start : group.stop] for group in groups]
        if kind == "query":
            deadline = Deadline(self._spec.query_deadline_s)
            return np.concatenate([self._fetch(request, kind, deadline, watcher) for request in requests])
        return np.concatenate(self._side_by_side(requests, Deadline(self._spec.deadline_s), watcher))

    def prepare(self, text: str, kind: Kind) -> str:
        """Return what is sent for a text: its prefix, and as much of it as the model takes."""
        prefix = self.family.prefix(kind)
        text = text.encode("utf-8", "replace").decode("utf-8") if not text.isascii() else text
        return prefix + packing.cut(
            text if text.strip() else BLANK, self.input_tokens - packing.tokens(prefix)
        )

    def close(self) -> None:
        """Close the connections that are kept."""
        self.endpoint.close()

    def _side_by_side(
        self, requests: Sequence[Sequence[str]], deadline: Deadline, watcher: Watcher
    ) -> list[Floats]:
        """Several requests for passages at a time, rows in order; the first that fails ends the others."""
        workers = min(self.service.limits.concurrency, len(requests))
        if workers == 1:
            return [self._take_turn(request, deadline, watcher) for request in requests]
        with ThreadPoolExecutor(workers, "commonplace-embed") as pool:
            futures = [pool.submit(self._take_turn, request, deadline, watcher) for request in requests]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                deadline.end()
                for future in futures:
                    future.cancel()
                raise
            return [future.result() for future in futures]

    def _take_turn(self, inputs: Sequence[str], deadline: Deadline, watcher: Watcher) -> Floats:
        while not self._turns.acquire(timeout=min(_TICK_S, deadline.left_s())):
            if not deadline.left_s():
                raise ProviderError(self.service.name, "too many requests were under way before this one")
        try:
            return self._fetch(inputs, "passage", deadline, watcher)
        finally:
            self._turns.release()

    def _fetch(self, inputs: Sequence[str], kind: Kind, deadline: Deadline, watcher: Watcher) -> Floats:
        """One request; where it is too long for the server, two smaller ones, and then shorter texts.

        Some models give no number for some texts (Ollama and bge-m3): such a text is asked for by itself, and
        then a part of it, so that it does not cost the others theirs.
        """
        import numpy as np

        try:
            return self._request(inputs, kind, deadline, watcher)
        except TooLarge as error:
            if len(inputs) == 1:
                return self._fetch([self._shorter(inputs[0], kind, error)], kind, deadline, watcher)
            halves = packing.parts(inputs)
            return np.concatenate([self._fetch(half, kind, deadline, watcher) for half in halves])
        except NoVector as error:
            if len(error.places) == len(inputs) > 1:
                raise  # nothing is wrong with the texts
            for place in error.places:
                shorter = self._shorter(inputs[place], kind, error)
                error.rows[place] = self._fetch([shorter], kind, deadline, watcher)[0]
            return error.rows

    def _shorter(self, text: str, kind: Kind, refused: ProviderError) -> str:
        """About half of a prepared text. Raises why it was refused when it is too short for that."""
        prefix = self.family.prefix(kind)
        part = packing.halve(text.removeprefix(prefix))
        if not part:
            raise refused
        return prefix + part

    def _request(self, inputs: Sequence[str], kind: Kind, deadline: Deadline, watcher: Watcher) -> Floats:
        call = Call(self.model, inputs, kind, self._spec.dimensions)
        path, body = self.service.path(call), self.service.body(call)
        with watcher.request(inputs) as answer:
            got = self.endpoint.post(path, body, deadline, attempts=_ATTEMPTS[kind])
            answer.tokens = self.service.usage(got)
            answer.rows = self.rows(got, len(inputs))
        return answer.rows

    def rows(self, answer: object, count: int) -> Floats:
        """Take (count, dimensions) float32 unit rows out of an answer. Raises ProviderError."""
        try:
            found = list(self.service.vectors(answer))
        except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
            raise ProviderError(self.service.name, "the answer holds no vectors") from error
        return self.checked(found, count)

    def checked(self, found: Sequence[object], count: int) -> Floats:
        """Make (count, dimensions) float32 unit rows of vectors, all of one length. Raises ProviderError."""
        try:
            rows = vectors.unit_rows(self.service.name, found, count)
        except NoVector as error:
            self._agree(error.rows)
            raise
        self._agree(rows)
        return rows

    def _agree(self, rows: Floats) -> None:
        """Learn the length of vectors from the first, and hold the others to it. Raises ProviderError."""
        with self._lock:
            self._learned = self._learned or rows.shape[1]
        vectors.check_dimensions(self.service.name, rows, self._learned)

    def _known_dimensions(self) -> int:
        return self._learned or self.family.dimensions


def at_same_place(spec: Spec, fingerprint: str) -> Spec | None:
    """Return a specification of the model that a fingerprint tells of, if it is one of the same provider.

    Address and key stay those of `spec`. An address in the fingerprint is not looked at; who uses the model
    compares its fingerprint.
    """
    found = _FINGERPRINT.fullmatch(fingerprint)
    if found is None or found["provider"] != spec.provider:
        return None
    size = found["size"]
    return replace(spec, model=found["model"], dimensions=None if size == "full" else int(size))


def _key(spec: Spec, row: registry.Provider, *, needed: bool) -> Secret:
    """The key as configured, or that of the environment, which goes to the provider's own address only."""
    key = credentials.at_address(spec.key, row.keys, spec.base_url, row.base_url)
    if needed and not key and credentials.is_own(spec.base_url, row.base_url):
        raise ProviderError(row.name, f"no key: set {' or '.join(row.keys)}", permanent=True)
    return key
