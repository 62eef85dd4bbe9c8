"""A model behind a server as the index and a search see it: guarded, its vectors kept for everybody."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from commonplace.providers import packing
from commonplace.providers.cache import vector_key
from commonplace.providers.embedding.base import Embedder, Kind, quantize, unit_rows
from commonplace.providers.embedding.remote import RemoteEmbedder
from commonplace.providers.guard import Call, Guard, Store

if TYPE_CHECKING:
    from commonplace.providers.breaker import Breaker
    from commonplace.providers.costs import Budget
    from commonplace.providers.embedding import batch
    from commonplace.providers.embedding.base import Floats
    from commonplace.types import Estimate

_PURPOSES: Mapping[Kind, str] = {"query": "question", "passage": "embed"}
_AROUND = 8  # tokens that a tokenizer may put around a text, generously


class GuardedEmbedder:
    """Embeds what the cache does not know, unless the provider is left alone or a cap would be passed."""

    def __init__(
        self,
        inner: Embedder,
        *,
        store: Store[bytes] | None = None,
        breaker: Breaker | None = None,
        budget: Budget | None = None,
        provider: str = "",
        breaker_name: str = "",
        deadline_s: float = 120.0,
        batches: batch.Store | None = None,
    ) -> None:
        """Wrap a model of a provider.

        `deadline_s` is how long a request may be under way, `batches` where batches under way are noted: only
        for a model whose provider has an interface for them, and if it is to be used.
        """
        self.inner = inner
        self.name, self.scripts = inner.name, inner.scripts
        self.by_batches = batches is not None
        self._guard: Guard[str, bytes] = Guard(
            provider or inner.name,
            getattr(inner, "model", inner.name),
            fingerprint=inner.fingerprint,
            store=store,
            breaker=breaker,
            breaker_name=breaker_name or inner.name,
            budget=budget,
        )
        self._deadline_s = deadline_s
        self._batches = batches

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self.inner.dimensions

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a vector."""
        return self.inner.fingerprint

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 rows of length 1. Raises ProviderError, BudgetExceeded.

        The rows are those that the index would keep (int8), so it makes no difference who knew them. What
        came before a failure is in the cache.
        """
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        purpose, key = _PURPOSES[kind], partial(vector_key, self.fingerprint, kind)
        if self._guard.store is None:
            with self._guard.asking():
                return self._ask(texts, kind, purpose)

        def ask(missing: list[str]) -> list[bytes]:
            return [row.tobytes() for row in quantize(self._ask(missing, kind, purpose))]

        return unit_rows(self._guard(texts, key, ask, purpose, packing.tokens))

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of passages and their unit rows (n, dimensions) as they come, by batches at last.

        Only where `by_batches` says so. Raises ProviderError, BudgetExceeded, and `batch.StillWorking` when
        the rest comes with a later call.
        """
        guard = self._guard
        keys = [vector_key(self.fingerprint, "passage", text) for text in texts]
        known = guard.known(keys)
        places, rest = list[int](), list[int]()
        for place, key in enumerate(keys):
            (places if key in known else rest).append(place)
        if places:
            if not rest:
                guard.record_known("embed", sum(map(packing.tokens, texts)))
            yield places, unit_rows([known[keys[place]] for place in places])
        if rest:
            yield from self._by_batches(texts, keys, rest)

    def _by_batches(
        self, texts: Sequence[str], keys: Sequence[bytes], rest: Sequence[int]
    ) -> Iterator[tuple[list[int], Floats]]:
        """Ask for the texts at some places, and keep what comes before it is handed on."""
        from commonplace.providers.embedding.batch import BatchEmbedder

        assert isinstance(self.inner, RemoteEmbedder)
        assert self._batches is not None
        with self._guard.asking():
            watcher = partial(self._request, "embed", {})
            batches = BatchEmbedder(self.inner, self._batches, watcher=watcher)
            for some, rows in batches.embed_each([texts[place] for place in rest]):
                vectors = [row.tobytes() for row in quantize(rows)]
                self._guard.keep({keys[rest[at]]: vector for at, vector in zip(some, vectors, strict=True)})
                yield [rest[at] for at in some], unit_rows(vectors)

    def try_out(self, texts: Sequence[str] = ("commonplace",), kind: Kind = "query") -> Floats:
        """Ask for the vectors of short texts, past the cache. Raises ProviderError, BudgetExceeded."""
        with self._guard.asking():
            return self._ask(texts, kind, "test")

    def estimate(
        self, passages: Sequence[str], questions: Sequence[str] = (), warnings: tuple[str, ...] = ()
    ) -> Estimate:
        """Say what embedding these would take, without asking anybody."""
        from commonplace.providers.costs import NANO
        from commonplace.types import Estimate

        known = tokens = 0
        prices: list[int | None] = []
        kinds: tuple[tuple[Kind, Sequence[str]], ...] = (("passage", passages), ("query", questions))
        for kind, texts in kinds:
            keys = {vector_key(self.fingerprint, kind, text): text for text in texts}
            kept = self._guard.known(list(keys))
            missing = [text for key, text in keys.items() if key not in kept]
            taken = sum(map(packing.tokens, self._prepared(missing, kind)))
            known, tokens = known + len(texts) - len(missing), tokens + taken
            prices.append(self._guard.price(taken, batched=self.by_batches and kind == "passage"))
        return Estimate(
            self.name,
            len(passages) + len(questions),
            known,
            tokens,
            None if None in prices else sum(price or 0 for price in prices) / NANO,
            batched=self.by_batches,
            warnings=warnings,
        )

    def _ask(self, texts: Sequence[str], kind: Kind, purpose: str) -> Floats:
        """Ask the model itself; what each request brings is kept at once, before a later one may fail."""
        inputs = self._prepared(texts, kind)
        keys: dict[str, list[bytes]] = {}
        if self._guard.store is not None and purpose != "test":
            for text, prepared in zip(texts, inputs, strict=True):
                keys.setdefault(prepared, []).append(vector_key(self.fingerprint, kind, text))
        if isinstance(self.inner, RemoteEmbedder):
            return self.inner.embed_prepared(inputs, kind, partial(self._request, purpose, keys))
        with self._request(purpose, {}, inputs) as request:
            request.answer = rows = self.inner.embed(texts, kind)
        return rows

    def _prepared(self, texts: Sequence[str], kind: Kind) -> list[str]:
        """Texts as they are sent, where that is known."""
        inner = self.inner
        return (
            [inner.prepare(text, kind) for text in texts]
            if isinstance(inner, RemoteEmbedder)
            else list(texts)
        )

    @contextmanager
    def _request(
        self,
        purpose: str,
        keys: Mapping[str, Sequence[bytes]],
        inputs: Sequence[str],
        *,
        batched: bool = False,
    ) -> Iterator[Call]:
        """Around one request, or the start of a batch; `keys` name prepared texts in the cache."""
        about = sum(map(packing.tokens, inputs))
        most = sum(len(text.encode("utf-8", "replace")) + _AROUND for text in inputs)
        with self._guard.request(purpose, about, most, self._deadline_s, batched=batched) as call:
            yield call
            if keys and call.answer is not None:
                rows = zip(inputs, quantize(call.answer), strict=True)
                self._guard.keep({key: row.tobytes() for text, row in rows for key in keys.get(text, ())})
