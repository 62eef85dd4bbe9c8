"""Ranked lists made one: pure functions over {passage: score}."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Scores = Mapping[int, float]

RANK_CONSTANT = 60.0  # k of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009)
# QMD's bonuses for first place in any list, second and third: three times the score of a single first place.
BONUSES = (0.05, 0.02, 0.02)


def normalize(scores: Scores) -> dict[int, float]:
    """Divide by the best score of the question, so that it becomes 1."""
    best = max(scores.values(), default=0.0)
    return {passage: score / best for passage, score in scores.items()} if best > 0 else {}


def by_maximum(lists: Sequence[tuple[Scores, float]]) -> dict[int, float]:
    """The best weighted score of each passage in any list."""
    best: dict[int, float] = {}
    for scores, weight in lists:
        weighted = {passage: weight * score for passage, score in scores.items()}
        for passage in best.keys() & weighted.keys():
            weighted[passage] = max(best[passage], weighted[passage])
        best |= weighted
    return best


def ranks(
    lists: Sequence[tuple[Scores, float]], bonuses: Sequence[float] = (), k: float = RANK_CONSTANT
) -> tuple[dict[int, float], dict[int, float]]:
    """Both parts of reciprocal rank fusion, first place everywhere being 1: of ranks, and of bonuses."""
    most = sum(weight for scores, weight in lists if scores) / (k + 1) + (bonuses[0] if bonuses else 0.0)
    fused: dict[int, float] = {}
    best: dict[int, int] = {}
    for scores, weight in lists:
        ordered = sorted(scores, key=lambda passage: (-scores[passage], passage))
        for rank, passage in enumerate(ordered, 1):
            fused[passage] = fused.get(passage, 0.0) + weight / (k + rank) / most
            best[passage] = min(best.get(passage, rank), rank)
    first = {p: bonuses[rank - 1] / most for p, rank in best.items() if rank <= len(bonuses)}
    return fused, first
