"""The nearest by signs are the nearest by cosine, up to what a large memory cannot afford."""

from __future__ import annotations

import numpy as np
import pytest

from commonplace.index.sqlite import matrix
from commonplace.index.sqlite.matrix import Matrix
from commonplace.providers.embedding.base import quantize, unit_rows


def rows(count: int, dimensions: int = 48, seed: int = 3) -> np.ndarray:
    """Rows in clumps, as texts lie: independent ones are all equally far from each other."""
    chance = np.random.default_rng(seed)
    centres = chance.normal(size=(40, dimensions))
    near = centres[chance.integers(0, 40, count)] + 0.6 * chance.normal(size=(count, dimensions))
    return quantize(near.astype(np.float32))


def exact(stored: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return unit_rows([row.tobytes() for row in stored]) @ vector


def question(stored: np.ndarray, number: int) -> np.ndarray:
    own = stored[number].astype(np.float32) + 10
    return np.asarray(own / np.linalg.norm(own), np.float32)


def test_a_small_memory_is_searched_whole() -> None:
    stored = rows(500)
    ids = np.arange(500, dtype=np.int64) * 3 + 7
    asked = question(stored, 11)
    cosines = exact(stored, asked)
    found = Matrix(ids, stored).nearest([None], asked, 20)
    best = np.lexsort((ids, -cosines))[:20]
    assert [passage for passage, _ in found] == ids[best].tolist()
    assert [cosine for _, cosine in found] == pytest.approx(cosines[best].tolist(), abs=1e-5)


def test_of_a_large_one_the_nearest_are_found_by_their_signs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "EXACT", 600)
    stored = rows(9000)
    large = Matrix(np.arange(9000, dtype=np.int64), stored)
    for number in range(0, 9000, 1500):
        asked = question(stored, number)
        best = set(np.argsort(-exact(stored, asked))[:30].tolist())
        found = large.nearest([None], asked, 30)
        assert len(best & {passage for passage, _ in found}) >= 27
        assert found[0][0] in best
        assert [cosine for _, cosine in found] == sorted((c for _, c in found), reverse=True)


def test_each_scope_gets_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(matrix, "EXACT", 100)
    stored = rows(1000)
    rare = np.zeros(1000, bool)
    rare[[3, 500, 999]] = True
    asked = question(stored, 40)
    found = Matrix(np.arange(1000, dtype=np.int64), stored).nearest([None, rare], asked, 5)
    assert {3, 500, 999} <= {passage for passage, _ in found}
    assert len(found) <= 8
    nothing = np.zeros(1000, bool)
    assert Matrix(np.arange(1000, dtype=np.int64), stored).nearest([nothing], asked, 5) == []


@pytest.mark.parametrize("dimensions", [1, 8, 63, 64, 65, 384])
def test_any_number_of_dimensions(monkeypatch: pytest.MonkeyPatch, dimensions: int) -> None:
    monkeypatch.setattr(matrix, "EXACT", 4)
    stored = rows(50, dimensions)
    asked = question(stored, 7)
    found = Matrix(np.arange(50, dtype=np.int64), stored).nearest([None], asked, 3)
    cosines = exact(stored, asked)
    assert dict(found) == pytest.approx({passage: float(cosines[passage]) for passage, _ in found}, abs=1e-5)


def test_cosines_of_passages_that_have_none_are_left_out() -> None:
    stored = rows(10)
    own = Matrix(np.arange(10, dtype=np.int64) * 2, stored)
    asked = question(stored, 1)
    assert set(own.cosines(asked, [0, 3, 4, 99])) == {0, 4}
    empty = Matrix(np.empty(0, np.int64), np.empty((0, 0), np.int8))
    assert empty.cosines(asked, [1]) == {}
    assert empty.nearest([None], asked, 3) == []
