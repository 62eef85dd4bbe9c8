"""The head of a ranking, read again."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from commonplace.index.base import Candidate
from commonplace.search import query, reranking
from commonplace.search.ranking import Ranked
from commonplace.search.reranking import LATE_WEIGHT, Reranker, rerank


def ranked(*scores: float, text: str = "some words", turns: float = 0.0) -> list[Ranked]:
    return [
        Ranked(Candidate(i, 1, 1, i, i, text, turns), score, {"words": score}, score)
        for i, score in enumerate(scores, 1)
    ]


def says(*values: float, kind: str = "local", head: int = 10, blend: str = "scores") -> Reranker:
    def read(question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        return values[: len(candidates)]

    return Reranker(kind, read, head, blend)  # type: ignore[arg-type]


def order(found: Sequence[Ranked]) -> list[int]:
    assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
    for item in found:
        assert sum(item.parts.values()) == pytest.approx(item.score)
    return [item.candidate.id for item in found]


def test_late_interaction_counts_against_the_best_turns() -> None:
    found = rerank(ranked(0.5, 0.4, turns=1.0), query.parse("a question"), says(0.2, 0.4))
    assert order(found) == [2, 1]
    assert found[0].score == pytest.approx(0.4 + 0.1 * LATE_WEIGHT)
    assert found[1].score == pytest.approx(0.5 - 0.1 * LATE_WEIGHT)


def test_turns_do_not_rise_above_prose_by_being_turns() -> None:
    turns, (prose,) = ranked(0.5, 0.4, turns=1.0), ranked(0.45)
    prose = prose._replace(candidate=prose.candidate._replace(id=3))
    found = rerank([turns[0], prose, turns[1]], query.parse("a question"), says(0.3, 0.0, 0.3))
    assert [(item.candidate.id, item.score) for item in found] == [(1, 0.5), (3, 0.45), (2, 0.4)]


def test_prose_gets_nothing_of_it() -> None:
    (found,) = rerank(ranked(0.5), query.parse("a question"), says(0.7))
    assert found.score == pytest.approx(0.5)


def test_turns_that_were_not_read_lose_what_is_usual() -> None:
    found = rerank(ranked(0.5, 0.4, 0.39, turns=1.0), query.parse("q"), says(0.0, 0.9, head=2))
    assert order(found) == [2, 1, 3]


def test_a_model_is_blended_by_position() -> None:
    found = rerank(ranked(0.8, 0.7), query.parse("q"), says(0.0, 1.0, kind="model"))
    assert order(found) == [2, 1]
    assert [item.score for item in found] == pytest.approx([0.75 * 0.7 + 0.25, 0.75 * 0.8])


def test_ranks_can_stand_in_the_place_of_scores() -> None:
    found = rerank(ranked(0.8, 0.7), query.parse("q"), says(0.1, 0.9, kind="model", blend="positions"))
    assert [item.score for item in found] == pytest.approx([0.75 + 0.025, 0.75 / 2 + 0.225])


def test_further_down_a_model_counts_more() -> None:
    found = rerank(ranked(*[0.5] * 12), query.parse("q"), says(*[0.0] * 11, 1.0, kind="llm", head=20))
    weights = {item.candidate.id: item.score for item in found}
    assert weights[3] == pytest.approx(0.75 * 0.5)
    assert weights[4] == pytest.approx(0.60 * 0.5)
    assert weights[11] == pytest.approx(0.40 * 0.5)
    assert order(found)[0] == 12


def test_a_head_that_a_model_refuses_draws_the_rest_down() -> None:
    found = rerank(ranked(0.5, 0.4, 0.39), query.parse("q"), says(0.0, 0.0, kind="model", head=2))
    assert order(found) == [1, 2, 3]
    assert found[2].parts["behind"] < 0


def test_nothing_found_is_read_by_nobody() -> None:
    def read(question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        raise AssertionError("there is nothing to read")

    assert rerank([], query.parse("q"), Reranker("local", read)) == []
    assert reranking.POSITIONS[-1][0] == reranking.MODEL_HEAD
