"""Cross-encoders through fastembed, never a download unless asked for."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from types import SimpleNamespace

import pytest

from commonplace.base.errors import MissingExtra, ProviderError
from commonplace.providers import fastembed
from commonplace.providers.catalog import RERANKERS, Spec
from commonplace.providers.fastembed import LocalReranker, folder
from commonplace.providers.reranking import sigmoid
from commonplace.providers.runtime import Shared

HERE = find_spec("fastembed") is not None and find_spec("onnx") is not None
needs_fastembed = pytest.mark.skipif(not HERE, reason="fastembed is an extra")

NAME = "Xenova/ms-marco-MiniLM-L-6-v2"
REVISION = "0123456789abcdef0123456789abcdef01234567"


def write_cache(name: str = NAME) -> Path:
    """The files of a model in our folder, as its download leaves them, but empty."""
    place = folder() / f"models--{name.replace('/', '--')}" / "snapshots" / REVISION
    (place / "onnx").mkdir(parents=True)
    for file in ("onnx/model.onnx", "config.json", "tokenizer.json"):
        (place / file).touch()
    return place


def test_without_it_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(MissingExtra, match=r"pip install .*'fastembed<1,>=0.6'"):
        RERANKERS.create(Spec("fastembed"))


@needs_fastembed
def test_a_text_has_the_probability_of_its_logit_and_nothing_is_fetched() -> None:
    spec = Spec("fastembed", query_deadline_s=60)
    with pytest.raises(ProviderError, match="is not on this machine") as caught:
        LocalReranker(spec)
    assert caught.value.permanent
    place = write_cache()
    assert fastembed.fetch(Spec("fastembed", NAME.upper())) == (NAME, place)
    found = LocalReranker(spec)
    assert found.name == f"fastembed:{NAME}"

    def rerank(question: str, texts: list[str]) -> Iterator[float]:
        return (float(len(set(text.split()) & set(question.split()))) for text in texts)

    found.shared = Shared(lambda: SimpleNamespace(rerank=rerank))
    scores = found.score("walnut tea", ["tea", "walnut tea", "\ud800"])
    assert scores == [sigmoid(1.0), sigmoid(2.0), sigmoid(0.0)]
    assert found.score("walnut", []) == []
    slow = LocalReranker(Spec("fastembed", query_deadline_s=0))
    slow.shared = found.shared
    with pytest.raises(ProviderError, match="did not score 2 texts within 0 s"):
        slow.score("tea", ["a", "b"])
