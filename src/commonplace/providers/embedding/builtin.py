"""The bundled model: all-MiniLM-L6-v2, int8, 384 dimensions, English; no download, no key.

Built by `tools/build_model.py`, which says how its weights are kept. Activations are quantised a token at a
time and every text is run alone, so its vector depends on nothing but the text; two threads keep two cores
busy without padding.

Its first layers give a vector for every token of a text, for late interaction. Three of the six are enough:
measured on the dev sets, passages ranked by them differ by no more than chance from those ranked by all six,
and each takes half of the time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named
from commonplace.providers import runtime
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding.base import Kind
from commonplace.providers.runtime import Shared

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from commonplace.providers.embedding.base import Floats


FOLDER = Path(__file__).parent / "minilm"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
SIZES = {MODEL: 23099483, TOKENIZER: 466153}  # bytes; a file that was cut short is noticed at once
MODEL_SHA256 = "b55ee2e12ba15cd6e4a26d70a0507edebbe819c6bc1e6fc1ba6b0d3b63654fa9"
TOKENIZER_SHA256 = "01d4020140236ed40d76316c2c9226fbc7a7a410014ab485a3976487bf007476"
DIMENSIONS = 384
MAX_TOKENS = 256  # word pieces; the tokenizer cuts there
# 256 word pieces are rarely more than 1,500 characters; cutting first keeps a megabyte of text cheap.
MAX_CHARACTERS = 8192
LAYER = "encoder.layer.2"  # the value inside the model's graph that gives the tokens


class _Loaded(NamedTuple):
    session: Any
    tokenizer: Tokenizer

    def run(self, text: str, output: str) -> tuple[Encoding, Floats]:
        """One text through the model: its tokens, and what the graph gives for them."""
        import numpy as np

        encoding = self.tokenizer.encode(runtime.clean(text, MAX_CHARACTERS))
        ids = np.array([encoding.ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        rows: list[Floats] = runtime.run("builtin", lambda: self.session.run([output], feed)[0])
        return encoding, rows[0]


class BuiltinEmbedder:
    """The bundled model, loaded and verified at its first text; safe to call from several threads."""

    name = "all-MiniLM-L6-v2 (bundled)"
    dimensions = DIMENSIONS
    scripts = frozenset({"latin"})
    fingerprint = f"builtin-1:{MODEL_SHA256[:12]}:{TOKENIZER_SHA256[:12]}:{MAX_CHARACTERS}"

    def __init__(self, folder: Path = FOLDER) -> None:
        """See that files and libraries are there. Raises ProviderError if one is missing or cut short.

        What only reading them shows, a file that was changed or a library that cannot be loaded, is raised
        by the first text.
        """
        for name, size in SIZES.items():
            try:
                whole = (folder / name).stat().st_size == size
            except OSError as error:
                raise _damaged(f"{name} cannot be read ({error.strerror})") from error
            if not whole:
                raise _damaged(f"{name} is damaged or was changed")
        runtime.check("builtin")
        self.shared = Shared(partial(_load, folder))

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, 384) float32 unit rows; the kind makes no difference to this model."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        with self.shared.use() as loaded:
            return np.stack(runtime.each(lambda text: loaded.run(text, "sentence_embedding")[1], texts))


class Tokens(NamedTuple):
    """The word pieces of a text and their vectors: (n, 384) float32 rows of length 1.

    A piece that continues a word begins with `##`.
    """

    pieces: tuple[str, ...]
    vectors: Floats


class TokenEmbedder:
    """Token embeddings of the bundled model, loaded at the first text; safe to call from several threads."""

    scripts = BuiltinEmbedder.scripts

    def __init__(self, folder: Path = FOLDER) -> None:
        """Note where the model lies; nothing is read yet."""
        self.shared = Shared(partial(_load, folder, LAYER))

    def embed(self, texts: Sequence[str]) -> list[Tokens]:
        """Embed every token of every text, of a long one those the model reads. Raises ProviderError."""
        if not texts:
            return []
        import numpy as np

        with self.shared.use() as loaded:

            def work(text: str) -> Tokens:
                encoding, rows = loaded.run(text, LAYER)
                rows = rows[1:-1]  # without the marks of beginning and end
                lengths = np.linalg.norm(rows, axis=1, keepdims=True)
                return Tokens(tuple(encoding.tokens[1:-1]), rows / np.maximum(lengths, 1e-9))

            return runtime.each(work, texts)


def load(spec: Spec) -> BuiltinEmbedder:
    """Make the bundled model; there is nothing to choose."""
    return BuiltinEmbedder()


def _load(folder: Path, output: str = "") -> _Loaded:
    """Open the model, or the part of it that computes an output. Raises ProviderError for a changed file."""
    data = {}
    for name, digest in ((MODEL, MODEL_SHA256), (TOKENIZER, TOKENIZER_SHA256)):
        try:
            data[name] = read_named(folder / name)
        except OSError as error:
            raise _damaged(f"{name} cannot be read ({error.strerror})") from error
        if hashlib.sha256(data[name]).hexdigest() != digest:
            raise _damaged(f"{name} is damaged or was changed")
    if output:
        try:
            data[MODEL] = truncate(data[MODEL], output)
        except ValueError as error:
            raise _damaged(str(error)) from error
    return _Loaded(runtime.session("builtin", data[MODEL]), runtime.tokenizer("builtin", data[TOKENIZER]))


def _damaged(message: str) -> ProviderError:
    return ProviderError("builtin", f"{message}; reinstall commonplace", permanent=True)


# --- the first layers of a graph -----------------------------------------------------------------------

GRAPH = 7  # ModelProto
NODE, INITIALIZER, OUTPUT, VALUE_INFO = 1, 5, 12, 13  # GraphProto
NODE_INPUT, NODE_OUTPUT = 1, 2  # NodeProto
TENSOR_NAME, VALUE_NAME = 8, 1  # TensorProto, ValueInfoProto
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # how a field is written


class Field(NamedTuple):
    """One field of a message: its number, what it holds if that is bytes, and all of it as it stands."""

    number: int
    value: memoryview
    whole: memoryview


def truncate(model: bytes, output: str) -> bytes:
    """Return a model whose only output is the value of this name.

    Raises ValueError if the bytes are no ONNX model, or no node of it computes that value.
    """
    pieces: list[memoryview | bytes] = []
    try:
        for part in _fields(memoryview(model)):
            pieces += _cut(part.value, output) if part.number == GRAPH else [part.whole]
    except (IndexError, UnicodeDecodeError) as error:
        raise ValueError("these bytes are no ONNX model") from error
    return b"".join(pieces)


def _cut(graph: memoryview, output: str) -> list[memoryview | bytes]:
    """The graph with what the output needs, in pieces of the original: weights are copied only once."""
    fields = list(_fields(graph))
    nodes = [
        (_texts(field, NODE_INPUT), _texts(field, NODE_OUTPUT)) for field in fields if field.number == NODE
    ]
    if not any(output in outputs for _, outputs in nodes):
        raise ValueError(f"no node of the model computes {output!r}")
    # Every value that the output depends on, and itself; nodes stand after those they take from.
    needed = {output}
    for inputs, outputs in reversed(nodes):
        if not needed.isdisjoint(outputs):
            needed.update(inputs, outputs)
    names = {NODE: NODE_OUTPUT, INITIALIZER: TENSOR_NAME, VALUE_INFO: VALUE_NAME}
    kept: list[memoryview | bytes] = []
    for field in fields:
        name = names.get(field.number)
        if field.number != OUTPUT and (name is None or not needed.isdisjoint(_texts(field, name))):
            kept.append(field.whole)
    value = output.encode()
    kept.append(
        _head(OUTPUT, len(_head(VALUE_NAME, len(value)) + value)) + _head(VALUE_NAME, len(value)) + value
    )
    return [_head(GRAPH, sum(map(len, kept))), *kept]


def _texts(message: Field, number: int) -> list[str]:
    return [str(field.value, "utf-8") for field in _fields(message.value) if field.number == number]


def _fields(message: memoryview) -> Iterator[Field]:
    """Split a message into its fields. Raises IndexError and ValueError for bytes that are none."""
    place = 0
    while place < len(message):
        start = place
        key, place = _varint(message, place)
        kind, begin = key & 7, place
        if kind == VARINT:
            _, place = _varint(message, place)
        elif kind == BYTES:
            length, begin = _varint(message, place)
            place = begin + length
        else:
            place += {FIXED_64: 8, FIXED_32: 4}.get(kind, len(message) + 1)
        if place > len(message):
            raise ValueError("these bytes are no ONNX model")
        yield Field(key >> 3, message[begin:place], message[start:place])


def _varint(message: memoryview, place: int) -> tuple[int, int]:
    """An integer of seven bits a byte, lowest first, and where it ends."""
    value = shift = 0
    while True:
        byte = message[place]
        value |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if byte < 0x80:
            return value, place


def _head(number: int, length: int) -> bytes:
    """What stands before the bytes of a field: its number and its length, both as `_varint` reads them."""
    data = bytearray()
    for value in (number << 3 | BYTES, length):
        while value >= 0x80:
            data.append(value & 0x7F | 0x80)
            value >>= 7
        data.append(value)
    return bytes(data)
