"""A model behind cache and breaker: the same rows whoever knew them, nothing asked twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.cache import VectorCache
from commonplace.providers.embedding.base import Kind, quantize
from commonplace.providers.embedding.remote import GuardedEmbedder
from commonplace.providers.fake import FakeEmbedder
from commonplace.providers.guard import Breaker

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats


class Failing(FakeEmbedder):
    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        self.calls.append(len(texts))
        raise ProviderError("fake", "wrong key", permanent=True)


@pytest.fixture
def store(tmp_path: Path) -> VectorCache:
    return VectorCache(str(tmp_path / "vectors.sqlite"))


def test_only_what_is_new_is_embedded(store: VectorCache) -> None:
    texts = [f"passage {n}" for n in range(990)]
    first = FakeEmbedder()
    GuardedEmbedder(first, store=store).embed(texts, "passage")
    model = FakeEmbedder()
    guarded = GuardedEmbedder(model, store=store)
    guarded.embed([*texts, *(f"new {n}" for n in range(10))], "passage")
    assert sum(first.calls) == 990
    assert sum(model.calls) == 10


def test_the_index_keeps_the_same_bytes_whoever_knew_them(store: VectorCache) -> None:
    texts = ["walnut desk", "brass lamp", "a a a b"]
    plain = quantize(FakeEmbedder().embed(texts, "passage"))
    guarded = GuardedEmbedder(FakeEmbedder(), store=store)
    for _ in range(2):
        assert quantize(guarded.embed(texts, "passage")).tobytes() == plain.tobytes()


def test_questions_and_passages_are_kept_apart(store: VectorCache) -> None:
    model = FakeEmbedder()
    guarded = GuardedEmbedder(model, store=store)
    guarded.embed(["a"], "passage")
    guarded.embed(["a"], "query")
    guarded.embed(["a"], "query")
    assert model.calls == [1, 1]


def test_a_broken_provider_is_asked_once_and_what_is_known_still_answers(
    store: VectorCache,
) -> None:
    GuardedEmbedder(FakeEmbedder(), store=store).embed(["known"], "passage")
    model, breaker = Failing(), Breaker()
    guarded = GuardedEmbedder(model, store=store, breaker=breaker)
    for _ in range(5):
        with pytest.raises(ProviderError):
            guarded.embed(["new"], "passage")
    assert model.calls == [1]
    assert guarded.embed(["known"], "passage").shape == (1, 64)


def test_another_model_behind_the_same_name_is_refused_and_then_asked_for_all(store: VectorCache) -> None:
    GuardedEmbedder(FakeEmbedder(16), store=store).embed(["a", "b"], "passage")
    other = FakeEmbedder(32)
    other.fingerprint = FakeEmbedder(16).fingerprint
    with pytest.raises(ProviderError, match="several lengths"):
        GuardedEmbedder(other, store=store).embed(["b", "c"], "passage")
    assert GuardedEmbedder(other, store=store).embed(["b", "c"], "passage").shape == (2, 32)
    assert other.calls == [1, 1]
    assert GuardedEmbedder(other, store=store).embed(["a"], "passage").shape == (1, 32)
