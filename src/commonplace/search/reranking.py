"""The head of a ranking read again, by something that looks at question and passage together.

A reranker behind a service (`model`) or the language model of the settings (`llm`) reads the best 20. With
the bundled model (`local`) every word of a question is compared with every word of a turn, for a feature of
the ranking: ColBERT's MaxSim (Khattab and Zaharia, SIGIR 2020), for each word of the question the most
similar word of the passage, then the mean over the question's words. One vector a passage blurs what its
words say one by one. The index keeps one bit a dimension for each word of a turn, so no model runs but for
the question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Candidate
from commonplace.providers.embedding.base import dots, of_signs
from commonplace.search.ranking import Ranked, RankSettings, adjusted

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Literal

    from commonplace.config.settings import Settings
    from commonplace.index.base import Floats, VectorStore
    from commonplace.providers.costs import Ledger
    from commonplace.providers.reranking import GuardedReranker
    from commonplace.search.ranking import Similarities

    Kind = Literal["model", "llm"]

# A question and texts to the probability that each answers it.
Read = Callable[[str, Sequence[str]], Sequence[float]]

# Passages before and after count this much of a passage itself, if they are turns of
# one conversation: an answer is often understood with its question only.
NEIGHBOUR = 0.75
MODEL_HEAD = 20
# The weight of the ranking next to a model, by position, as in the literature: the further up, the more.
POSITIONS = ((3, 0.75), (10, 0.60), (MODEL_HEAD, 0.40))


class Reranker(NamedTuple):
    """A model that rescores the head. With `by_rank` 1 / rank replaces the score, as in QMD."""

    read: Read
    by_rank: bool = False


def rerank(ranked: Sequence[Ranked], question: str, reranker: Reranker) -> list[Ranked]:
    """Order the head anew; the rest stays behind it, with no higher score. Raises what reading raises."""
    head, tail = ranked[:MODEL_HEAD], ranked[MODEL_HEAD:]
    if not head:
        return []
    values = reranker.read(question, [item.candidate.text for item in head])
    reread = []
    for rank, (item, value) in enumerate(zip(head, values, strict=True), 1):
        weight = next(weight for last, weight in POSITIONS if rank <= last)
        score = 1 / rank if reranker.by_rank else item.score
        reread.append(adjusted(item, "reranking", weight * score + (1 - weight) * value - item.score))
    reread.sort(key=lambda item: (-item.score, item.candidate.id))
    least = reread[-1].score
    behind = (item if item.score <= least else adjusted(item, "behind", least - item.score) for item in tail)
    return [*reread, *behind]


class Readers:
    """Those who can read the head again, made when first needed; not for two threads at once."""

    def __init__(self, settings: Settings, ledger: Callable[[], Ledger]) -> None:
        """Read as these settings say; models are loaded later."""
        self._settings = settings
        self._ledger = ledger
        self._models: dict[Kind, GuardedReranker] = {}

    def choose(
        self, choice: str | None, similar: Similarities | None, ranking: RankSettings
    ) -> tuple[Reranker | None, Similarities | None]:
        """Return the reader for one question, and what compares its words with those of turns, or None.

        `choice` is one of `search.rerank`, None that setting. `similar` is there where the model that embeds
        the question gives its words. With `auto` a reranker that is set reads, otherwise words are compared.
        A reader that cannot read, or is not set, fails when it is to read; the search goes on without it.
        """
        choice = choice or self._settings.search.rerank
        if choice == "auto":
            none = self._settings.reranking.provider == "none"
            choice = "off" if ranking.fusion != "calibrated" else "local" if none else "model"
        elif choice == "local" and similar is None:
            return Reranker(_no_words), None
        reader = self._reader(choice) if choice in ("model", "llm") else None  # type: ignore[arg-type]
        return reader, similar if choice == "local" else None

    def close(self) -> None:
        """Close what models keep open."""
        for model in self._models.values():
            model.close()
        self._models.clear()

    def _reader(self, kind: Kind) -> Reranker:
        def read(question: str, texts: Sequence[str]) -> Sequence[float]:
            if kind not in self._models:
                self._models[kind] = self._open(kind)
            return self._models[kind].score(question, texts)

        return Reranker(read, self._settings.search.fusion == "qmd")

    def _open(self, kind: Kind) -> GuardedReranker:
        from commonplace.providers.opening import LLM, open_reranker

        settings = self._settings
        if kind == "llm":
            settings = settings._replace(reranking=settings.reranking._replace(provider=LLM))
        reranker = open_reranker(settings, self._ledger())
        if reranker is None:
            unset = "no reranker is set; set reranking.provider, or take --rerank local"
            raise ConfigError("search.rerank", unset)
        return reranker


def _no_words(question: str, texts: Sequence[str]) -> Sequence[float]:
    missing = "local reads with the bundled model, which does not embed here; take off, or set a reranker"
    raise ConfigError("search.rerank", missing)


# --- words one by one -----------------------------------------------------------------------------------


def comparing(store: VectorStore, words: Callable[[str], Floats | None]) -> Similarities:
    """Return a function that compares a question's words with those of turns in the index.

    `words` gives the vectors of a question's words, (n, d) float32 unit rows; None for one in Chinese. The
    similarity of a passage is -1..1. Raises ProviderError, IndexUnavailable when it compares.
    """

    def similar(question: str, turns: Sequence[Candidate]) -> Mapping[int, float]:
        asked = words(question)
        if asked is None or not len(asked):
            return {}
        kept = store.words({own.id + step for own in turns for step in (-1, 0, 1)})
        sections = {passage: section for passage, (section, _) in kept.items()}
        best = _best(asked, {passage: signs for passage, (_, signs) in kept.items()})
        return {own.id: _similarity(own, best, sections) for own in turns if own.id in best}

    return similar


def _best(asked: Floats, kept: Mapping[int, bytes]) -> dict[int, Floats]:
    """For every word of a question the cosine of the most similar one, by passage."""
    import numpy as np

    size = asked.shape[1] // 8
    whole = {passage: signs for passage, signs in kept.items() if signs and not len(signs) % size}
    if not whole:
        return {}
    cosines = dots(of_signs(b"".join(whole.values()), asked.shape[1]), asked)
    firsts = np.cumsum([0, *(len(signs) // size for signs in whole.values())])[:-1]
    return dict(zip(whole, np.maximum.reduceat(cosines, firsts), strict=True))


def _similarity(own: Candidate, best: Mapping[int, Floats], sections: Mapping[int, int]) -> float:
    """Return the mean over the question's words of the best cosine in a turn or its weighted neighbours."""
    import numpy as np

    total = best[own.id]
    for beside in (own.id - 1, own.id + 1):
        if beside in best and sections[beside] == own.section_id:
            total = np.maximum(total, NEIGHBOUR * own.turns * best[beside])
    return float(total.mean())
