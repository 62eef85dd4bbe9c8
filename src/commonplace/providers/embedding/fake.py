"""A model whose vectors can be computed by hand, for tests of this library and of what is built on it."""

from __future__ import annotations

import re
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.providers.embedding.base import Kind
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

_WORD = re.compile(r"\w+")


class FakeEmbedder:
    """Counts words: each adds 1 to dimension crc32(word) mod `dimensions`, then the row is scaled to 1.

    A text without words gets the first unit vector.
    """

    def __init__(self, dimensions: int = 64, scripts: frozenset[str] = frozenset({"latin"})) -> None:
        """Make a model of some size that claims to serve some scripts."""
        self.name = "fake"
        self.dimensions = dimensions
        self.scripts = scripts
        self.fingerprint = f"fake-1:{dimensions}"
        self.calls: list[int] = []  # texts per call, for tests that count what was embedded

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 unit rows."""
        import numpy as np

        self.calls.append(len(texts))
        rows = np.zeros((len(texts), self.dimensions), np.float32)
        for row, text in zip(rows, texts, strict=True):
            words = _WORD.findall(text.lower())
            for word in words:
                row[zlib.crc32(word.encode("utf-8", "replace")) % self.dimensions] += 1
            if not words:
                row[0] = 1
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        return rows


def load(spec: Spec) -> FakeEmbedder:
    """Make the default fake, or one of other dimensions."""
    return FakeEmbedder(spec.dimensions or 64)
