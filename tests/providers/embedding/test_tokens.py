"""A vector for every token, by the bundled model's first layers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from commonplace.base.errors import ProviderError
from commonplace.providers.embedding import builtin
from commonplace.providers.embedding.builtin import TokenEmbedder

TEXTS = ("Melanie ran a charity race", "the unhappily misspelt Kubernetess", "她喜欢爬山", "?!")


@pytest.fixture(scope="module")
def model() -> TokenEmbedder:
    return TokenEmbedder()


def test_every_word_piece_has_a_unit_row(model: TokenEmbedder) -> None:
    (tokens,) = model.embed(["Melanie ran a charity race"])
    assert tokens.pieces == ("melanie", "ran", "a", "charity", "race")
    assert tokens.vectors.shape == (5, 384)
    assert tokens.vectors.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(tokens.vectors, axis=1), 1, atol=1e-5)


def test_a_word_in_pieces_says_so(model: TokenEmbedder) -> None:
    (tokens,) = model.embed(["Kubernetess"])
    assert len(tokens.pieces) > 1
    assert all(piece.startswith("##") for piece in tokens.pieces[1:])


def test_the_same_word_is_near_and_a_related_one_nearer_than_a_strange_one(model: TokenEmbedder) -> None:
    bought, purchased, mountain = (
        model.embed([text])[0].vectors[0] for text in ("bought", "purchased", "fog")
    )
    assert bought @ purchased > bought @ mountain + 0.1


def test_a_vector_depends_on_its_text_alone(model: TokenEmbedder) -> None:
    alone = [model.embed([text])[0].vectors.tobytes() for text in TEXTS]
    assert [tokens.vectors.tobytes() for tokens in model.embed(TEXTS)] == alone


def test_a_long_text_is_cut_where_the_model_ends(model: TokenEmbedder) -> None:
    (tokens,) = model.embed(["word " * 1000])
    assert len(tokens.pieces) == len(tokens.vectors) == builtin.MAX_TOKENS - 2


@pytest.mark.parametrize("text", ["", " ", "\ud800", "\0"])
def test_a_text_without_words_has_no_rows_or_few(model: TokenEmbedder, text: str) -> None:
    (tokens,) = model.embed([text])
    assert tokens.vectors.shape == (len(tokens.pieces), 384)


def test_no_texts_load_nothing() -> None:
    model = TokenEmbedder()
    assert model.embed([]) == []
    assert not model.shared.loaded


def test_a_changed_model_is_refused(tmp_path: Path) -> None:
    for name in (builtin.MODEL, builtin.TOKENIZER):
        shutil.copy(builtin.FOLDER / name, tmp_path / name)
    (tmp_path / builtin.MODEL).write_bytes(b"no model")
    with pytest.raises(ProviderError, match="reinstall"):
        TokenEmbedder(tmp_path).embed(["a text"])
