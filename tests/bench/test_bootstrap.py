"""Intervals and p: against the normal approximation, and where nothing differs."""

from __future__ import annotations

import math

import compare_answers as comparison
import numpy as np
import pytest


def test_an_interval_is_that_of_the_mean() -> None:
    values = np.random.default_rng(1).normal(0.1, 1.0, size=(400, 1))
    (found,) = comparison.paired(values)
    error = values.std() / math.sqrt(len(values))
    assert found.mean == pytest.approx(values.mean())
    assert found.low == pytest.approx(found.mean - 1.96 * error, abs=0.1 * error)
    assert found.high == pytest.approx(found.mean + 1.96 * error, abs=0.1 * error)
    normal = math.erfc(abs(found.mean) / error / math.sqrt(2))
    assert found.p == pytest.approx(normal, abs=0.02)


def test_columns_are_resampled_together_and_the_same_every_time() -> None:
    values = np.random.default_rng(2).normal(size=(30, 1))
    table = np.hstack([values, -values, values * 0])
    one, other, nothing = comparison.paired(table)
    assert (one.mean, one.low) == (-other.mean, pytest.approx(-other.high))
    assert (nothing.mean, nothing.low, nothing.high, nothing.p) == (0.0, 0.0, 0.0, 1.0)
    assert comparison.paired(table) == [one, other, nothing]


def test_blocks_make_no_difference_to_how_many_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    values = np.array([[0.0], [1.0], [1.0], [1.0]])
    whole = comparison.paired(values)
    monkeypatch.setattr(comparison, "BLOCK", 4 * 777)
    assert comparison.paired(values) == whole


def test_a_difference_everywhere_is_sure() -> None:
    (found,) = comparison.paired(np.ones((20, 1)))
    assert (found.low, found.high) == (1.0, 1.0)
    assert found.p < 0.001
