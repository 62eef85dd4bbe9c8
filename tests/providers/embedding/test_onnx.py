"""Exported ONNX models: vectors as computed by hand, whatever the graph; told when they cannot be used."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="graphs are made with onnx")

from onnx import TensorProto

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.providers import local
from commonplace.providers.catalog import EMBEDDERS, Spec
from commonplace.providers.embedding import builtin
from commonplace.providers.local import LocalEmbedder
from tests.providers.embedding.graphs import (
    POSITIONS,
    SEGMENTS,
    TABLE,
    WIDTH,
    ids,
    unit,
    write_graph,
    write_json,
    write_model,
    write_tokenizer,
)

TEXT = "Walnut desk tea"
TEXTS = [
    "tea",
    "",
    "milk tea",
    "a text of words that nobody knows",
    TEXT,
    "tea " * 60,
    "\ud800 half a pair",
    "x\x00y",
]
BOTH = ("input_ids", "attention_mask")


def model(folder: Path, **fields: Any) -> LocalEmbedder[local.Network]:
    return local.load_onnx(Spec("onnx", path=str(folder), **fields))


def vector(folder: Path, text: str = TEXT, **fields: Any) -> np.ndarray:
    return model(folder, **fields).embed([text], "passage")[0]


def pooling(folder: Path, *names: str) -> None:
    write_json(folder / "1_Pooling" / "config.json", {f"pooling_mode_{name}": True for name in names})


# --- vectors --------------------------------------------------------------------------------------------


def test_tokens_are_averaged_where_nothing_is_said(tmp_path: Path) -> None:
    found = vector(write_model(tmp_path))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, unit(TABLE[ids(TEXT)].mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize(
    ("mode", "place"),
    [("mean_tokens", None), ("cls_token", 0), ("lasttoken", -1), ("mean_sqrt_len_tokens", None)],
)
def test_pooling_is_the_one_of_the_folder(tmp_path: Path, mode: str, place: int | None) -> None:
    write_model(tmp_path)
    pooling(tmp_path, mode)
    rows = TABLE[ids(TEXT)]
    expected = rows.mean(axis=0) if place is None else rows[place]
    np.testing.assert_allclose(vector(tmp_path), unit(expected), atol=1e-6)


def test_pooling_may_lie_elsewhere_and_be_a_word(tmp_path: Path) -> None:
    write_model(tmp_path)
    stages = [("0", "", "Transformer"), ("1", "2_Pool", "Pooling"), ("2", "3_Normalize", "Normalize")]
    rows = [{"idx": i, "path": path, "type": f"sentence_transformers.models.{t}"} for i, path, t in stages]
    write_json(tmp_path / "modules.json", rows)
    write_json(tmp_path / "2_Pool" / "config.json", {"pooling_mode": "cls"})
    np.testing.assert_allclose(vector(tmp_path), unit(TABLE[2]), atol=1e-6)


def test_a_family_known_for_its_pooling_needs_no_file(tmp_path: Path) -> None:
    write_model(tmp_path)
    write_json(tmp_path / "config.json", {"_name_or_path": "BAAI/bge-small-zh-v1.5"})
    found = model(tmp_path)
    assert (found.name, found.scripts) == ("BAAI/bge-small-zh-v1.5", {"cjk"})
    np.testing.assert_allclose(found.embed([TEXT], "passage")[0], unit(TABLE[2]), atol=1e-6)


@pytest.mark.parametrize("outputs", [["sentence_embedding"], ["last_hidden_state", "sentence_embedding"]])
def test_a_ready_sentence_embedding_is_believed(tmp_path: Path, outputs: list[str]) -> None:
    write_model(tmp_path, outputs=outputs)
    pooling(tmp_path, "cls_token")
    np.testing.assert_allclose(vector(tmp_path), unit(TABLE[ids(TEXT)].mean(axis=0)), atol=1e-6)


def test_a_pooler_output_counts_where_there_is_nothing_else(tmp_path: Path) -> None:
    write_model(tmp_path, outputs=["pooler_output", "flat"])
    np.testing.assert_allclose(vector(tmp_path), unit(-TABLE[2]), atol=1e-6)
    write_model(tmp_path, outputs=["pooler_output", "last_hidden_state"])
    np.testing.assert_allclose(vector(tmp_path), unit(TABLE[ids(TEXT)].mean(axis=0)), atol=1e-6)


@pytest.mark.parametrize("output", ["odd", "flat", "token_embeddings"])
def test_an_only_output_counts_whatever_its_name(tmp_path: Path, output: str) -> None:
    write_model(tmp_path, outputs=[output])
    np.testing.assert_allclose(vector(tmp_path), unit(TABLE[ids(TEXT)].mean(axis=0)), atol=1e-6)


def test_a_graph_is_fed_what_it_declares(tmp_path: Path) -> None:
    tokens = ids(TEXT)
    write_model(tmp_path, inputs=["input_ids"])
    np.testing.assert_allclose(vector(tmp_path), unit(TABLE[tokens].mean(axis=0)), atol=1e-6)
    write_model(tmp_path, inputs=[*BOTH, "token_type_ids", "position_ids"])
    rows = TABLE[tokens] + SEGMENTS[0] + POSITIONS[: len(tokens)]
    np.testing.assert_allclose(vector(tmp_path), unit(rows.mean(axis=0)), atol=1e-6)


def test_ids_of_32_bits(tmp_path: Path) -> None:
    write_model(tmp_path, inputs=[*BOTH, "token_type_ids"], id_kind=TensorProto.INT32)
    rows = TABLE[ids(TEXT)] + SEGMENTS[0]
    np.testing.assert_allclose(vector(tmp_path), unit(rows.mean(axis=0)), atol=1e-6)


def test_half_precision_gives_float32(tmp_path: Path) -> None:
    write_model(tmp_path, kind=TensorProto.FLOAT16)
    found = vector(tmp_path)
    assert found.dtype == np.float32
    half = TABLE.astype(np.float16).astype(np.float32)
    np.testing.assert_allclose(found, unit(half[ids(TEXT)].mean(axis=0)), atol=1e-6)


def test_weights_beside_the_graph_count(tmp_path: Path) -> None:
    write_model(tmp_path, external="model.onnx_data")
    found = model(tmp_path)
    np.testing.assert_allclose(
        found.embed([TEXT], "query")[0], unit(TABLE[ids(TEXT)].mean(axis=0)), atol=1e-6
    )
    data = tmp_path / "model.onnx_data"
    data.write_bytes(data.read_bytes()[::-1])
    assert model(tmp_path).fingerprint != found.fingerprint
    data.unlink()
    with pytest.raises(ProviderError, match=r"model\.onnx_data cannot be read"):
        model(tmp_path)


@pytest.mark.parametrize("marks", [True, False])
def test_the_batch_changes_nothing_and_any_text_gives_a_unit_row(tmp_path: Path, marks: bool) -> None:
    found = model(write_model(tmp_path, marks=marks))
    alone = {text: found.embed([text], "passage")[0].tobytes() for text in TEXTS}
    shuffled = TEXTS * 3
    random.Random(1).shuffle(shuffled)
    rows = found.embed(shuffled, "passage")
    assert [row.tobytes() for row in rows] == [alone[text] for text in shuffled]
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-6)
    assert found.embed([], "query").shape == (0, WIDTH)


def test_fewer_dimensions_are_the_first_ones(tmp_path: Path) -> None:
    write_model(tmp_path)
    found = model(tmp_path, dimensions=3)
    assert found.dimensions == 3
    mean = TABLE[ids(TEXT)].mean(axis=0)[:3]
    np.testing.assert_allclose(found.embed([TEXT], "query")[0], unit(mean), atol=1e-6)
    assert found.fingerprint != model(tmp_path).fingerprint
    for wrong in (0, WIDTH + 1):
        with pytest.raises(ConfigError, match=f"has {WIDTH} dimensions at most"):
            model(tmp_path, dimensions=wrong)


def test_the_bundled_model_is_an_exported_one_like_any_other() -> None:
    texts = ["where is my passport", "She keeps it in the drawer of the walnut desk.", ""]
    found = local.load_onnx(Spec("onnx", path=str(builtin.FOLDER))).embed(texts, "passage")
    np.testing.assert_allclose(found, builtin.BuiltinEmbedder().embed(texts, "passage"), atol=1e-6)


# --- what the files say ---------------------------------------------------------------------------------


def test_prefixes_come_from_the_folder_or_the_family(tmp_path: Path) -> None:
    write_model(tmp_path)
    bare = model(tmp_path)
    e5 = model(tmp_path, model="intfloat/multilingual-e5-small")
    prefixed = bare.embed(["query: tea", "passage: tea"], "passage")
    asked, stored = e5.embed(["tea"], "query")[0], e5.embed(["tea"], "passage")[0]
    assert (asked.tobytes(), stored.tobytes()) == (prefixed[0].tobytes(), prefixed[1].tobytes())
    assert e5.fingerprint != bare.fingerprint
    prompts = {"query": "milk ", "document": "desk ", "default": None}
    write_json(tmp_path / "config_sentence_transformers.json", {"prompts": prompts})
    own = model(tmp_path, model="intfloat/multilingual-e5-small")
    expected = bare.embed(["milk tea", "desk tea"], "passage")
    assert own.embed(["tea"], "query").tobytes() == expected[0].tobytes()
    assert own.embed(["tea"], "passage").tobytes() == expected[1].tobytes()


@pytest.mark.parametrize(
    ("files", "tokens"),
    [
        (
            {
                "sentence_bert_config.json": {"max_seq_length": 5},
                "tokenizer_config.json": {"model_max_length": 9},
            },
            5,
        ),
        ({"tokenizer_config.json": {"model_max_length": 9}}, 9),
        (
            {
                "tokenizer_config.json": {"model_max_length": int(1e30)},
                "config.json": {"max_position_embeddings": 12},
            },
            12,
        ),
        ({"config.json": {"max_position_embeddings": 12, "model_type": "xlm-roberta"}}, 10),
        ({"sentence_bert_config.json": {"max_seq_length": 90_000}}, local.MAX_TOKENS),
        ({}, 512),
    ],
)
def test_a_text_is_cut_where_the_files_say(tmp_path: Path, files: dict[str, object], tokens: int) -> None:
    write_model(tmp_path)
    for name, content in files.items():
        write_json(tmp_path / name, content)
    found = model(tmp_path)
    full = "tea " * (tokens - 2)
    rows = found.embed([full, full + "milk desk walnut", full + "milk " * 100_000], "passage")
    assert len({row.tobytes() for row in rows}) == 1
    shorter = found.embed([full[4:]], "passage")[0]
    assert tokens > 5000 or shorter.tobytes() != rows[0].tobytes()


@pytest.mark.parametrize(
    "name", ["model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/odd_name.onnx"]
)
def test_the_graph_is_found(tmp_path: Path, name: str) -> None:
    write_graph(tmp_path / name)
    write_tokenizer(tmp_path / "tokenizer.json")
    expected = unit(TABLE[ids(TEXT)].mean(axis=0))
    np.testing.assert_allclose(vector(tmp_path), expected, atol=1e-6)
    np.testing.assert_allclose(vector(tmp_path / name), expected, atol=1e-6)


def test_a_snapshot_of_a_hub_is_called_by_the_name_of_its_model(tmp_path: Path) -> None:
    folder = write_model(tmp_path / "models--BAAI--bge-small-zh-v1.5" / "snapshots" / "0123abc")
    assert model(folder).name == "BAAI/bge-small-zh-v1.5"


# --- trouble --------------------------------------------------------------------------------------------


def test_without_a_path_the_setting_is_named() -> None:
    with pytest.raises(ConfigError, match=r"embedding\.path: the onnx provider needs the path of a folder"):
        local.load_onnx(Spec("onnx"))


@pytest.mark.parametrize(
    ("graph", "told"),
    [
        (
            {"inputs": [*BOTH, "pixel_values"]},
            "the graph wants pixel_values; .*export it for feature-extraction",
        ),
        ({"inputs": ["position_ids"]}, "takes no input_ids"),
        ({"outputs": ["odd", "scalar"]}, "the graph gives odd, scalar; it needs sentence_embedding"),
        ({"outputs": ["scalar"]}, r"the output scalar is 6, not 1 x tokens x dimensions"),
    ],
)
def test_a_graph_that_cannot_be_used_is_told(tmp_path: Path, graph: dict[str, Any], told: str) -> None:
    write_model(tmp_path, **graph)
    with pytest.raises(ProviderError, match=told) as caught:
        model(tmp_path)
    assert caught.value.permanent
    assert "\n" not in str(caught.value)


def test_missing_and_broken_files_are_told(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with pytest.raises(ProviderError, match=r"cannot be read \(no such file"):
        model(folder)
    folder.mkdir()
    with pytest.raises(ProviderError, match=r"no model\.onnx; export it with"):
        model(folder)
    write_graph(folder / "a.onnx")
    write_graph(folder / "b.onnx")
    with pytest.raises(ProviderError, match=r"several graphs.*give the path of one"):
        model(folder)
    with pytest.raises(ProviderError, match=r"no tokenizer.json; save it there with"):
        model(folder / "a.onnx")
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(ProviderError, match=r"tokenizer.json cannot be read"):
        model(folder / "a.onnx")
    write_tokenizer(folder / "tokenizer.json")
    for content in (b"", b"no graph"):
        (folder / "b.onnx").write_bytes(content)
        with pytest.raises(ProviderError, match=r"cannot be (read|loaded)") as caught:
            model(folder / "b.onnx")
        assert "\n" not in str(caught.value)
    (folder / "config.json").write_text("{")
    with pytest.raises(ProviderError, match=r"config.json cannot be read"):
        model(folder / "a.onnx")


def test_what_only_a_graph_could_do_is_told(tmp_path: Path) -> None:
    write_model(tmp_path)
    pooling(tmp_path, "max_tokens")
    with pytest.raises(ProviderError, match="pooling by pooling_mode_max_tokens is not supported"):
        model(tmp_path)
    pooling(tmp_path, "mean_tokens", "cls_token")
    with pytest.raises(ProviderError, match="pooling by pooling_mode_mean_tokens, pooling_mode_cls_token"):
        model(tmp_path)
    pooling(tmp_path, "mean_tokens")
    write_json(tmp_path / "modules.json", [{"path": "2_Dense", "type": "sentence_transformers.models.Dense"}])
    with pytest.raises(ProviderError, match="a dense layer follows"):
        model(tmp_path)
    write_graph(tmp_path / "model.onnx", outputs=["sentence_embedding"])
    assert model(tmp_path).dimensions == WIDTH


def test_a_word_beyond_the_table_fails_as_a_provider(tmp_path: Path) -> None:
    write_model(tmp_path, inputs=[*BOTH, "position_ids"])  # 64 positions, and nothing that says so
    found = model(tmp_path)
    with pytest.raises(ProviderError, match="the model failed") as caught:
        found.embed(["tea " * 100], "passage")
    assert not caught.value.permanent
    assert "\n" not in str(caught.value)


# --- identity and loading -------------------------------------------------------------------------------


def test_it_is_known_without_being_loaded_the_second_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path)
    first = model(tmp_path)
    assert first.shared.loaded  # to learn its dimensions, once
    monkeypatch.setattr(local, "open_named", lambda *_: pytest.fail("read again"))
    second = model(tmp_path)
    assert (second.fingerprint, second.dimensions) == (first.fingerprint, WIDTH)
    assert not second.shared.loaded
    assert second.embed(TEXTS, "passage").tobytes() == first.embed(TEXTS, "passage").tobytes()
    assert second.shared.loaded


def test_its_fingerprint_is_of_its_content(tmp_path: Path) -> None:
    one, other = write_model(tmp_path / "one"), write_model(tmp_path / "other")
    name = {"model": "tiny"}
    known = model(one, **name).fingerprint
    assert known == model(other, **name).fingerprint  # wherever it lies
    assert known.startswith("onnx-1:")
    write_tokenizer(other / "tokenizer.json", marks=False)
    changed = model(other, **name).fingerprint
    write_graph(other / "model.onnx", outputs=["token_embeddings"])
    again = model(other, **name).fingerprint
    pooling(other, "cls_token")
    pooled = model(other, **name).fingerprint
    write_json(other / "sentence_bert_config.json", {"max_seq_length": 16})
    assert len({known, changed, again, pooled, model(other, **name).fingerprint}) == 5


def test_a_file_changed_in_the_meantime_is_not_used_under_the_old_fingerprint(tmp_path: Path) -> None:
    write_model(tmp_path)
    found = model(tmp_path)
    found.shared._idle_s = 0
    found.shared.expire()
    write_graph(tmp_path / "model.onnx", outputs=["sentence_embedding"])
    with pytest.raises(ProviderError, match="have changed since it was opened; start again"):
        found.embed([TEXT], "query")
    assert model(tmp_path).embed([TEXT], "query").shape == (1, WIDTH)


def test_unloaded_in_the_middle_it_comes_back_the_same(tmp_path: Path) -> None:
    found = model(write_model(tmp_path))
    found.shared._idle_s = 0
    before = found.embed(TEXTS, "passage").tobytes()
    found.shared.expire()
    assert not found.shared.loaded
    assert found.embed(TEXTS, "passage").tobytes() == before


def test_a_cache_that_cannot_be_written_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "blocked"
    blocked.write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(blocked))
    assert model(write_model(tmp_path)).dimensions == WIDTH


@pytest.mark.parametrize("content", [b"", b"[]", b'{"version": 1}', b"\xff"])
def test_a_card_that_makes_no_sense_is_made_anew(tmp_path: Path, private_home: Path, content: bytes) -> None:
    write_model(tmp_path)
    known = model(tmp_path)
    (card,) = private_home.rglob("cards/*.json")
    card.write_bytes(content)
    again = model(tmp_path)
    assert (again.fingerprint, again.shared.loaded) == (known.fingerprint, True)


def test_the_registry_shares_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EMBEDDERS, "made", {})
    spec = Spec("onnx", path=str(write_model(tmp_path)))
    assert EMBEDDERS.create(spec) is EMBEDDERS.create(spec)
