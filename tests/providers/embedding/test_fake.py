"""The fake model: vectors that can be computed by hand."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers.embedding.fake import FakeEmbedder


def test_each_word_adds_one_to_its_dimension() -> None:
    tea, milk = (zlib.crc32(word) % 64 for word in (b"tea", b"milk"))
    assert tea != milk
    (row,) = FakeEmbedder().embed(["Tea, tea; milk!"], "passage")
    expected = np.zeros(64)
    expected[[tea, milk]] = 2 / 5**0.5, 1 / 5**0.5
    np.testing.assert_allclose(row, expected, atol=1e-6)


def test_a_text_without_words_gets_the_first_unit_vector() -> None:
    for text in ["", "?!", " \n"]:
        (row,) = FakeEmbedder(8).embed([text], "query")
        assert row.tolist() == [1, 0, 0, 0, 0, 0, 0, 0], text


def test_no_texts_give_no_rows() -> None:
    assert FakeEmbedder(8).embed([], "passage").shape == (0, 8)


def test_calls_are_counted() -> None:
    model = FakeEmbedder()
    model.embed(["a", "b"], "passage")
    model.embed(["c"], "query")
    assert model.calls == [2, 1]


def test_size_and_scripts_are_chosen() -> None:
    model = FakeEmbedder(16, frozenset({"latin", "cjk"}))
    assert (model.dimensions, model.scripts) == (16, {"latin", "cjk"})
    assert model.fingerprint != FakeEmbedder(32).fingerprint


@given(st.lists(st.text(st.characters(), max_size=50), max_size=5))
def test_any_texts_give_unit_rows_whatever_the_batch(texts: list[str]) -> None:
    model = FakeEmbedder()
    rows = model.embed(texts, "passage")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), np.ones(len(texts)), atol=1e-6)
    assert [model.embed([text], "passage").tobytes() for text in texts] == [row.tobytes() for row in rows]
