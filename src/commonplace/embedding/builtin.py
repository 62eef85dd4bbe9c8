"""The bundled model: all-MiniLM-L6-v2, int8, 384 dimensions, English; no download, no key.

Built by `tools/build_model.py`, which says how its weights are kept. Activations are quantised a token at a
time and every text is run alone, so its vector depends on nothing but the text; two threads keep two cores
busy without padding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from commonplace.base.root import read_named
from commonplace.embedding import runtime
from commonplace.embedding.base import Kind, Spec
from commonplace.embedding.loading import Shared
from commonplace.errors import ProviderError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from commonplace.embedding.base import Floats

FOLDER = Path(__file__).parent / "minilm"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
SIZES = {MODEL: 23099483, TOKENIZER: 466153}  # bytes; a file that was cut short is told before it is needed
MODEL_SHA256 = "b55ee2e12ba15cd6e4a26d70a0507edebbe819c6bc1e6fc1ba6b0d3b63654fa9"
TOKENIZER_SHA256 = "01d4020140236ed40d76316c2c9226fbc7a7a410014ab485a3976487bf007476"
DIMENSIONS = 384
MAX_TOKENS = 256  # word pieces; the tokenizer cuts there
# 256 word pieces are rarely more than 1,500 characters; cutting first keeps a megabyte of text cheap.
MAX_CHARACTERS = 8192


class _Loaded(NamedTuple):
    session: Any
    tokenizer: Tokenizer


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
            _check_size(folder / name, size)
        runtime.check("builtin")
        self.shared = Shared(partial(_load, folder))

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, 384) float32 unit rows; the kind makes no difference to this model."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        with self.shared.use() as loaded:
            return np.stack(runtime.each(partial(_run, loaded), texts))


def _run(loaded: _Loaded, text: str) -> Floats:
    """One text through the model."""
    import numpy as np

    ids = np.array([loaded.tokenizer.encode(runtime.clean(text, MAX_CHARACTERS)).ids], np.int64)
    feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    rows: list[Floats] = runtime.run("builtin", lambda: loaded.session.run(["sentence_embedding"], feed)[0])
    return rows[0]


def _load(folder: Path) -> _Loaded:
    model = verified(folder / MODEL, MODEL_SHA256)
    vocabulary = verified(folder / TOKENIZER, TOKENIZER_SHA256)
    return _Loaded(runtime.session("builtin", model), runtime.tokenizer("builtin", vocabulary))


def _check_size(path: Path, expected: int) -> None:
    try:
        size = path.stat().st_size
    except OSError as error:
        raise _unreadable(path, error) from error
    if size != expected:
        raise _changed(path)


def verified(path: Path, expected: str) -> bytes:
    """Read a file of the model, which must be the one this release was made with. Raises ProviderError."""
    try:
        data = read_named(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise _changed(path)
    return data


def _changed(path: Path) -> ProviderError:
    told = f"{path.name} is damaged or was changed; reinstall commonplace"
    return ProviderError("builtin", told, permanent=True)


def _unreadable(path: Path, error: OSError) -> ProviderError:
    told = f"{path.name} cannot be read ({error.strerror}); reinstall commonplace"
    return ProviderError("builtin", told, permanent=True)


def load(spec: Spec) -> BuiltinEmbedder:
    """Make the bundled model; there is nothing to choose."""
    return BuiltinEmbedder()
