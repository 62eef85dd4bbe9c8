"""The bundled model: all-MiniLM-L6-v2 for English, with a lexicon and an encoder for Chinese.

int8, 384 dimensions, no download, no key; both languages share one space. Built by `tools/build_model.py`,
which says how its weights are kept, and `tools/build_chinese`. Activations are quantised a token at a time
and every text is run alone, so its vector depends on the text alone; two threads keep two cores busy
without padding. What Chinese needs is read when the first Chinese text comes.

The third of six layers of the English model gives a vector for every word of a text, to compare these:
measured on the dev sets, passages ranked by its words differ by no more than chance from those ranked by the
last one's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from commonplace.base.tuples import NamedTuple
from commonplace.language import stopwords
from commonplace.language.scripts import HAN, LATIN, has_han, script_of
from commonplace.providers import runtime
from commonplace.providers.catalog import Spec
from commonplace.providers.embedding import chinese
from commonplace.providers.embedding.base import Kind, joined, unit_rows
from commonplace.providers.runtime import Shared

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer

    from commonplace.providers.cache import VectorCache
    from commonplace.providers.embedding.base import Embedder, Floats


FOLDER = Path(__file__).parent / "minilm"
MODEL, TOKENIZER = "model.onnx", "tokenizer.json"
FILES = {
    MODEL: "fb886049b60022d6d8424a7eef413f3844e3920baa840046f6855665d7a852fb",
    TOKENIZER: "01d4020140236ed40d76316c2c9226fbc7a7a410014ab485a3976487bf007476",
}
DIMENSIONS = 384
MAX_TOKENS = 256  # word pieces; the tokenizer cuts there
# 256 word pieces are rarely more than 1,500 characters; cutting first keeps a megabyte of text cheap.
MAX_CHARACTERS = 8192
OUTPUT = "sentence_embedding"
LAYER = "encoder.layer.2"  # the output that gives the words


class _LoadedModel(NamedTuple):
    session: Any
    tokenizer: Tokenizer

    def run(self, text: str, *outputs: str) -> tuple[Encoding, list[Floats]]:
        """One text through the model: its tokens, and what the graph gives for each output."""
        import numpy as np

        encoding = self.tokenizer.encode(runtime.clean(text, MAX_CHARACTERS))
        ids = np.array([encoding.ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        values: list[Floats] = runtime.run("builtin", lambda: self.session.run(outputs, feed))
        return encoding, [value[0] for value in values]

    def words(self, text: str, start: int) -> tuple[Floats, Floats]:
        """The vector of a text, and those of its words from a character on.

        Stop words and punctuation are left out, unless the text has only those.
        """
        import numpy as np

        encoding, (whole, rows) = self.run(text, OUTPUT, LAYER)
        pieces = list(zip(encoding.tokens, encoding.offsets, strict=True))[1:-1]  # without begin and end
        own = {place: piece for place, (piece, (first, _)) in enumerate(pieces, 1) if first >= start}
        words = ((at, piece) for at, piece in own.items() if re.search("[a-z0-9]", piece))
        saying = [at for at, piece in words if piece not in stopwords.ENGLISH]
        rows = rows[saying or list(own)]
        return whole, rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class BuiltinEmbedder:
    """The bundled model, loaded at its first text; safe to call from several threads."""

    name = "all-MiniLM-L6-v2 with Chinese (bundled)"
    dimensions = DIMENSIONS
    scripts = frozenset({LATIN, HAN})
    # With the hashes of the model, without the output `LAYER`, and of the tokenizer.
    fingerprint = joined(
        f"builtin-1:b55ee2e12ba1:01d402014023:{MAX_CHARACTERS}", words=LAYER, han=chinese.FINGERPRINT
    )

    def __init__(self, folder: Path = FOLDER, chinese_folder: Path = chinese.FOLDER) -> None:
        """See that the libraries are there; files are read with the first text. Raises ProviderError."""
        runtime.check("builtin")
        self.shared = Shared(partial(_load, folder))
        self.chinese = Shared(partial(chinese.load, chinese_folder))

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, 384) float32 unit rows; the kind makes no difference to this model."""
        import numpy as np

        if not texts:
            return np.zeros((0, DIMENSIONS), np.float32)
        english = self.shared.use()

        def encode(text: str) -> Floats:
            return english.run(text, OUTPUT)[1][0]

        if not any(map(has_han, texts)):
            return np.stack(runtime.each(encode, texts))
        reader = self.chinese.use()

        def work(text: str) -> Floats:
            if not has_han(text):
                return encode(text)
            gloss = reader.gloss(text)
            rows = [encode(gloss)] if gloss else []
            if not rows or script_of(text) == HAN:
                rows.append(reader.encode(text))
            total: Floats = np.add.reduce(rows)
            total /= max(float(np.linalg.norm(total)), 1e-9)
            return total

        return np.stack(runtime.each(work, texts))

    def gloss(self, text: str) -> str:
        """Return a Chinese text word by word in English."""
        return self.chinese.use().gloss(text)

    def embed_words(self, texts: Sequence[str], starts: Sequence[int]) -> tuple[Floats, list[Floats]]:
        """Embed texts as `embed` does, and their English words; see `base.WordEmbedder`."""
        import numpy as np

        if not texts:
            return self.embed(texts, "passage"), []
        english, places = self.shared.use(), dict(zip(texts, starts, strict=True))
        found = runtime.each(lambda text: english.words(text, places[text]), texts)
        return np.stack([whole for whole, _ in found]), [words for _, words in found]


class CachedEmbedder:
    """A model of this process behind the user's cache of vectors, where a copied folder finds them.

    Questions, and turns of chats with their words, are not kept.
    """

    def __init__(self, inner: Embedder, store: VectorCache | None = None) -> None:
        """Put a store before a model, by default the user's."""
        self.inner, self._store = inner, store
        self.name, self.scripts, self.fingerprint = inner.name, inner.scripts, inner.fingerprint
        for name in {"embed_words", "gloss"} & set(dir(inner)):
            setattr(self, name, getattr(inner, name))

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, d) float32 unit rows, those of passages as the index keeps them (int8)."""
        if kind == "query" or not texts:
            return self.inner.embed(texts, kind)
        from commonplace.providers.cache import VectorCache  # a question does without

        store = self._store = self._store or VectorCache()
        return unit_rows(
            store.complete(self.fingerprint, kind, texts, lambda new: self.inner.embed(new, kind))
        )


def load(spec: Spec) -> BuiltinEmbedder:
    """Make the bundled model; the specification has no effect."""
    return BuiltinEmbedder()


def _load(folder: Path) -> _LoadedModel:
    """Open the model. Raises ProviderError."""
    session = runtime.session("builtin", folder / MODEL)
    return _LoadedModel(session, runtime.tokenizer("builtin", folder / TOKENIZER))
