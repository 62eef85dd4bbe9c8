"""The reranker for tests: its scores can be worked out by hand."""

from __future__ import annotations

from commonplace.reranking import registry
from commonplace.reranking.base import Spec
from commonplace.reranking.fake import FakeReranker


def test_it_scores_by_the_words_that_both_hold() -> None:
    found = FakeReranker()
    assert found.score("Green tea, green cups", ["TEA and cups", "coffee", "green tea cups"]) == [2 / 3, 0, 1]
    assert found.score("", ["tea"]) == [0]
    assert found.calls == [
        ("Green tea, green cups", ("TEA and cups", "coffee", "green tea cups")),
        ("", ("tea",)),
    ]


def test_it_has_a_name_and_is_made_once() -> None:
    assert registry.create("fake").name == "fake:words"
    assert registry.create(Spec("fake", "mine")).name == "fake:mine"
    assert registry.create("fake") is registry.create("fake")
