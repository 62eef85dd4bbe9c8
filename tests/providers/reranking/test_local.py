"""Rerankers in this process: loaded late, given back, and ended by their deadline."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.fastembed import LocalReranker
from commonplace.providers.reranking import sigmoid


class Encoder:
    def rerank(self, question: str, texts: list[str]) -> list[int]:
        return [len(text) for text in texts]


def model(**fields: float) -> LocalReranker:
    return LocalReranker(Spec("fastembed", **fields), "slow", Encoder)  # type: ignore[arg-type]


def test_it_is_loaded_for_its_first_pair_and_given_back() -> None:
    found = model()
    assert found.score("tea", []) == []
    assert not found.shared.loaded
    assert found.score("tea", ["tea", "", "milk"]) == [sigmoid(3), 0.5, sigmoid(4)]
    assert found.shared.loaded
    found.shared._idle_s = 0
    assert found.shared.expire() is None
    assert not found.shared.loaded
    assert found.score("tea", ["tea"]) == [sigmoid(3)]


def test_a_model_that_takes_too_long_is_an_error() -> None:
    with pytest.raises(
        ProviderError, match="fastembed: the model did not score 2 texts within 0 s"
    ) as caught:
        model(query_deadline_s=0.0).score("tea", ["tea", "milk"])
    assert not caught.value.permanent
