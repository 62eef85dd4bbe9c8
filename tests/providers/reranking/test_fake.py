"""The reranker for tests: its scores can be worked out by hand."""

from __future__ import annotations

from commonplace.providers.catalog import RERANKERS
from commonplace.providers.reranking.fake import FakeReranker
from commonplace.providers.spec import Spec


def test_it_scores_by_the_words_that_both_hold() -> None:
    found = FakeReranker()
    assert found.score("Green tea, green cups", ["TEA and cups", "coffee", "green tea cups"]) == [2 / 3, 0, 1]
    assert found.score("", ["tea"]) == [0]
    assert found.calls == [
        ("Green tea, green cups", ("TEA and cups", "coffee", "green tea cups")),
        ("", ("tea",)),
    ]


def test_it_has_a_name_and_is_made_once() -> None:
    assert RERANKERS.create("fake").name == "fake:words"
    assert RERANKERS.create(Spec("fake", "mine")).name == "fake:mine"
    assert RERANKERS.create("fake") is RERANKERS.create("fake")
