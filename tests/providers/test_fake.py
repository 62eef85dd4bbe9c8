"""Models for tests: vectors and scores that can be worked out by hand."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers.fake import FakeEmbedder, FakeReranker


def test_each_word_adds_one_to_its_dimension() -> None:
    tea, milk = (zlib.crc32(word) % 64 for word in (b"tea", b"milk"))
    assert tea != milk
    (row,) = FakeEmbedder().embed(["Tea, tea; milk!"], "passage")
    expected = np.zeros(64)
    expected[[tea, milk]] = 2 / 5**0.5, 1 / 5**0.5
    np.testing.assert_allclose(row, expected, atol=1e-6)


@given(st.lists(st.text(st.characters(), max_size=50), max_size=5))
def test_any_texts_give_unit_rows_whatever_the_batch(texts: list[str]) -> None:
    model = FakeEmbedder()
    rows = model.embed(texts, "passage")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.ones(len(texts)), atol=1e-6)
    assert [model.embed([text], "passage").tobytes() for text in texts] == [row.tobytes() for row in rows]


def test_a_reranker_scores_by_the_words_that_both_hold() -> None:
    found = FakeReranker()
    assert found.score("Green tea, green cups", ["TEA and cups", "coffee", "green tea cups"]) == [2 / 3, 0, 1]
    assert found.score("", ["tea"]) == [0]
    assert found.calls == [
        ("Green tea, green cups", ("TEA and cups", "coffee", "green tea cups")),
        ("", ("tea",)),
    ]
