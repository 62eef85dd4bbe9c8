"""What an embedding model is to the rest of the system, and vectors as they are kept.

Kept are int8 rows, a quarter of the size; cosines stay above .9999 of the float ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


Kind = Literal["query", "passage"]


class Embedder(Protocol):
    """A model that turns texts into unit vectors.

    The same text gives the same vector whatever other texts it is embedded with, byte for byte: an index
    grown step by step must equal one built at once.
    """

    @property
    def name(self) -> str:
        """What people call it."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    @property
    def scripts(self) -> frozenset[str]:
        """Scripts it was trained on: `latin`, `cjk`."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a vector; vectors of two fingerprints are never compared."""

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 rows of length 1. Raises ProviderError."""


class Batching(Embedder, Protocol):
    """A model that may embed many passages by its provider's batches: cheaper, and much later."""

    @property
    def by_batches(self) -> bool:
        """Whether that is wanted."""

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of passages and their unit rows as they come. Raises ProviderError, StillWorking."""


def batching(model: Embedder) -> TypeGuard[Batching]:
    """Tell whether many passages are to be embedded by batches."""
    return bool(getattr(model, "by_batches", False))


def quantize(vectors: Floats) -> NDArray[np.int8]:
    """Scale each row to the int8 range; cosines do not depend on the scale."""
    import numpy as np

    peak = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    scaled: NDArray[np.int8] = np.rint(vectors * (127.0 / peak)).astype(np.int8)
    return scaled


def unit_rows(stored: Sequence[bytes]) -> Floats:
    """Stored int8 vectors as (n, d) float32 rows of length 1."""
    import numpy as np

    rows = np.frombuffer(b"".join(stored), np.int8)
    matrix = rows.reshape(len(stored), -1 if stored else 0).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return matrix
