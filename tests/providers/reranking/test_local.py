"""Exported cross-encoders: scores as computed by hand; told when a folder holds none."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("onnx", reason="graphs are made with onnx")

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers.catalog import RERANKERS, Spec
from commonplace.providers.local import LocalReranker, Pairing, load_onnx_reranker
from commonplace.providers.reranking import sigmoid
from tests.providers.embedding.graphs import write_json
from tests.providers.reranking.graphs import logit, write_model, write_tokenizer

QUESTION = "walnut tea"
TEXTS = ["tea", "desk desk", "", "milk 茶 nobody knows", "tea " * 60, "\ud800 half", "x\x00y"]


def model(folder: Path, **fields: Any) -> LocalReranker:
    return load_onnx_reranker(Spec("onnx", path=str(folder), **fields))


def by_hand(question: str, texts: list[str]) -> list[float]:
    return [sigmoid(logit(question, text)) for text in texts]


@pytest.mark.parametrize("fields", [{}, {"classes": 2}, {"flat": True}, {"output": "score"}])
def test_scores_are_those_computed_by_hand(tmp_path: Path, fields: dict[str, Any]) -> None:
    found = model(write_model(tmp_path, **fields))
    assert found.score(QUESTION, TEXTS) == pytest.approx(by_hand(QUESTION, TEXTS), abs=1e-6)
    assert found.score(QUESTION, []) == []


def test_the_text_is_cut_and_of_the_question_half_is_kept(tmp_path: Path) -> None:
    found = model(write_model(tmp_path))
    long = "tea " * 3 + "walnut " * 60
    assert found.score(long, ["milk " * 60, "desk"]) == pytest.approx(by_hand(long, ["milk " * 60, "desk"]))
    assert by_hand(long, ["desk"]) != by_hand("tea", ["desk"])


def test_the_others_change_nothing(tmp_path: Path) -> None:
    found = model(write_model(tmp_path))
    alone = {text: found.score(QUESTION, [text])[0] for text in TEXTS}
    shuffled = TEXTS * 5
    random.Random(1).shuffle(shuffled)
    assert found.score(QUESTION, shuffled) == [alone[text] for text in shuffled]


def test_it_is_loaded_for_its_first_pair_and_given_back(tmp_path: Path) -> None:
    found = model(write_model(tmp_path))
    assert not found.shared.loaded
    found.score(QUESTION, ["tea"])
    assert found.shared.loaded
    found.shared._idle_s = 0
    assert found.shared.expire() is None
    assert not found.shared.loaded
    assert found.score(QUESTION, ["tea"]) == pytest.approx(by_hand(QUESTION, ["tea"]))


def test_the_name_is_that_of_the_settings_or_of_the_folder(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "tiny-reranker")
    assert RERANKERS.create(Spec("onnx", path=str(folder))).name == "onnx:tiny-reranker"
    assert RERANKERS.create(Spec("onnx", "mine", path=str(folder / "model.onnx"))).name == "onnx:mine"


def test_a_model_that_takes_too_long_is_an_error() -> None:
    class Tokenizer:
        def encode(self, *texts: str, **options: object) -> Tokenizer:
            return self

        ids: tuple[int, ...] = ()

    spec = Spec("onnx", query_deadline_s=0.0)
    slow = Pairing(Tokenizer(), 12, lambda *pair: 0.5)  # type: ignore[arg-type]
    found = LocalReranker(spec, "slow", "slow", lambda: slow, 12)
    with pytest.raises(ProviderError, match="onnx: the model did not score 2 texts within 0 s") as caught:
        found.score("tea", ["tea", "milk"])
    assert not caught.value.permanent


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"classes": 3}, "the output logits is 1 x 3, not 1 x 1 or 1 x 2: it is no cross-encoder"),
        ({"output": "hidden", "extra": "pooled"}, "the graph gives hidden, pooled; it needs logits"),
        ({"broken": True}, "its score is no number"),
        ({"inputs": ("input_ids", "token_type_ids", "pixel_values")}, "the graph wants pixel_values"),
    ],
)
def test_a_graph_that_is_no_cross_encoder_is_told(tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ProviderError, match=told):
        model(write_model(tmp_path, **fields)).score(QUESTION, ["tea"])


def test_what_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"reranking\.path: the onnx provider needs the path of a folder"):
        load_onnx_reranker(Spec("onnx"))
    with pytest.raises(ProviderError, match="gone is not there"):
        model(tmp_path / "gone")
    with pytest.raises(ProviderError, match=r"no model\.onnx"):
        model(tmp_path)
    write_model(tmp_path)
    (tmp_path / "model.onnx").write_bytes(b"nothing")
    with pytest.raises(ProviderError, match="the model cannot be loaded"):
        model(tmp_path).score(QUESTION, ["tea"])


def test_a_broken_tokenizer_is_told(tmp_path: Path) -> None:
    write_model(tmp_path)
    write_json(tmp_path / "tokenizer.json", {"no": "tokenizer"})
    with pytest.raises(ProviderError, match=r"tokenizer\.json cannot be read"):
        model(tmp_path).score(QUESTION, ["tea"])
    write_tokenizer(tmp_path / "tokenizer.json")
    assert model(tmp_path).score(QUESTION, ["tea"]) == pytest.approx(by_hand(QUESTION, ["tea"]))
