"""Who reads the head of a ranking again: chosen as the settings say, made when first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from commonplace.search.ranking import RankSettings
from commonplace.search.reranking import Reranker

if TYPE_CHECKING:
    from commonplace.embedding.base import Embedder
    from commonplace.index.sqlite import Candidate
    from commonplace.search.late import LateInteraction


class Readers:
    """The readers of one memory; not for two threads at once."""

    def __init__(self) -> None:
        """Nothing is loaded yet."""
        self._late: LateInteraction | None = None

    def choose(self, wanted: str, model: Embedder | None, ranking: RankSettings) -> Reranker | None:
        """The reader for one question, or None: `wanted` is a choice of `search.rerank`.

        `model` is the one that embeds the question. By itself, late interaction is used where it was
        measured: beside the bundled model, and over calibrated scores.
        """
        if wanted == "auto":
            wanted = "local" if ranking.fusion == "calibrated" and _is_bundled(model) else "off"
        return Reranker("local", self._read_locally) if wanted == "local" else None

    def _read_locally(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        if self._late is None:
            from commonplace.embedding.tokens import TokenEmbedder
            from commonplace.search.late import LateInteraction

            self._late = LateInteraction(TokenEmbedder())
        return self._late.similarities(question, candidates)


def _is_bundled(model: Embedder | None) -> bool:
    if model is None:
        return False
    from commonplace.embedding.builtin import BuiltinEmbedder

    return model.fingerprint == BuiltinEmbedder.fingerprint
