"""A model behind HTTP, whoever provides it: texts prepared, packed, asked for side by side, answers checked.

A provider is a `Service`: what its requests and answers look like, and its limits, as data. Making a model
touches no network; its vectors' length is what was configured, or what its first answer has.
"""

from __future__ import annotations

import base64
import hashlib
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import packing
from commonplace.providers.attempts import ATTEMPTS
from commonplace.providers.catalog import EMBEDDERS
from commonplace.providers.embedding import families
from commonplace.providers.embedding.base import Kind
from commonplace.providers.guard import Watcher, unwatched
from commonplace.providers.http import Endpoint
from commonplace.providers.packing import Limits
from commonplace.providers.refusals import TooLarge
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

MAX_DIMENSIONS = 65_536
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


@dataclass(frozen=True, slots=True)
class Service:
    """A provider's API. `path` and `body` make a request, `vectors` takes the vectors out of its answer.

    A vector is a list of numbers or, as OpenAI may send it, base64 of little-endian float32. `header` and
    `scheme` say how the key travels. `usage` reads how many tokens an answer says it took, None where it does
    not. `placed` adds the address to the identity of a model, where a name alone does not say which it is.
    """

    name: str
    path: Callable[[Call], str]
    body: Callable[[Call], dict[str, object]]
    vectors: Callable[[Any], Sequence[object]]
    limits: Limits
    header: str = "Authorization"
    scheme: str = "Bearer "
    placed: bool = False
    usage: Callable[[object], int | None] = lambda answer: None


# `openai-1:text-embedding-3-small:full:0123456789ab`, with `@host:port` behind the provider of some.
_FINGERPRINT = re.compile(
    r"(?P<provider>\w+)-1(?:@(?P<place>(?:\[[^\]\s]+\]|[^:\s]+)(?::\d+)?))?"
    r":(?P<model>\S+):(?P<size>\d{1,5}|full):[0-9a-f]{12}"
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
        row = EMBEDDERS.find(service.name)
        self.model = spec.model or row.model
        self.service = service
        self._spec = spec
        key = EMBEDDERS.needed_key(spec)
        base_url = spec.base_url or row.base_url
        if not self.model or not base_url:
            missing = "model" if base_url else "base_url"
            raise ProviderError(service.name, f"no {missing}: set embedding.{missing}", permanent=True)
        self.endpoint = Endpoint(service.name, base_url, key, header=service.header, scheme=service.scheme)
        self.name = f"{self.model} ({service.name})"
        self.family = families.find(self.model)
        self.scripts = self.family.scripts
        self.input_tokens = min(self.family.max_tokens, service.limits.input_tokens)
        self._turns = threading.BoundedSemaphore(service.limits.concurrency)
        self._lock = threading.Lock()
        self.requested_dimensions = spec.dimensions  # None for vectors as the model makes them
        self._learned = spec.dimensions or 0

    @property
    def dimensions(self) -> int:
        """Length of a vector: configured, seen, known of the family, or else asked for now.

        Only an unknown model that was never called makes a request here. Raises ProviderError.
        """
        if not (self._learned or self.family.dimensions):
            self.embed([BLANK], "query")
        return self._learned or self.family.dimensions

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

    def embed(self, texts: Sequence[str], kind: Kind, watcher: Watcher = unwatched) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows before the deadline of their kind.

        Raises ProviderError; then no vector of the call is returned, and the watcher alone knows of those
        that came.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self._learned or self.family.dimensions), np.float32)
        return self.embed_prepared([self.prepare(text, kind) for text in texts], kind, watcher)

    def embed_prepared(self, inputs: Sequence[str], kind: Kind, watcher: Watcher = unwatched) -> Floats:
        """Embed what `prepare` made of texts, one at least; otherwise as `embed`."""
        import numpy as np

        groups = packing.pack(map(packing.tokens, inputs), self.service.limits)
        requests = [inputs[group.start : group.stop] for group in groups]
        if kind == "query":
            deadline = Deadline(self._spec.query_deadline_s)
            return np.concatenate([self._fetch(request, kind, deadline, watcher) for request in requests])
        deadline = Deadline(self._spec.deadline_s)

        def take_turn(request: Sequence[str]) -> Floats:
            while not self._turns.acquire(timeout=min(_TICK_S, deadline.left_s())):
                if not deadline.left_s():
                    message = "too many requests were under way before this one"
                    raise ProviderError(self.service.name, message)
            try:
                return self._fetch(request, kind, deadline, watcher)
            finally:
                self._turns.release()

        if len(requests) == 1:
            return take_turn(requests[0])
        # Several at a time, rows in order; the first that fails ends the others.
        workers = min(self.service.limits.concurrency, len(requests))
        with ThreadPoolExecutor(workers, "commonplace-embed") as pool:
            futures = [pool.submit(take_turn, request) for request in requests]
            try:
                for future in as_completed(futures):
                    future.result()
            except BaseException:
                deadline.end()
                for future in futures:
                    future.cancel()
                raise
            return np.concatenate([future.result() for future in futures])

    def prepare(self, text: str, kind: Kind) -> str:
        """Return what is sent for a text: its prefix, and as much of it as the model takes."""
        prefix = self.family.prefix(kind)
        text = packing.clean(text) if text.strip() else BLANK
        return prefix + packing.cut(text, self.input_tokens - packing.tokens(prefix))

    def close(self) -> None:
        """Close the connections that are kept."""
        self.endpoint.close()

    def _fetch(self, inputs: Sequence[str], kind: Kind, deadline: Deadline, watcher: Watcher) -> Floats:
        """One request; where it is too long for the server, two smaller ones, and then shorter texts.

        Some models give no number for some texts (Ollama and bge-m3): such a text is asked for by itself, and
        then a part of it, so that it does not cost the others theirs.
        """
        import numpy as np

        call = Call(self.model, inputs, kind, self._spec.dimensions)
        path, body, prefix = self.service.path(call), self.service.body(call), self.family.prefix(kind)

        def shorter(text: str, refused: ProviderError) -> str:
            part = packing.halve(text.removeprefix(prefix))
            if not part:
                raise refused
            return prefix + part

        try:
            with watcher(inputs) as request:
                answer = self.endpoint.post(path, body, deadline, attempts=_ATTEMPTS[kind])
                request.tokens = self.service.usage(answer)
                try:
                    found = list(self.service.vectors(answer))
                except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
                    raise ProviderError(self.service.name, "the answer holds no vectors") from error
                request.answer = rows = self.checked(found, len(inputs))
            return rows
        except TooLarge as error:
            if len(inputs) == 1:
                return self._fetch([shorter(inputs[0], error)], kind, deadline, watcher)
            halves = packing.parts(inputs)
            return np.concatenate([self._fetch(half, kind, deadline, watcher) for half in halves])
        except NoVector as error:
            if len(error.places) == len(inputs) > 1:
                raise  # nothing is wrong with the texts
            for place in error.places:
                error.rows[place] = self._fetch([shorter(inputs[place], error)], kind, deadline, watcher)[0]
            return error.rows

    def checked(self, found: Sequence[object], count: int) -> Floats:
        """Make (count, dimensions) float32 unit rows of vectors, all of one length. Raises ProviderError.

        The first answer tells the length if nobody has asked for one, and the others are held to it.
        """
        refused = None
        try:
            rows = unit_rows(self.service.name, found, count)
        except NoVector as error:
            refused, rows = error, error.rows
        with self._lock:
            self._learned = self._learned or rows.shape[1]
        if rows.shape[1] != self._learned:
            message = f"gave vectors of {rows.shape[1]} dimensions instead of {self._learned}"
            raise ProviderError(self.service.name, message, permanent=True)
        if refused is not None:
            raise refused
        return rows


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


