"""A model behind its cache, its breaker and its budget: what the index and a search are given."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import TYPE_CHECKING

from commonplace.embedding import cache, packing
from commonplace.embedding.base import Embedder, Kind
from commonplace.embedding.remote import Answer, RemoteEmbedder
from commonplace.errors import ProviderError

if TYPE_CHECKING:
    from commonplace.costs.meter import Meter, Purpose
    from commonplace.embedding.base import Floats
    from commonplace.embedding.breaker import Breaker
    from commonplace.embedding.cache import VectorCache
    from commonplace.embedding.pending import Store
    from commonplace.types import Estimate

_PURPOSES: Mapping[Kind, Purpose] = {"query": "question", "passage": "embed"}
_TRIAL = "commonplace"
_AROUND = 8  # tokens that a tokenizer may put around a text, generously


class GuardedEmbedder:
    """Embeds what the cache does not know, unless the provider is left alone or a cap would be passed."""

    def __init__(
        self,
        inner: Embedder,
        *,
        store: VectorCache | None = None,
        breaker: Breaker | None = None,
        meter: Meter | None = None,
        name: str = "",
        questions: bool = True,
        deadline_s: float = 120.0,
        batches: Store | None = None,
    ) -> None:
        """Wrap a model. `name` is its name at the breaker; `questions` says whether those are cached too.

        `deadline_s` is how long a request may be under way, `batches` where batches under way are noted: only
        for a model whose provider has an interface for them, and if it is to be used.
        """
        self._inner = inner
        self._store = store
        self._breaker = breaker
        self._meter = meter
        self._breaker_name = name or inner.name
        self._questions = questions
        self._deadline_s = deadline_s
        self._batches = batches
        self.asked = self.known = 0  # texts, and those that the cache knew

    @property
    def name(self) -> str:
        """What people call the model."""
        return self._inner.name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._inner.dimensions

    @property
    def scripts(self) -> frozenset[str]:
        """Scripts it serves."""
        return self._inner.scripts

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a vector."""
        return self._inner.fingerprint

    @property
    def by_batches(self) -> bool:
        """Whether many passages are to be embedded by `embed_each`."""
        return self._batches is not None

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 rows of length 1. Raises ProviderError, BudgetExceeded.

        The rows are those that the index would keep (int8), so it makes no difference who knew them. What
        came before a failure is in the cache.
        """
        import numpy as np

        from commonplace.embedding.quantization import quantize, unit_rows

        if self._store is None or (kind == "query" and not self._questions):
            return self._ask(texts, kind, {})
        keys = [cache.key(self.fingerprint, kind, text) for text in texts]
        found = self._store.find(list(dict.fromkeys(keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        self._count(texts, len(texts) - len(missing), kind)
        if missing:
            rows = quantize(self._ask(list(missing.values()), kind, missing))
            made = {key: row.tobytes() for key, row in zip(missing, rows, strict=True)}
            self._store.keep(self.fingerprint, made)
            found |= made
        if not keys:
            return np.zeros((0, self.dimensions), np.float32)
        return unit_rows([found[key] for key in keys])

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of passages and their unit rows (n, dimensions) as they come, by batches at last.

        Only where `by_batches` says so. Raises ProviderError, BudgetExceeded, and `batch.StillWorking` when
        the rest comes with a later call.
        """
        from commonplace.embedding.quantization import unit_rows

        keys = [cache.key(self.fingerprint, "passage", text) for text in texts]
        found = self._store.find(list(dict.fromkeys(keys))) if self._store is not None else {}
        known = [place for place, key in enumerate(keys) if key in found]
        self._count(texts, len(known), "passage")
        if known:
            yield known, unit_rows([found[keys[place]] for place in known])
        rest = [place for place, key in enumerate(keys) if key not in found]
        with self._guarding():
            for places, rows in self._in_batches([texts[place] for place in rest]):
                mine = [rest[place] for place in places]
                yield mine, self._kept([keys[place] for place in mine], rows)

    def _in_batches(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        from commonplace.embedding.batch import BatchEmbedder

        assert isinstance(self._inner, RemoteEmbedder)
        assert self._batches is not None
        if texts:
            watcher = _Requests(self, "embed", {})
            yield from BatchEmbedder(self._inner, self._batches, watcher=watcher).embed_each(texts)

    def _kept(self, keys: Sequence[bytes], rows: Floats) -> Floats:
        """Rows as the index keeps them, put into the cache."""
        from commonplace.embedding.quantization import quantize, unit_rows

        kept = [row.tobytes() for row in quantize(rows)]
        if self._store is not None:
            self._store.keep(self.fingerprint, dict(zip(keys, kept, strict=True)))
        return unit_rows(kept)

    def try_out(self, texts: Sequence[str] = (_TRIAL,), kind: Kind = "query") -> Floats:
        """Ask for the vectors of short texts, past the cache. Raises ProviderError, BudgetExceeded."""
        return self._ask(texts, kind, {}, "test")

    def estimate(
        self, passages: Sequence[str], questions: Sequence[str] = (), warnings: tuple[str, ...] = ()
    ) -> Estimate:
        """Say what embedding these would take, without asking anybody."""
        from commonplace.costs.prices import NANO
        from commonplace.types import Estimate

        known = tokens = 0
        prices: list[int | None] = []
        wanted: tuple[tuple[Kind, Sequence[str]], ...] = (("passage", passages), ("query", questions))
        for kind, texts in wanted:
            missing = self._missing(texts, kind)
            taken = sum(map(packing.tokens, self._prepared(missing, kind)))
            batched = self.by_batches and kind == "passage"
            known, tokens = known + len(texts) - len(missing), tokens + taken
            prices.append(self._meter.price(taken, batched=batched) if self._meter is not None else None)
        return Estimate(
            self.name,
            len(passages) + len(questions),
            known,
            tokens,
            None if None in prices else sum(price or 0 for price in prices) / NANO,
            batched=self.by_batches,
            warnings=warnings,
        )

    def _missing(self, texts: Sequence[str], kind: Kind) -> list[str]:
        keys = {cache.key(self.fingerprint, kind, text): text for text in texts}
        found = self._store.find(list(keys)) if self._store is not None else {}
        return [text for key, text in keys.items() if key not in found]

    def _count(self, texts: Sequence[str], known: int, kind: Kind) -> None:
        self.asked, self.known = self.asked + len(texts), self.known + known
        if texts and known == len(texts) and self._meter is not None:
            with suppress(ProviderError):  # nothing was spent, so an answer need not be lost for the ledger
                self._meter.known(_PURPOSES[kind], sum(map(packing.tokens, texts)))

    def _guarding(self) -> AbstractContextManager[None]:
        return nullcontext() if self._breaker is None else self._breaker.guarding(self._breaker_name)

    def _ask(
        self, texts: Sequence[str], kind: Kind, keys: Mapping[bytes, str], purpose: Purpose | None = None
    ) -> Floats:
        """Ask the model itself; `keys` name the texts in the cache."""
        inputs = self._prepared(texts, kind)
        named: dict[str, list[bytes]] = {}
        for key, text in zip(keys, inputs, strict=False):  # none where nothing is to be kept
            named.setdefault(text, []).append(key)
        requests = _Requests(self, purpose or _PURPOSES[kind], named)
        with self._guarding():
            if isinstance(self._inner, RemoteEmbedder) and inputs:
                return self._inner.embed_prepared(inputs, kind, requests)
            with requests.request(inputs) as answer:
                answer.rows = self._inner.embed(texts, kind)
            return answer.rows

    def _prepared(self, texts: Sequence[str], kind: Kind) -> list[str]:
        """Texts as they are sent, where that is known."""
        inner = self._inner
        return (
            [inner.prepare(text, kind) for text in texts]
            if isinstance(inner, RemoteEmbedder)
            else list(texts)
        )


class _Requests:
    """Told of the requests of one call: each is metered, and what it brings is kept at once."""

    def __init__(
        self, guarded: GuardedEmbedder, purpose: Purpose, keys: Mapping[str, Sequence[bytes]]
    ) -> None:
        self._guarded, self._purpose, self._keys = guarded, purpose, keys

    @contextmanager
    def request(self, inputs: Sequence[str], *, batched: bool = False) -> Iterator[Answer]:
        """Around one request. Raises BudgetExceeded."""
        answer, guarded = Answer(), self._guarded
        if guarded._meter is None:
            yield answer
            self._keep(inputs, answer)
            return
        about = sum(map(packing.tokens, inputs))
        most = sum(len(text.encode("utf-8", "replace")) + _AROUND for text in inputs)
        calling = guarded._meter.calling(self._purpose, about, most, guarded._deadline_s, batched=batched)
        with calling as call:
            try:
                yield answer
            finally:
                call.tokens = answer.tokens
            self._keep(inputs, answer)

    def _keep(self, inputs: Sequence[str], answer: Answer) -> None:
        """Keep what came, before a later request of the same call may fail."""
        from commonplace.embedding.quantization import quantize

        store = self._guarded._store
        if store is None or answer.rows is None or not self._keys:
            return
        rows = zip(inputs, quantize(answer.rows), strict=True)
        made = {key: row.tobytes() for text, row in rows for key in self._keys.get(text, ())}
        store.keep(self._guarded.fingerprint, made)
