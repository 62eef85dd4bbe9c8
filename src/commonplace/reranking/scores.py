"""Scores on one scale, from 0 to 1, whatever a model calls them. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from commonplace.errors import ProviderError

# A probability that was rounded may lie so far outside.
_ROUNDED = 1e-6


def sigmoid(logit: float) -> float:
    """Return the probability that a logit stands for."""
    if logit >= 0:
        return 1.0 / (1.0 + math.exp(-logit))
    return math.exp(logit) / (1.0 + math.exp(logit))


def second_of(pair: Sequence[float]) -> float:
    """Return the second probability of two logits (softmax): that of the class `relevant`."""
    return sigmoid(pair[1] - pair[0])


def are_logits(found: Iterable[float]) -> bool:
    """Whether scores are no probabilities: one at least lies outside 0 to 1."""
    return any(not -_ROUNDED <= score <= 1 + _ROUNDED for score in found)


def bounded(found: Iterable[float], *, logits: bool) -> list[float]:
    """Return scores from 0 to 1; of logits, the probabilities."""
    return [sigmoid(score) if logits else min(1.0, max(0.0, score)) for score in found]


def placed(provider: str, results: object, count: int) -> list[float]:
    """Put the results of an answer, in any order, into the order of the texts that were sent.

    A result is `{"index": 0, "relevance_score": 0.9}`, or has a `score`. Raises ProviderError unless each of
    the texts has one finite score.
    """
    if not isinstance(results, list):
        raise ProviderError(provider, "the answer holds no scores")
    found: dict[int, float] = {}
    for result in results:
        place, score = _read(provider, result)
        if not 0 <= place < count:
            raise ProviderError(provider, f"the answer scores text {place} of {count}, which was not sent")
        if place in found:
            raise ProviderError(provider, f"the answer scores text {place} twice")
        found[place] = score
    missing = [place for place in range(count) if place not in found]
    if missing:
        raise ProviderError(provider, f"the answer leaves out {len(missing)} of {count} texts")
    return [found[place] for place in range(count)]


def _read(provider: str, result: object) -> tuple[int, float]:
    if isinstance(result, Mapping):
        place, score = result.get("index"), result.get("relevance_score", result.get("score"))
        if _is_number(score) and isinstance(place, int) and not isinstance(place, bool):
            return place, float(score)
    raise ProviderError(provider, "the answer holds a result without a place or a score")


def _is_number(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False
