"""Embedders that measurements put around a real one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.embedding.base import estimating

if TYPE_CHECKING:
    from commonplace.embedding.base import Embedder, Floats, Kind


class EveryScript:
    """A model that claims to serve every script, as systems do that do not ask.

    It shares the fingerprint of the model inside, whose vectors are the same.
    """

    scripts = frozenset({"latin", "cjk"})

    def __init__(self, inner: Embedder) -> None:
        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions
        if estimating(inner):
            self.estimate = inner.estimate

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed with the model inside; (n, d) float32."""
        return self.inner.embed(texts, kind)


class RandomPassages:
    """A model whose passages get random unit vectors, so that many can be stored in seconds.

    Questions are embedded by the model inside: a search costs what it costs, and finds nothing by meaning.
    """

    def __init__(self, inner: Embedder) -> None:
        import numpy as np

        self.inner = inner
        self.name = inner.name
        self.fingerprint = inner.fingerprint
        self.dimensions = inner.dimensions
        self.scripts = frozenset({"latin", "cjk"})
        self._random = np.random.default_rng(0)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Return random unit vectors for passages, (n, d) float32; embed questions in earnest."""
        import numpy as np

        if kind == "query":
            return self.inner.embed(texts, kind)
        vectors = self._random.standard_normal((len(texts), self.dimensions), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors
