"""Two lists made one, worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.search.fusion import BONUSES, RANK_CONSTANT, Scores, normalize, ranks

SCORES = st.dictionaries(st.integers(0, 20), st.floats(0, 1e6, allow_subnormal=False), max_size=8)


def by_rank(lists: Sequence[tuple[Scores, float]], bonuses: Sequence[float] = ()) -> dict[int, float]:
    """Ranks with what is added for first places."""
    plain, first = ranks(lists, bonuses)
    return {passage: score + first.get(passage, 0.0) for passage, score in plain.items()}


def test_the_best_of_a_question_becomes_one() -> None:
    for scores, expected in [
        ({}, {}),
        ({1: 4.0, 2: 1.0}, {1: 1.0, 2: 0.25}),
        ({1: 0.0}, {}),
        ({1: -2.0, 2: -1.0}, {}),
        ({1: 2.0, 2: -1.0}, {1: 1.0, 2: -0.5}),
    ]:
        assert normalize(scores) == expected


def test_no_lists_are_no_scores() -> None:
    assert by_rank([]) == by_rank([({}, 0.5), ({}, 0.5)]) == {}


def test_first_everywhere_is_one() -> None:
    assert by_rank([({1: 9.0, 2: 1.0}, 0.5), ({1: 0.2}, 0.5)])[1] == pytest.approx(1.0)


def test_ranks_are_worth_what_the_formula_says() -> None:
    k = RANK_CONSTANT
    fused = by_rank([({1: 9.0, 2: 8.0, 3: 7.0}, 0.5), ({3: 1.0}, 0.5)])
    assert fused == pytest.approx({1: 0.5, 2: 0.5 * (k + 1) / (k + 2), 3: 0.5 * (k + 1) / (k + 3) + 0.5})


def test_equal_scores_rank_by_passage() -> None:
    assert by_rank([({5: 1.0, 2: 1.0}, 1.0)]) == by_rank([({2: 1.0, 5: 1.0}, 1.0)])
    assert by_rank([({5: 1.0, 2: 1.0}, 1.0)])[2] == 1.0


def test_an_empty_list_takes_no_share() -> None:
    assert by_rank([({1: 3.0}, 0.5), ({}, 0.5)]) == {1: 1.0}


@given(SCORES)
def test_normalizing_keeps_the_order_and_ends_at_one(scores: dict[int, float]) -> None:
    found = normalize(scores)
    assert max(found.values(), default=1.0) == 1.0
    assert all(found[a] <= found[b] for a in found for b in found if scores[a] < scores[b])


@given(st.lists(st.tuples(SCORES, st.floats(0.1, 1)), max_size=4))
def test_fused_scores_lie_within_one_whatever_the_order_of_the_lists(
    lists: list[tuple[dict[int, float], float]],
) -> None:
    fused = by_rank(lists)
    assert set(fused) == {passage for scores, _ in lists for passage in scores}
    assert all(0 < value <= 1 + 1e-9 for value in fused.values())
    assert by_rank(lists[::-1]) == pytest.approx(fused)


@given(SCORES)
def test_only_the_order_of_a_list_counts_by_rank(scores: dict[int, float]) -> None:
    order = sorted(set(scores.values()))
    places = {passage: float(order.index(score)) for passage, score in scores.items()}
    assert by_rank([(places, 1.0)]) == by_rank([(scores, 1.0)])


def test_first_places_may_have_a_bonus() -> None:
    words, meaning = {1: 3.0, 2: 2.0, 3: 1.0, 4: 0.5}, {2: 0.9, 1: 0.8}
    plain, first = ranks([(words, 2.0), (meaning, 2.0)], BONUSES)
    most = 4 / 61 + 0.05
    assert plain[1] == pytest.approx((2 / 61 + 2 / 62) / most)
    assert first == {p: pytest.approx(b / most) for p, b in {1: 0.05, 2: 0.05, 3: 0.02}.items()}
    assert by_rank([(words, 2.0)], bonuses=BONUSES)[1] == pytest.approx(1.0)
