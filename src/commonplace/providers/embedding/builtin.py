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
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base.errors import ProviderError
from commonplace.base.root import read_named
from commonplace.providers import runtime
from commonplace.providers.embedding.base import Kind
from commonplace.providers.loading import Shared
from commonplace.providers.spec import Spec

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from commonplace.providers.embedding.base import Floats

FOLDER = Path(__file__).parent / "minilm"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
SIZES = {MODEL: 23099483, TOKENIZER: 466153}  # bytes; a file that was cut short is told before it is needed
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
        from commonplace.providers.embedding import truncation

        try:
            data[MODEL] = truncation.truncate(data[MODEL], output)
        except ValueError as error:
            raise _damaged(str(error)) from error
    return _Loaded(runtime.session("builtin", data[MODEL]), runtime.tokenizer("builtin", data[TOKENIZER]))


def _damaged(message: str) -> ProviderError:
    return ProviderError("builtin", f"{message}; reinstall commonplace", permanent=True)
