"""Late interaction: every token of a question is compared with every token of a passage.

ColBERT's MaxSim (Khattab and Zaharia, SIGIR 2020): for each token of the question the most similar token of
the passage, then the mean over the question's tokens. One vector a passage blurs what its words say one by
one; this reads them again for the few passages at the head.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Protocol

from commonplace.base.errors import ProviderError
from commonplace.language import stopwords

if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.providers.embedding.base import Floats
    from commonplace.providers.embedding.builtin import Tokens

# What passages before and after say counts this much of what a passage says itself, where they are turns of
# one conversation: an answer is often understood with its question only.
NEIGHBOUR = 0.75
# Token vectors that are kept for the next questions: about a thousand passages of ordinary length.
KEPT_BYTES = 64_000_000


# Passages that are no turns are read among the first so many alone: their similarity counts a fifth, and
# reading one takes some milliseconds.
PROSE_HEAD = 20


class TokenModel(Protocol):
    """What gives a vector for every token."""

    def embed(self, texts: Sequence[str]) -> list[Tokens]:
        """Embed every token of every text. Raises ProviderError."""


class LateInteraction:
    """Compares a question with passages token by token; token vectors of passages are kept for a while.

    Not for two threads at once.
    """

    def __init__(self, model: TokenModel, kept_bytes: int = KEPT_BYTES) -> None:
        """Compare by the tokens of this model."""
        self._model = model
        self._room = kept_bytes
        self._kept: OrderedDict[str, Floats] = OrderedDict()

    def warm(self) -> None:
        """Load the model, which the first comparison would wait for; what fails will fail there again."""
        with suppress(ProviderError):
            self._model.embed(["warm"])

    def similarities(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        """How much each candidate, best first, says of what the question asks, -1..1; 0 for those not read.

        Raises ProviderError.
        """
        read = [c for place, c in enumerate(candidates) if place < PROSE_HEAD or c.turns > 0]
        if not read:
            return []
        (asked,) = self._model.embed([question])
        weights = _weights(asked.pieces)
        if not len(weights):
            return [0.0] * len(candidates)
        vectors = self._vectors([candidate.text for candidate in read])
        best = {c.id: _best(asked.vectors, own) for c, own in zip(read, vectors, strict=True)}
        sections = {candidate.id: candidate.section_id for candidate in read}
        return [
            float(_with_neighbours(candidate, best, sections) @ weights) if candidate.id in best else 0.0
            for candidate in candidates
        ]

    def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Token vectors of texts, those kept and those the model must be asked for."""
        import numpy as np

        unknown = [text for text in dict.fromkeys(texts) if text not in self._kept]
        fresh = dict(zip(unknown, (tokens.vectors for tokens in self._model.embed(unknown)), strict=True))
        found = [fresh[text] if text in fresh else self._kept[text].astype(np.float32) for text in texts]
        for text, vectors in zip(texts, found, strict=True):
            self._keep(text, vectors.astype(np.float16))
        return found

    def _keep(self, text: str, vectors: Floats) -> None:
        """Keep the vectors of a text, which was asked for last; the oldest make room."""
        if text not in self._kept:
            self._room -= vectors.nbytes
        self._kept[text] = vectors
        self._kept.move_to_end(text)
        while self._room < 0 and self._kept:
            self._room += self._kept.popitem(last=False)[1].nbytes


def _with_neighbours(candidate: Candidate, best: Mapping[int, Floats], sections: Mapping[int, int]) -> Floats:
    """What a passage says of each token, or those beside it in a conversation."""
    import numpy as np

    total = best[candidate.id]
    for beside in (candidate.id - 1, candidate.id + 1):
        if sections.get(beside) == candidate.section_id:
            total = np.maximum(total, NEIGHBOUR * candidate.turns * best[beside])
    return total


def _best(asked: Floats, vectors: Floats) -> Floats:
    """For every token of the question the cosine of the most similar one, (n,) float32."""
    import numpy as np

    if not len(vectors):
        return np.zeros(len(asked), np.float32)
    best: Floats = (asked @ vectors.T).max(axis=1)
    return best


def _weights(pieces: Sequence[str]) -> Floats:
    """What each token of the question counts, summing up to 1; words that ask for nothing count nothing.

    Measured: without stop words and punctuation the mean gives realtalk .03 more than with them; weights by
    idf give less.
    """
    import numpy as np

    counts = np.array([_says_something(piece) for piece in pieces], np.float32)
    if not counts.any():
        counts = np.ones(len(pieces), np.float32)
    total: Floats = counts / max(1.0, float(counts.sum()))
    return total


def _says_something(piece: str) -> bool:
    return piece not in stopwords.ENGLISH and re.search("[a-z0-9]", piece) is not None
