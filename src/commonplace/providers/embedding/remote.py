"""Embedding models behind HTTP: texts are prepared and packed, answers are checked.

The form of requests is data (`services.Service`). Making a model touches no network; its
vectors are as long as configured, or as in its first answer. `GuardedEmbedder` is such a model behind cache,
breaker and budget, as the index and a search see it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence, Sized
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from commonplace.base.deadline import Deadline
from commonplace.base.errors import ProviderError
from commonplace.providers import attempts, packing, services
from commonplace.providers.cache import VectorCache, vector_key
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.costs import NANO
from commonplace.providers.embedding.base import Kind, quantize
from commonplace.providers.embedding.base import unit_rows as unpack
from commonplace.providers.guard import Guard, Watcher, unwatched
from commonplace.providers.guard import ModelCall as Watched

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats
    from commonplace.types import Estimate

    Batches = Callable[[Sequence[str], Watcher], Iterator[tuple[list[int], Floats]]]

T = TypeVar("T", bound=Sized)

# Providers refuse an input without text; its stand-in carries no meaning either.
BLANK = "-"
# Somebody waits for a question; full text answers without it.
_ATTEMPTS: dict[Kind, int] = {"query": 3, "passage": attempts.ATTEMPTS}
_PURPOSES: Mapping[Kind, str] = {"query": "question", "passage": "embed"}
_AROUND = 8  # tokens that a tokenizer may put around a text, generously


class RemoteEmbedder:
    """An embedding model of a service; safe to call from several threads."""

    def __init__(self, spec: Spec) -> None:
        """Prepare, without a request. Raises as `Catalog.connect` does."""
        self.service = service = services.embedding(spec.provider)
        self._spec = spec
        self.model, self.endpoint = EMBEDDERS.connect(spec, header=service.header, scheme=service.scheme)
        self.close = self.endpoint.close
        self.name = f"{self.model} ({service.name})"
        self.family = services.family(self.model)
        self.scripts = self.family.scripts
        self.input_tokens = min(self.family.max_tokens, service.input_tokens)
        self.requested_dimensions = spec.dimensions  # None for vectors as the model makes them
        self.learned = spec.dimensions or 0  # length of a vector, 0 before the first answer

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
        """Embed texts as (n, dimensions) float32 unit rows before their deadline. Raises ProviderError."""
        import numpy as np

        spec, service, prefix = self._spec, self.service, self.family.prefix(kind)
        inputs = [self.prepare(text, kind) for text in texts]
        deadline = Deadline(spec.query_deadline_s if kind == "query" else spec.deadline_s)

        def halve(text: str) -> str:
            part = packing.halve(text.removeprefix(prefix))
            return part and prefix + part

        def ask(inputs: Sequence[str]) -> list[Floats]:
            with watcher(inputs) as request:
                path = service.address(self.model)
                body = service.body(self.model, inputs, kind, spec.dimensions)
                answer = self.endpoint.post(path, body, deadline, attempts=_ATTEMPTS[kind])
                request.tokens = service.usage(answer)
                try:
                    vectors = list(service.vectors(answer))
                except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
                    raise ProviderError(service.name, "the answer holds no vectors") from error
                return list(self.checked(vectors, len(inputs), patch=kind == "passage"))

        sizes = map(packing.tokens, inputs)
        groups = [inputs[g.start : g.stop] for g in packing.pack(sizes, service.inputs, service.tokens)]
        parts = attempts.side_by_side(
            lambda group: packing.ask_in_parts(ask, group, halve), groups, service.concurrency, deadline
        )
        return np.stack(same_length(service.name, [row for part in parts for row in part]))

    def prepare(self, text: str, kind: Kind) -> str:
        """Return what is sent for a text: its prefix, and as much of it as the model takes."""
        prefix = self.family.prefix(kind)
        text = packing.clean(text)
        text = text if text.strip() else BLANK
        return prefix + packing.cut(text, self.input_tokens - packing.tokens(prefix))

    def checked(
        self, vectors: Sequence[object], count: int, expected: int = 0, *, patch: bool = False
    ) -> Floats:
        """Make unit rows, as `unit_rows` does, of the requested or else the `expected` length (0: any)."""
        rows = unit_rows(self.service.name, vectors, count, patch=patch)
        expected = self.requested_dimensions or expected
        if expected not in (0, rows.shape[1]):
            message = f"gave vectors of {rows.shape[1]} dimensions instead of {expected}"
            raise ProviderError(self.service.name, message, permanent=True)
        self.learned = rows.shape[1]
        return rows


def same_length(provider: str, rows: list[T]) -> list[T]:
    """Return vectors if all are of one length. Raises ProviderError otherwise."""
    if len(set(map(len, rows))) > 1:
        raise ProviderError(provider, "gave vectors of several lengths")
    return rows


def unit_rows(provider: str, vectors: Sequence[object], count: int, *, patch: bool = False) -> Floats:
    """Return vectors as (count, dimensions) float32 rows of length 1.

    A vector with NaN or infinity in it, or of zeros (bge-m3 on Ollama gives them for some texts), is an
    error; with `patch` it becomes the first unit vector, unless all of several are bad. Raises ProviderError,
    also for another number of vectors or several lengths.
    """
    import numpy as np

    if len(vectors) != count:
        raise ProviderError(provider, f"gave {len(vectors)} vectors for {count} texts")

    def numbers(vector: object) -> object:
        if isinstance(vector, str):
            return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
        if not isinstance(vector, list) or any(isinstance(value, str | bool) for value in vector):
            raise TypeError("no list of numbers")
        return vector  # None among its values becomes NaN

    try:
        rows = np.array([numbers(vector) for vector in vectors], np.float64)
        if rows.ndim != 2 or not rows.shape[1]:
            raise ValueError("no rows of one length")
    except (ValueError, TypeError, OverflowError) as error:
        raise ProviderError(provider, "gave vectors that are not lists of as many numbers") from error
    finite = np.isfinite(rows).all(axis=1)
    good = finite & rows.any(axis=1)
    if not (good.all() or (patch and (count == 1 or good.any()))):
        what = "of zeros" if finite.all() else "with a value that is no number"
        raise ProviderError(provider, f"gave a vector {what}")
    rows[~good] = 0.0
    rows[~good, 0] = 1.0
    rows /= np.abs(rows).max(axis=1, keepdims=True)  # so that no square is too large or too small
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    unit: Floats = rows.astype(np.float32)
    return unit


class GuardedEmbedder(Guard):
    """A model as the index and a search see it: embeds what the cache does not know, as far as caps allow."""

    deadline_s = 120.0  # how long a request may be under way
    batches: Batches | None = None  # embeds passages by the provider's batches, where that is wanted

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows, as the index keeps them (int8), cached or not.

        Raises ProviderError, BudgetExceeded.
        """
        if not texts:
            return unpack([])

        def ask(texts: Sequence[str]) -> Floats:
            with self.asking():
                return self._ask(texts, kind, _PURPOSES[kind])

        if isinstance(self.store, VectorCache):
            stored = self.store.complete(self.fingerprint, kind, texts, ask)
        else:
            stored = [row.tobytes() for row in quantize(ask(texts))]
        return unpack(same_length(self.provider, stored))

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of passages and their unit rows (n, dimensions) as they come, by `batches` at last.

        Raises ProviderError, BudgetExceeded, and `batch.StillWorking` when the rest comes with a later call.
        """
        keys = [vector_key(self.fingerprint, "passage", text) for text in texts]
        known = self.known(keys)
        places = [place for place, key in enumerate(keys) if key in known]
        rest = [place for place, key in enumerate(keys) if key not in known]
        if places:
            yield places, unpack([known[keys[place]] for place in places])
        if not rest or self.batches is None:
            return
        with self.asking():
            watcher = partial(self._request, "embed")
            for some, rows in self.batches([texts[place] for place in rest], watcher):
                places = [rest[at] for at in some]
                vectors = [row.tobytes() for row in quantize(rows)]
                self.keep({keys[place]: row for place, row in zip(places, vectors, strict=True)})
                yield places, unpack(vectors)

    def try_out(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Ask for the vectors of short texts, past the cache. Raises ProviderError, BudgetExceeded."""
        with self.asking():
            return self._ask(texts, kind, "test")

    def estimate(
        self, passages: Sequence[str], questions: Sequence[str] = (), warnings: tuple[str, ...] = ()
    ) -> Estimate:
        """Say what embedding these would take, without asking anybody."""
        from commonplace.types import Estimate

        batched, known, tokens, dollars = self.batches is not None, 0, 0, 0.0
        kinds: tuple[tuple[Kind, Sequence[str]], ...] = (("passage", passages), ("query", questions))
        priced = True
        for kind, texts in kinds:
            keys = {vector_key(self.fingerprint, kind, text): text for text in texts}
            missing = keys.keys() - self.known(list(keys)).keys()
            size = sum(packing.tokens(keys[key]) for key in missing)
            price = self.price(size, batched=batched and kind == "passage")
            known, tokens = known + len(texts) - len(missing), tokens + size
            priced, dollars = priced and price is not None, dollars + (price or 0) / NANO
        count, cost = len(passages) + len(questions), dollars if priced else None
        return Estimate(self.name, count, known, tokens, cost, batched=batched, warnings=warnings)

    def _ask(self, texts: Sequence[str], kind: Kind, purpose: str) -> Floats:
        if isinstance(self.inner, RemoteEmbedder):
            return self.inner.embed(texts, kind, partial(self._request, purpose))
        with self._request(purpose, texts):
            rows: Floats = self.inner.embed(texts, kind)
            return rows

    def _request(
        self, purpose: str, inputs: Sequence[str], *, batched: bool = False
    ) -> AbstractContextManager[Watched]:
        """Around one request, or the start of a batch."""
        about = sum(map(packing.tokens, inputs))
        most = sum(len(text.encode("utf-8", "replace")) + _AROUND for text in inputs)
        return self.request(purpose, about, most, self.deadline_s, batched=batched)
