"""Tiny models whose vectors can be computed by hand: a table of word vectors, and a tokenizer for its words."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, normalizers, pre_tokenizers, processors
from tokenizers.models import WordLevel

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "milk", "desk", "walnut", "茶", "query:", "passage:")
WIDTH = 6
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), WIDTH)).astype(np.float32)
SEGMENTS = np.random.default_rng(8).normal(size=(2, WIDTH)).astype(np.float32)
POSITIONS = np.random.default_rng(9).normal(size=(64, WIDTH)).astype(np.float32)


def ids(text: str, *, marks: bool = True) -> list[int]:
    """What the tokenizer makes of a text."""
    words = [WORDS.index(word) if word in WORDS else 1 for word in text.lower().split()]
    return [2, *words, 3] if marks else words


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


def write_tokenizer(path: Path, *, marks: bool = True) -> None:
    """A word is a token; the marks of beginning and end are put around it."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if marks:
        ends = [("[CLS]", 2), ("[SEP]", 3)]
        tokenizer.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", None, ends)
    tokenizer.enable_padding(length=32)  # as some exports say; a local model must not heed it
    path.write_text(tokenizer.to_str(), "utf-8")


def write_graph(
    path: Path,
    inputs: Sequence[str] = ("input_ids", "attention_mask"),
    outputs: Sequence[str] = ("last_hidden_state",),
    *,
    kind: int = TensorProto.FLOAT,
    id_kind: int = TensorProto.INT64,
    external: str = "",
    width: int = WIDTH,
) -> None:
    """Look words up, add segments and positions where the graph takes them, and give what is asked for.

    `sentence_embedding` is the mean of the tokens, doubled; `pooler_output` the first one, negated. Dimensions
    above `WIDTH` are zeros.
    """
    tables = {"input_ids": TABLE, "token_type_ids": SEGMENTS, "position_ids": POSITIONS}
    element = helper.tensor_dtype_to_np_dtype(kind)
    nodes, constants, total = [], [], ""
    for name in (name for name in inputs if name in tables):
        table = np.pad(tables[name].astype(element), ((0, 0), (0, width - WIDTH)))
        constants.append(numpy_helper.from_array(table, f"{name}.table"))
        nodes.append(helper.make_node("Gather", [f"{name}.table", name], [f"{name}.rows"]))
        if total:
            nodes.append(helper.make_node("Add", [total, f"{name}.rows"], [f"{name}.sum"]))
        total = f"{name}.sum" if total else f"{name}.rows"
    constants.append(numpy_helper.from_array(np.array(2, element), "two"))
    constants.append(numpy_helper.from_array(np.array(0, np.int64), "first"))
    ways = {
        "last_hidden_state": [("Identity", [total], {})],
        "token_embeddings": [("Identity", [total], {})],
        "odd": [("Identity", [total], {})],
        "flat": [("ReduceMean", [total], {"keepdims": 0, "axes": [1]})],
        "scalar": [("ReduceMean", [total], {"keepdims": 0, "axes": [0, 1]})],
        "sentence_embedding": [
            ("ReduceMean", [total], {"keepdims": 0, "axes": [1]}),
            ("Mul", ["sentence_embedding.0", "two"], {}),
        ],
        "pooler_output": [
            ("Gather", [total, "first"], {"axis": 1}),
            ("Neg", ["pooler_output.0"], {}),
        ],
    }
    ranks = {"flat": 2, "sentence_embedding": 2, "pooler_output": 2, "scalar": 1}
    given = []
    for name in outputs:
        for step, (operator, sources, attributes) in enumerate(ways[name]):
            target = name if step == len(ways[name]) - 1 else f"{name}.{step}"
            nodes.append(helper.make_node(operator, sources, [target], **attributes))
        shape = {1: [width], 2: ["n", width], 3: ["n", "t", width]}[ranks.get(name, 3)]
        given.append(helper.make_tensor_value_info(name, kind, shape))
    taken = [helper.make_tensor_value_info(name, id_kind, ["n", "t"]) for name in inputs]
    graph = helper.make_graph(nodes, "tiny", taken, given, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    if external:
        onnx.save_model(model, path, save_as_external_data=True, location=external, size_threshold=0)
    else:
        onnx.save_model(model, path)


def write_model(folder: Path, *, marks: bool = True, **graph: Any) -> Path:
    """A folder with graph and tokenizer."""
    write_graph(folder / "model.onnx", **graph)
    write_tokenizer(folder / "tokenizer.json", marks=marks)
    return folder


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content), "utf-8")
