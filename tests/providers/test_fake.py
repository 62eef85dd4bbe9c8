"""Models for tests: vectors and scores that can be worked out by hand."""

from __future__ import annotations

import zlib

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers.catalog import RERANKERS, Spec
from commonplace.providers.fake import FakeEmbedder, FakeReranker


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


def test_a_reranker_scores_by_the_words_that_both_hold() -> None:
    found = FakeReranker()
    assert found.score("Green tea, green cups", ["TEA and cups", "coffee", "green tea cups"]) == [2 / 3, 0, 1]
    assert found.score("", ["tea"]) == [0]
    assert found.calls == [
        ("Green tea, green cups", ("TEA and cups", "coffee", "green tea cups")),
        ("", ("tea",)),
    ]


def test_a_reranker_has_a_name_and_is_made_once() -> None:
    assert RERANKERS.create("fake").name == "fake:words"
    assert RERANKERS.create(Spec("fake", "mine")).name == "fake:mine"
    assert RERANKERS.create("fake") is RERANKERS.create("fake")