def model_of(fingerprint: str) -> str:
    """Return the model of a fingerprint, as settings name it; the fingerprint itself if it is another's."""
    parts = _FINGERPRINT.fullmatch(fingerprint)
    if parts is None:
        return fingerprint
    return f"{parts['provider']}/{parts['model']}" + (f" at {parts['place']}" if parts["place"] else "")


class NoVector(ProviderError):
    """Some texts got no vector that can be used; `places` are theirs, `rows` those of all, theirs as ones."""

    def __init__(self, provider: str, message: str, places: Sequence[int], rows: Floats) -> None:
        super().__init__(provider, message)
        self.places = tuple(places)
        self.rows = rows


def unit_rows(provider: str, found: Sequence[object], count: int) -> Floats:
    """Return vectors as (count, dimensions) float32 rows of length 1.

    Raises ProviderError for another number of them, or for one that is longer or shorter than the others;
    NoVector where some, or all, are not finite or point nowhere.
    """
    import numpy as np

    if len(found) != count:
        raise ProviderError(provider, f"gave {len(found)} vectors for {count} texts")

    def numbers(vector: object) -> object:
        """A list of numbers, or little-endian float32 in base64; None among them is no number."""
        if isinstance(vector, str):
            return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
        if not isinstance(vector, list) or any(isinstance(value, str | bool) for value in vector):
            raise TypeError("no list of numbers")
        return vector

    try:
        rows = np.array([numbers(vector) for vector in found], np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise ProviderError(provider, "gave vectors that are not lists of as many numbers") from error
    if rows.ndim != 2 or not 0 < rows.shape[1] <= MAX_DIMENSIONS:
        raise ProviderError(provider, "gave vectors that are not lists of as many numbers")
    finite = np.isfinite(rows).all(axis=1)
    good = finite & rows.any(axis=1)
    rows[~good] = 1.0
    rows /= np.abs(rows).max(axis=1, keepdims=True)  # so that no square is too large or too small
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    whole = rows.astype(np.float32)
    if not good.all():
        what = "of zeros" if finite.all() else "with a value that is no number"
        raise NoVector(provider, f"gave a vector {what}", np.flatnonzero(~good).tolist(), whole)
    return whole
