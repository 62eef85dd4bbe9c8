"""The interface of an embedding model, and vectors as they are kept.

Kept are int8 rows, a quarter of the size; cosines stay above .9999 of the float ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from commonplace.language.scripts import has_han

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Literal, Protocol, TypeGuard

    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Kind = Literal["query", "passage"]
else:
    Kind, Protocol = str, object

_WORDS, _HAN = "|words=", "|han="


class Embedder(Protocol):
    """A model that turns texts into unit vectors.

    The same text gives the same vector whatever other texts it is embedded with, byte for byte: an index
    grown step by step must equal one built at once.
    """

    @property
    def name(self) -> str:
        """The name for people."""

    @property
    def scripts(self) -> frozenset[str]:
        """Scripts it serves: `latin`, `cjk`, or of that `han` alone, see `language.scripts`."""

    @property
    def fingerprint(self) -> str:
        """Changes with anything that changes a vector; vectors of two fingerprints are never compared.

        A model that reads Chinese by a separate part, or gives the vectors of words as well, joins these
        (`joined`): a new part changes no other vector.
        """

    def embed(self, texts: Sequence[str], kind: Kind) -> Floats:
        """Embed texts as (n, dimensions) float32 rows of length 1. Raises ProviderError."""


class Batching(Embedder, Protocol):
    """A model that embeds many passages by its provider's batches: cheaper, and much later."""

    def embed_each(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Floats]]:
        """Yield places of passages and their unit rows as they come. Raises ProviderError, StillWorking."""


class WordEmbedder(Embedder, Protocol):
    """A model that also gives a vector for every word of a text that says something."""

    def embed_words(self, texts: Sequence[str], starts: Sequence[int]) -> tuple[Floats, list[Floats]]:
        """Embed texts as `embed` does, and the words of each from a character on, as (words, d) unit rows.

        Raises ProviderError.
        """


def gives_words(model: object) -> TypeGuard[WordEmbedder]:
    """Tell whether a model gives the vectors of words."""
    return hasattr(model, "embed_words")


def joined(fingerprint: str, *, words: str, han: str) -> str:
    """Join the fingerprints of a model, of its vectors of words, and of its Chinese reader."""
    return fingerprint + _WORDS + words + _HAN + han


def part_for(text: str, fingerprint: str, *, words: bool = False) -> str:
    """Return what a text's vector depends on: without Chinese in it only the model, not what reads that.

    With `words` also what the vectors of its words depend on.
    """
    own, _, parts = fingerprint.partition(_WORDS)
    of_words, _, of_han = parts.partition(_HAN)
    if words and of_words:
        own += _WORDS + of_words
    return own + _HAN + of_han if of_han and has_han(text) else own


def whole(fingerprint: str) -> str:
    """Return the fingerprint of a model without its parts."""
    return fingerprint.partition(_WORDS)[0]


def keeps_words(text: str, fingerprint: str) -> bool:
    """Tell whether a model of this fingerprint gives the vectors of a text's words: of English ones."""
    return _WORDS in fingerprint and not has_han(text)


def batching(model: Embedder) -> TypeGuard[Batching]:
    """Tell whether many passages are to be embedded by batches."""
    return getattr(model, "batches", None) is not None


def quantize(vectors: Floats) -> NDArray[np.int8]:
    """Scale each row to the int8 range; cosines do not depend on the scale."""
    import numpy as np

    peak = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-9)
    scaled: NDArray[np.int8] = np.rint(vectors * (127.0 / peak)).astype(np.int8)
    return scaled


def signs(vectors: Floats) -> bytes:
    """Keep one bit of every dimension, its sign: (n, d) rows as n · d / 8 bytes.

    The cosine with a float vector keeps its order well enough: measured, passages rank as with all bits.
    """
    import numpy as np

    return np.packbits(vectors > 0, axis=1).tobytes()


def of_signs(stored: bytes, dimensions: int) -> Floats:
    """Return rows kept by `signs`: (n, d) float32 of length 1."""
    import numpy as np

    bits = np.unpackbits(np.frombuffer(stored, np.uint8)).reshape(-1, dimensions)
    return (bits.astype(np.float32) * 2 - 1) / np.float32(dimensions**0.5)


def dots(rows: Floats, others: Floats) -> Floats:
    """Return the dot products of rows, (n, d), with a vector, (d,), or with rows, (m, d): (n,) or (n, m).

    On this thread alone: for less than a millisecond of work a matrix product wakes a thread on every core,
    each of which then spins for tens of milliseconds and slows other requests.
    """
    import numpy as np

    found: Floats = np.vecdot(rows if others.ndim == 1 else rows[:, None], others)
    return found


def check_length(vectors: Floats, length: int, index: str) -> None:
    """Raise ProviderError where vectors, (…, d), are longer or shorter than those of an index.

    Its `length` is 0 while it is empty. A server can have another model behind the same name.
    """
    if length not in (0, vectors.shape[-1]):
        from commonplace.base import remedies
        from commonplace.base.errors import ProviderError

        found = f"its vectors have {vectors.shape[-1]} dimensions, those of the index {length}"
        remedy = remedies.say("index.anew", index)
        raise ProviderError("embedding", f"{found}; give it the former model again, or {remedy}")


def unit_rows(stored: Sequence[bytes]) -> Floats:
    """Stored int8 vectors as (n, d) float32 rows of length 1."""
    import numpy as np

    rows = np.frombuffer(b"".join(stored), np.int8)
    matrix = rows.reshape(len(stored), -1 if stored else 0).astype(np.float32)
    matrix /= np.maximum(np.linalg.norm(matrix, axis=1, keepdims=True), 1e-9)
    return matrix
