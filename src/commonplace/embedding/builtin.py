"""The bundled model: all-MiniLM-L6-v2, int8, 384 dimensions, English; no download, no key.

Built by `tools/build_model.py`, which says how its weights are kept. Activations are quantised a token at a
time and every text is run alone, so its vector depends on nothing but the text; two threads keep two cores
busy without padding.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace.embedding.base import Kind
from commonplace.errors import ProviderError

if TYPE_CHECKING:
    from commonplace.embedding.base import Floats

FOLDER = Path(__file__).parent / "minilm"
MODEL_SHA256 = "b55ee2e12ba15cd6e4a26d70a0507edebbe819c6bc1e6fc1ba6b0d3b63654fa9"
TOKENIZER_SHA256 = "01d4020140236ed40d76316c2c9226fbc7a7a410014ab485a3976487bf007476"
DIMENSIONS = 384
MAX_TOKENS = 256  # word pieces; the tokenizer cuts there
# 256 word pieces are rarely more than 1,500 characters; cutting first keeps a megabyte of text cheap.
MAX_CHARACTERS = 8192
# From 1.29 on, onnxruntime's own builds report to their maker, and keep a device number and what is still to
# be sent in the user's cache. The variable must be set before the import (its docs/Privacy.md); the second
# name is one that some releases knew.
NO_TELEMETRY = {"ORT_DISABLE_TELEMETRY": "1", "ORT_TELEMETRY_DISABLED": "1"}
THREADS = max(
    1, min(8, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
)


class BuiltinEmbedder:
    """The bundled model, loaded and verified; safe to call from several threads."""

    name = "all-MiniLM-L6-v2 (bundled)"
    dimensions = DIMENSIONS
    scripts = frozenset({"latin"})
    fingerprint = f"builtin-1:{MODEL_SHA256[:12]}:{TOKENIZER_SHA256[:12]}:{MAX_CHARACTERS}"

    def __init__(self, folder: Path = FOLDER) -> None:
        """Load model and tokenizer. Raises ProviderError if a file or a library is missing or wrong."""
        model = _verified(folder / "model.onnx", MODEL_SHA256)
        vocabulary = _verified(folder / "tokenizer.json", TOKENIZER_SHA256)
        os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
        os.environ.update(NO_TELEMETRY)
        try:
            import onnxruntime
            from tokenizers import Tokenizer

            onnxruntime.disable_telemetry_events()  # Windows, where no variable does
        except ImportError as error:  # no wheel for this machine, or one that does not fit it
            raise ProviderError("builtin", f"a library cannot be loaded ({error})") from error

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        self._session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        self._tokenizer = Tokenizer.from_buffer(vocabulary)

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, 384) float32 unit rows; the kind makes no difference to this model."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        return np.stack(self._each("sentence_embedding", texts))

    def embed_tokens(self, texts: Sequence[str]) -> list[Floats]:
        """Embed every token of every text: one (tokens, 384) float32 matrix a text, unit rows."""
        import numpy as np

        found = self._each("token_embeddings", texts)
        return [m / np.maximum(np.linalg.norm(m, axis=-1, keepdims=True), 1e-9) for m in found]

    def _each(self, output: str, texts: Sequence[str]) -> list[Floats]:
        if len(texts) == 1:
            return [self._run(output, texts[0])]
        with ThreadPoolExecutor(THREADS, "commonplace-embed") as pool:
            return list(pool.map(lambda text: self._run(output, text), texts))

    def _run(self, output: str, text: str) -> Floats:
        """One text through the model."""
        import numpy as np

        # Half a surrogate pair is no text; the tokenizer would refuse it.
        text = text[:MAX_CHARACTERS].encode("utf-8", "replace").decode("utf-8")
        ids = np.array([self._tokenizer.encode(text).ids], np.int64)
        try:
            rows: list[Floats] = self._session.run(
                [output], {"input_ids": ids, "attention_mask": np.ones_like(ids)}
            )[0]
        except Exception as error:  # onnxruntime's own errors share no base class but this
            raise ProviderError("builtin", f"the model failed: {error}") from error
        return rows[0]


def _verified(path: Path, expected: str) -> bytes:
    """Read a file of the model, which must be the one this release was made with."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ProviderError(
            "builtin", f"{path.name} cannot be read ({error.strerror}); reinstall commonplace"
        ) from error
    if hashlib.sha256(data).hexdigest() != expected:
        raise ProviderError("builtin", f"{path.name} is damaged or was changed; reinstall commonplace")
    return data


def load() -> BuiltinEmbedder:
    """Load the bundled model."""
    return BuiltinEmbedder()
