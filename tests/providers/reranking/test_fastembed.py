"""Cross-encoders through fastembed: its real API on a tiny model, never a download unless asked for."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from commonplace.base.errors import MissingExtra
from commonplace.providers import fastembed
from commonplace.providers.catalog import RERANKERS, Spec
from commonplace.providers.fastembed import LocalReranker, folder, load_reranker
from commonplace.providers.reranking import sigmoid

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")

NAME = "Xenova/ms-marco-MiniLM-L-6-v2"
REVISION = "0123456789abcdef0123456789abcdef01234567"
TEXTS = ["tea", "desk desk", "", "milk 茶 nobody knows", "tea " * 60, "\ud800 half"]


def write_cache(name: str = NAME) -> Path:
    """A model in our folder, as its download leaves it."""
    from tests.providers.reranking.graphs import write_model

    place = folder() / f"models--{name.replace('/', '--')}"
    write_model(place / "snapshots" / REVISION, "onnx/model.onnx")
    (place / "refs").mkdir()
    (place / "refs" / "main").write_text(REVISION)
    return place / "snapshots" / REVISION


def model(name: str = "", **fields: Any) -> LocalReranker:
    return load_reranker(Spec("fastembed", name, **fields))


@pytest.fixture
def by_hand() -> Any:
    from tests.providers.reranking.graphs import logit

    return lambda question, texts: [sigmoid(logit(question, text)) for text in texts]


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match=r"pip install .*'fastembed<1,>=0.6'"):
        RERANKERS.create(Spec("fastembed"))


@needs_fastembed
def test_scores_are_those_computed_by_hand(by_hand: Any) -> None:
    write_cache()
    found = model()
    assert found.name == f"fastembed:{NAME}"
    assert not found.shared.loaded
    assert found.score("walnut tea", TEXTS) == pytest.approx(by_hand("walnut tea", TEXTS), abs=1e-6)
    long = "tea " * 3 + "walnut " * 60
    assert found.score(long, TEXTS) == pytest.approx(by_hand(long, TEXTS), abs=1e-6)


@needs_fastembed
def test_fetching_one_that_is_here_reaches_for_nothing() -> None:
    place = write_cache()
    assert fastembed.fetch(Spec("fastembed", NAME)) == (NAME, place)
