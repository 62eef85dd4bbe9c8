"""What an embedding model is to the rest of the system."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal, Protocol, TypeGuard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.types import Estimate

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


class Estimating(Embedder, Protocol):
    """A model that knows what asking it would take."""

    def estimate(
        self, passages: Sequence[str], questions: Sequence[str], warnings: tuple[str, ...]
    ) -> Estimate:
        """Say what embedding these would take, without asking anybody."""


def estimating(model: Embedder) -> TypeGuard[Estimating]:
    """Tell whether a model knows what asking it would take; one in this process takes time alone."""
    return hasattr(model, "estimate")
