"""A vector for every word of a text, by the bundled model's third layer, and their signs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from commonplace.providers.embedding import base
from commonplace.providers.embedding.base import of_signs, signs
from commonplace.providers.embedding.builtin import BuiltinEmbedder

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

TEXTS = ("Melanie ran a charity race", "the unhappily misspelt Kubernetess", "?!")


@pytest.fixture(scope="module")
def model() -> BuiltinEmbedder:
    return BuiltinEmbedder()


def words(model: BuiltinEmbedder, text: str, start: int = 0) -> Floats:
    return model.embed_words([text], [start])[1][0]


def test_every_word_that_says_something_has_a_unit_row(model: BuiltinEmbedder) -> None:
    found = words(model, "Melanie ran a charity race")
    assert (found.shape, found.dtype) == ((4, 384), np.float32)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-5)
    assert len(words(model, "who is the one?")) == len(words(model, "who is the one")) + 1, "nothing else"


def test_the_text_has_the_vector_that_it_has_alone(model: BuiltinEmbedder) -> None:
    rows, _ = model.embed_words(TEXTS, [0, 3, 0])
    assert rows.tobytes() == model.embed(TEXTS, "passage").tobytes()
    assert model.embed_words([], [])[0].shape == (0, 384)


def test_words_before_the_start_are_left_out(model: BuiltinEmbedder) -> None:
    text = "Harbour › Boats\nNora painted the boat"
    assert words(model, text, text.index("Nora")).tobytes() == words(model, text)[2:].tobytes()


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\0"])
def test_a_text_without_words_has_no_rows_or_few(model: BuiltinEmbedder, text: str) -> None:
    assert words(model, text).shape[1] == 384


@given(st.integers(0, 5), st.integers(1, 6), st.randoms(use_true_random=False))
@settings(max_examples=20)
def test_signs_come_back_as_they_were(count: int, eighths: int, chance: object) -> None:
    rows = np.random.default_rng(chance.randint(0, 999)).standard_normal((count, 8 * eighths), np.float32)  # type: ignore[attr-defined]
    kept = signs(rows)
    assert len(kept) == count * eighths
    back = of_signs(kept, 8 * eighths)
    assert ((back > 0) == (rows > 0)).all()
    np.testing.assert_allclose(np.linalg.norm(back, axis=1), 1, atol=1e-5)


def test_parts_of_a_fingerprint() -> None:
    whole = base.joined("english", words="w1", han="h1")
    assert base.whole(whole) == base.part_for("tea", whole) == "english"
    assert base.part_for("tea", whole, words=True) == base.part_for(
        "tea", base.joined("english", words="w1", han="h2"), words=True
    )
    assert base.part_for("茶", whole) != base.part_for("茶", base.joined("english", words="w1", han="h2"))
    assert base.part_for("茶", "remote|a=b", words=True) == "remote|a=b"
    assert base.keeps_words("tea", whole)
    assert not base.keeps_words("茶", whole)
    assert not base.keeps_words("tea", "remote|a=b")
    assert base.gives_words(BuiltinEmbedder())
