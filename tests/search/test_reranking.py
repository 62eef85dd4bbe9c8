"""The head of a ranking, read again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from commonplace.index.base import Candidate
from commonplace.search import reranking
from commonplace.search.ranking import Ranked
from commonplace.search.reranking import Reranker, rerank


def ranked(*scores: float) -> list[Ranked]:
    return [
        Ranked(Candidate(i, 1, 1, i, i, "some words", 0.0), score, {"words": score}, score)
        for i, score in enumerate(scores, 1)
    ]


def says(*values: float, by_rank: bool = False) -> Reranker:
    return Reranker(lambda _, texts: [*values, *[0.0] * len(texts)][: len(texts)], by_rank)


def order(found: Sequence[Ranked]) -> list[int]:
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    for item in found:
        assert sum(item.parts.values()) == pytest.approx(item.score)
    return [item.candidate.id for item in found]


def test_a_model_is_blended_by_position() -> None:
    found = rerank(ranked(0.8, 0.7), "q", says(0.0, 1.0))
    assert order(found) == [2, 1]
    assert [item.score for item in found] == pytest.approx([0.75 * 0.7 + 0.25, 0.75 * 0.8])


def test_ranks_can_stand_in_the_place_of_scores() -> None:
    found = rerank(ranked(0.8, 0.7), "q", says(0.1, 0.9, by_rank=True))
    assert [item.score for item in found] == pytest.approx([0.75 + 0.025, 0.75 / 2 + 0.225])


def test_further_down_a_model_counts_more() -> None:
    found = rerank(ranked(*[0.5] * 12), "q", says(*[0.0] * 11, 1.0))
    weights = {item.candidate.id: item.score for item in found}
    assert weights[3] == pytest.approx(0.75 * 0.5)
    assert weights[4] == pytest.approx(0.60 * 0.5)
    assert weights[11] == pytest.approx(0.40 * 0.5)
    assert order(found)[0] == 12


def test_a_head_that_a_model_refuses_draws_the_rest_down() -> None:
    found = rerank(ranked(*[0.5] * 21), "q", says(0.0, 0.0))
    assert found[20].candidate.id == 21
    assert found[20].parts["behind"] < 0


def test_nothing_found_is_read_by_nobody() -> None:
    def read(question: str, texts: Sequence[str]) -> Sequence[float]:
        raise AssertionError("there is nothing to read")

    assert rerank([], "q", Reranker(read)) == []
    assert reranking.POSITIONS[-1][0] == reranking.MODEL_HEAD
