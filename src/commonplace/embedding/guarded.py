"""A model behind its cache and its breaker: what the index and a search are given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.embedding import cache
from commonplace.embedding.base import Embedder, Kind

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats
    from commonplace.embedding.breaker import Breaker
    from commonplace.embedding.cache import VectorCache


class GuardedEmbedder:
    """Embeds what the cache does not know, unless the provider is left alone."""

    def __init__(
        self,
        inner: Embedder,
        *,
        store: VectorCache | None = None,
        breaker: Breaker | None = None,
        name: str = "",
        questions: bool = True,
    ) -> None:
        """Wrap a model. `name` is its name at the breaker; `questions` says whether those are cached too."""
        self._inner = inner
        self._store = store
        self._breaker = breaker
        self._breaker_name = name or inner.name
        self._questions = questions
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

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 rows of length 1. Raises ProviderError.

        The rows are those that the index would keep (int8), so it makes no difference who knew them.
        """
        import numpy as np

        from commonplace.embedding.quantization import quantize, unit_rows

        if self._store is None or (kind == "query" and not self._questions):
            return self._ask(texts, kind)
        keys = [cache.key(self.fingerprint, kind, text) for text in texts]
        found = self._store.find(list(dict.fromkeys(keys)))
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in found}
        self.asked, self.known = self.asked + len(texts), self.known + len(texts) - len(missing)
        if missing:
            rows = quantize(self._ask(list(missing.values()), kind))
            made = {key: row.tobytes() for key, row in zip(missing, rows, strict=True)}
            self._store.keep(self.fingerprint, made)
            found |= made
        if not keys:
            return np.zeros((0, self.dimensions), np.float32)
        return unit_rows([found[key] for key in keys])

    def _ask(self, texts: Sequence[str], kind: Kind) -> Floats:
        if self._breaker is None:
            return self._inner.embed(texts, kind)
        with self._breaker.guarding(self._breaker_name):
            return self._inner.embed(texts, kind)
