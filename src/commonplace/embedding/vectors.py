"""Vectors as providers send them, checked and made unit rows."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.errors import ProviderError

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

MAX_DIMENSIONS = 65_536


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
    try:
        rows = np.array([_numbers(vector) for vector in found], np.float64)
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


def check_dimensions(provider: str, rows: Floats, dimensions: int) -> None:
    """Raise ProviderError, a permanent one, unless rows have the length that all others have."""
    if rows.shape[1] != dimensions:
        message = f"gave vectors of {rows.shape[1]} dimensions instead of {dimensions}"
        raise ProviderError(provider, message, permanent=True)


def _numbers(vector: object) -> object:
    """A list of numbers, or little-endian float32 in base64; None among them is no number."""
    import numpy as np

    if isinstance(vector, str):
        return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
    if not isinstance(vector, list) or any(isinstance(value, str | bool) for value in vector):
        raise TypeError("no list of numbers")
    return vector
