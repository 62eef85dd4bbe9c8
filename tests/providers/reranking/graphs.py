"""Tiny cross-encoders whose scores can be computed by hand: a weight a token, doubled in the second text."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, pre_tokenizers, processors
from tokenizers.models import WordLevel

WORDS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "tea", "milk", "desk", "walnut", "茶")
WEIGHTS = np.array([9, -0.25, 0, 0, 1, 0.5, -1, 2, 1.5], np.float32)
MOST = 12  # tokens of a pair


def logit(question: str, text: str, most: int = MOST) -> float:
    """What the network makes of a pair: [CLS] question [SEP] text [SEP], the text cut to what fits."""
    asked = question.split()[: most // 2]
    told = text.split()[: most - 3 - len(asked)]
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


def write_graph(
    path: Path,
    *,
    classes: int = 1,
    flat: bool = False,
    output: str = "logits",
    extra: str = "",
    broken: bool = False,
    inputs: tuple[str, ...] = ("input_ids", "attention_mask", "token_type_ids"),
) -> None:
    """Add up the weights of the tokens, those of the second text twice; (n, classes), the last one counts.

    Of two classes the first has logit 0; `flat` gives (n,), `broken` no number, `extra` a second output.
    """
    weights = numpy_helper.from_array(WEIGHTS * (np.float32("nan") if broken else 1), "weights")
    constants = [weights, numpy_helper.from_array(np.array(1, np.float32), "one")]
    nodes = [
        helper.make_node("Gather", ["weights", "input_ids"], ["each"]),
        helper.make_node("Cast", ["token_type_ids"], ["segments"], to=TensorProto.FLOAT),
        helper.make_node("Add", ["segments", "one"], ["factors"]),
        helper.make_node("Mul", ["each", "factors"], ["weighed"]),
        helper.make_node("ReduceSum", ["weighed", "axis"], ["sum"], keepdims=0 if flat else 1),
    ]
    constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
    if classes > 1:
        nodes.append(helper.make_node("Sub", ["sum", "sum"], ["zero"]))
        nodes.append(helper.make_node("Concat", ["zero"] * (classes - 1) + ["sum"], [output], axis=1))
    else:
        nodes.append(helper.make_node("Identity", ["sum"], [output]))
    shape = ["n"] if flat else ["n", classes]
    given = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    if extra:
        nodes.append(helper.make_node("Identity", ["sum"], [extra]))
        given.append(helper.make_tensor_value_info(extra, TensorProto.FLOAT, ["n", 1]))
    taken = [helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"]) for name in inputs]
    graph = helper.make_graph(nodes, "tiny", taken, given, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.parent.mkdir(parents=True, exist_ok=True)
    onnx.save_model(model, path)


def write_model(folder: Path, graph: str = "model.onnx", **fields: Any) -> Path:
    """A folder with graph, tokenizer, and what fastembed wants beside them."""
    from tests.providers.embedding.graphs import write_json

    write_graph(folder / graph, **fields)
    write_tokenizer(folder / "tokenizer.json")
    write_json(folder / "config.json", {"pad_token_id": 0})
    write_json(folder / "tokenizer_config.json", {"model_max_length": MOST, "pad_token": "[PAD]"})
    write_json(folder / "special_tokens_map.json", {"pad_token": "[PAD]", "unk_token": "[UNK]"})
    return folder
