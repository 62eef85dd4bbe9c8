"""Ranked lists made one: pure functions over {passage: score}."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Scores = Mapping[int, float]

RANK_CONSTANT = 60.0  # k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)


def normalize(scores: Scores) -> dict[int, float]:
    """Divide by the best score of the question, so that it becomes 1."""
    best = max(scores.values(), default=0.0)
    return {passage: score / best for passage, score in scores.items()} if best > 0 else {}


def by_score(lists: Sequence[tuple[Scores, float]]) -> dict[int, float]:
    """Weighted sum of scores; a passage missing from a list gets nothing from it."""
    fused: dict[int, float] = {}
    for scores, weight in lists:
        for passage, score in scores.items():
            fused[passage] = fused.get(passage, 0.0) + weight * score
    return fused


def by_maximum(lists: Sequence[tuple[Scores, float]]) -> dict[int, float]:
    """The best weighted score of each passage in any list."""
    best: dict[int, float] = {}
    for scores, weight in lists:
        for passage, score in scores.items():
            best[passage] = max(best.get(passage, weight * score), weight * score)
    return best


def by_rank(lists: Sequence[tuple[Scores, float]], k: float = RANK_CONSTANT) -> dict[int, float]:
    """Reciprocal rank fusion, weighted and scaled so that first place everywhere is 1."""
    fused: dict[int, float] = {}
    total = sum(weight for scores, weight in lists if scores) or 1.0
    for scores, weight in lists:
        ordered = sorted(scores, key=lambda passage: (-scores[passage], passage))
        for rank, passage in enumerate(ordered, 1):
            fused[passage] = fused.get(passage, 0.0) + weight / total * (k + 1) / (k + rank)
    return fused
