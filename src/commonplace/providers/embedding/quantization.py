"""Vectors as they are kept: int8 rows, a quarter of the size; cosines stay above .9999 of the float ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from commonplace.providers.embedding.base import Floats


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
