"""Tiny models whose vectors can be computed by hand: a table of word vectors, and a tokenizer for its words."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "milk", "desk", "walnut", "茶", "query:", "passage:")
WIDTH = 6
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), WIDTH)).astype(np.float32)
SETTINGS = {
    "config.json": {"pad_token_id": 0},
    "tokenizer_config.json": {"model_max_length": 32, "pad_token": "[PAD]"},
    "special_tokens_map.json": {"pad_token": "[PAD]", "unk_token": "[UNK]"},
}


def ids(text: str) -> list[int]:
    """What the tokenizer makes of a text."""
    return [2, *(WORDS.index(word) if word in WORDS else 1 for word in text.lower().split()), 3]


def write_model(folder: Path, *, width: int = WIDTH) -> Path:
    """A folder with what fastembed wants: a graph that looks words up, zeros above `WIDTH`, and a tokenizer."""
    folder.mkdir(parents=True, exist_ok=True)
    table = numpy_helper.from_array(np.pad(TABLE, ((0, 0), (0, width - WIDTH))), "table")
    node = helper.make_node("Gather", ["table", "input_ids"], ["last_hidden_state"])
    given = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask")
    ]
    made = [helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["n", "t", width])]
    graph = helper.make_graph([node], "tiny", given, made, [table])
    opset = [helper.make_opsetid("", 17)]
    onnx.save_model(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "model.onnx")
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    ends = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    tokenizer.enable_padding(length=32)  # as some exports say; a local model must not heed it
    (folder / "tokenizer.json").write_text(tokenizer.to_str(), "utf-8")
    for name, content in SETTINGS.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    return folder
