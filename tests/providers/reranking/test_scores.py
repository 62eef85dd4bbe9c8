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
