"""Scores on one scale."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers import reranking as remote

LOGITS = st.floats(-1e300, 1e300)


@given(LOGITS)
def test_a_logit_becomes_a_probability(logit: float) -> None:
    found = remote.sigmoid(logit)
    assert 0 <= found <= 1
    assert found + remote.sigmoid(-logit) == pytest.approx(1)


def test_known_values() -> None:
    assert remote.sigmoid(0) == 0.5
    assert remote.sigmoid(math.log(3)) == pytest.approx(0.75)


@given(st.lists(LOGITS, min_size=2))
def test_the_order_of_logits_stays(logits: list[float]) -> None:
    found = remote.bounded(logits, logits=True)
    for (one, first), (other, second) in zip(
        zip(logits, found, strict=True), zip(logits[1:], found[1:], strict=True), strict=False
    ):
        assert first <= second if one <= other else first >= second


def test_probabilities_stay_and_roundings_are_cut() -> None:
    assert not remote.are_logits([0.0, 0.5, 1.0, 1 + 1e-9, -1e-9])
    assert remote.bounded([0.25, 1 + 1e-9, -1e-9], logits=False) == [0.25, 1.0, 0.0]
    assert remote.are_logits([0.5, 1.01])
    assert remote.are_logits([-0.01, 0.5])
    assert not remote.are_logits([])
