"""How sure a difference between two runs is: paired bootstrap over the questions.

Efron and Tibshirani, An Introduction to the Bootstrap, 1993: chapter 13 for the percentile interval, chapter
16 for the test, which moves the differences to a mean of zero and asks how often chance gives as much.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
BLOCK = 4_000_000  # draws made at once: 32 MB
ROUNDING = 1e-12  # means that should be equal differ by this much


class Difference(NamedTuple):
    """A mean difference, its 95 % interval, and the p of no difference."""

    mean: float
    low: float
    high: float
    p: float


def paired(differences: Floats) -> list[Difference]:
    """Return how sure the mean of each column is; `differences` is (questions, figures), at least one row."""
    import numpy as np

    observed = differences.mean(axis=0)
    means = np.concatenate(list(_resampled(differences)))
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    as_far = np.abs(means - observed) >= np.abs(observed) - ROUNDING
    p = (as_far.sum(axis=0) + 1) / (RESAMPLES + 1)
    return [Difference(*map(float, row)) for row in zip(observed, low, high, p, strict=True)]


def _resampled(differences: Floats) -> Iterator[Floats]:
    """Yield the means of samples as large as the set, some samples at a time: (samples, figures)."""
    import numpy as np

    chance = np.random.default_rng(SEED)
    count = len(differences)
    block = max(1, BLOCK // count)
    for start in range(0, RESAMPLES, block):
        samples = min(block, RESAMPLES - start)
        drawn = chance.integers(count, size=(samples, count))
        drawn += np.arange(samples)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=samples * count).reshape(samples, count)
        yield times @ differences / count
