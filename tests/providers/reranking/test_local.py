"""Rerankers in this process: loaded late, given back, and ended by their deadline."""

from __future__ import annotations

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.catalog import Spec
from commonplace.providers.fastembed import LocalReranker, Pairing


class Tokenizer:
    ids: tuple[int, ...] = ()

    def encode(self, *texts: str, **options: object) -> Tokenizer:
        return self


def model(**fields: float) -> LocalReranker:
    pairing = Pairing(Tokenizer(), 12, lambda question, text: len(text) / 10)  # type: ignore[arg-type]
    return LocalReranker(Spec("fastembed", **fields), "slow", lambda: pairing)  # type: ignore[arg-type]


def test_it_is_loaded_for_its_first_pair_and_given_back() -> None:
    found = model()
    assert found.score("tea", []) == []
    assert not found.shared.loaded
    assert found.score("tea", ["tea", "", "milk"]) == [0.3, 0.0, 0.4]
    assert found.shared.loaded
    found.shared._idle_s = 0
    assert found.shared.expire() is None
    assert not found.shared.loaded
    assert found.score("tea", ["tea"]) == [0.3]


def test_a_model_that_takes_too_long_is_an_error() -> None:
    with pytest.raises(
        ProviderError, match="fastembed: the model did not score 2 texts within 0 s"
    ) as caught:
        model(query_deadline_s=0.0).score("tea", ["tea", "milk"])
    assert not caught.value.permanent
