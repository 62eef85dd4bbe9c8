"""Tiny cross-encoders whose scores can be computed by hand: a weight a token, doubled in the second text."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "milk", "desk", "walnut", "茶")
WEIGHTS = np.array([9, -0.25, 0, 0, 1, 0.5, -1, 2, 1.5], np.float32)
MOST = 12  # tokens of a pair


def logit(question: str, text: str, most: int = MOST) -> float:
    """What the network makes of a pair: [CLS] question [SEP] text [SEP], the longer one cut to what fits."""
    asked, told = question.split(), text.split()
    while len(asked) + len(told) > most - 3:
        longer = asked if len(asked) > len(told) else told
        del longer[-1]
    return sum(map(_weight, asked)) + 2 * sum(map(_weight, told))


def _weight(word: str) -> float:
    return float(WEIGHTS[WORDS.index(word) if word in WORDS else 1])


def write_tokenizer(path: Path) -> None:
    """A word is a token; pairs are marked as BERT marks them."""
    tokenizer = Tokenizer(WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    marks = [("[CLS]", 2), ("[SEP]", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(
        "[CLS] $A [SEP]", "[CLS] $A [SEP] $B:1 [SEP]:1", marks
    )
    tokenizer.enable_padding(length=32)  # as some exports say; a local model must not heed it
    path.write_text(tokenizer.to_str(), "utf-8")


def write_graph(path: Path) -> None:
    """Add up the weights of the tokens, those of the second text twice: (n, 1)."""
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Cast", ["token_type_ids"], ["segments"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["segments", "one"], ["factors"]),
        helper.make_node("Mul", ["each", "factors"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "axis"], ["logits"], keepdims=1),
    ]
    constants = [
        numpy_helper.from_array(WEIGHTS, "weights"),
        numpy_helper.from_array(np.array(1, np.float32), "one"),
        numpy_helper.from_array(np.array([1], np.int64), "axis"),
    ]
    given = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, ["n", 1])]
    names = ("input_ids", "attention_mask", "token_type_ids")
    taken = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in names]
    graph = helper.make_graph(nodes, "tiny", taken, given, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, path)


def write_model(folder: Path, graph: str = "model.onnx") -> Path:
    """A folder with graph, tokenizer, and what fastembed wants beside them."""
    from tests.providers.embedding.graphs import write_json

    write_graph(folder / graph)
    write_tokenizer(folder / "tokenizer.json")
    write_json(folder / "config.json", {"pad_token_id": 0})
    write_json(folder / "tokenizer_config.json", {"model_max_length": MOST, "pad_token": "[PAD]"})
    write_json(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    return folder
