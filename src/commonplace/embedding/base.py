"""What an embedding model is to the rest of the system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, Protocol

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
