"""The head of a ranking read again, by something that looks at question and passage together.

Three can do it: late interaction with the bundled model (`local`), a reranker behind a service (`model`), and
the language model of the settings (`llm`).

Late interaction compares every word of a question with every word of a passage. ColBERT's MaxSim (Khattab
and Zaharia, SIGIR 2020): for each word of the question the most similar word of the passage, then the mean
over the question's words. One vector a passage blurs what its words say one by one. The index keeps one bit
a dimension for each word of a turn, so no model runs but for the question.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from heapq import nlargest

from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.index.base import Candidate
from commonplace.providers.embedding.base import dots, of_signs
from commonplace.search.query import Query
from commonplace.search.ranking import LATE, Ranked, RankSettings

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Literal

    from commonplace.config.settings import Settings
    from commonplace.index.base import Floats, VectorStore
    from commonplace.providers.costs import Ledger
    from commonplace.providers.reranking import GuardedReranker

    Kind = Literal["local", "model", "llm"]
    Blend = Literal["scores", "positions"]

# A question and candidates to what each says of it: a similarity (local) or a probability (a model).
Read = Callable[[str, Sequence[Candidate]], Sequence[float]]

LATE_HEAD = 120
# From weight .75 to 2 the dev sets hardly differ. It counts for turns of a conversation only, which say a
# thing in few and various words; over long technical text the similarity is high for whatever shares the
# subject.
LATE_WEIGHT = 1.7
# The best turns whose mean stands for what turns get of it, so that other text competes: of 1, 2, 5 and 20
# five lose least on four sets of chats, with and without notes between them.
LATE_LEVEL = 10
# What it lifts the best turn by, at most: in a few lines of chat among many notes the best ten hold poor
# ones, and what shares two words of the question was put .5 before the note that answers. mixed_chat loses
# .026 with .2 and nothing with .3.
LATE_MOST = 0.3
# What passages before and after say counts this much of what a passage says itself, where they are turns of
# one conversation: an answer is often understood with its question only.
NEIGHBOUR = 0.75

MODEL_HEAD = 20
# What the ranking itself counts beside a model, by position, as in the field: the further up, the more.
POSITIONS = ((3, 0.75), (10, 0.60), (MODEL_HEAD, 0.40))


class Reranker(NamedTuple):
    """Who reads the head again, and how what it says counts.

    `scores` weighs score and probability by position, so that what nothing supports stays low; `positions`
    has 1 / rank in the place of the score, as QMD does.
    """

    kind: Kind
    read: Read
    head: int = LATE_HEAD
    blend: Blend = "scores"


def rerank(ranked: Sequence[Ranked], query: Query, reranker: Reranker) -> list[Ranked]:
    """Order the head anew; the rest stays behind it, with no higher score. Raises what reading raises.

    Late interaction adds to the score of turns.
    """
    head, tail = ranked[: reranker.head], ranked[reranker.head :]
    if not head:
        return []
    values = reranker.read(query.words, [item.candidate for item in head])
    if reranker.kind == "local":
        return _by_words(ranked, values)
    reread = []
    for rank, (item, value) in enumerate(zip(head, values, strict=True), 1):
        weight = next((weight for last, weight in POSITIONS if rank <= last), POSITIONS[-1][1])
        score = item.score if reranker.blend == "scores" else 1 / rank
        reread.append(_with(item, "reranking", weight * score + (1 - weight) * value - item.score))
    reread.sort(key=lambda item: (-item.score, item.candidate.id))
    least = reread[-1].score
    behind = (item if item.score <= least else _with(item, "behind", least - item.score) for item in tail)
    return [*reread, *behind]


def _by_words(ranked: Sequence[Ranked], values: Sequence[float]) -> list[Ranked]:
    """Add what late interaction says of turns, less what it says of the best of them: other text competes."""
    values = [*values, *[0.0] * (len(ranked) - len(values))]
    added = [
        LATE_WEIGHT * item.candidate.turns * max(0.0, value)
        for item, value in zip(ranked, values, strict=True)
    ]
    turns = [place for place, item in enumerate(ranked) if item.candidate.turns]
    best = nlargest(LATE_LEVEL, turns, key=lambda place: ranked[place].score + added[place])
    usual = math.fsum(added[place] for place in best) / max(1, len(best))
    if not usual:
        return list(ranked)
    usual = max(usual, max(added[place] for place in best) - LATE_MOST)
    reread = [
        _with(item, LATE, value - usual) if item.candidate.turns else item
        for item, value in zip(ranked, added, strict=True)
    ]
    return sorted(reread, key=lambda item: (-item.score, item.candidate.id))


def _with(item: Ranked, part: str, value: float) -> Ranked:
    return item._replace(score=item.score + value, parts={**item.parts, part: value})


class Readers:
    """Those who can read the head again, made when first needed; not for two threads at once."""

    def __init__(self, settings: Settings, ledger: Callable[[], Ledger]) -> None:
        """Read as these settings say; nothing is loaded yet."""
        self._settings = settings
        self._ledger = ledger
        self._models: dict[Kind, GuardedReranker] = {}

    def choose(
        self, choice: str | None, late: LateInteraction | None, ranking: RankSettings
    ) -> Reranker | None:
        """Return the reader for one question, or None: `choice` is one of `search.rerank`, None that setting.

        `late` is there where the model that embeds the question gives its words. With `auto` a reranker that
        is set reads, or late interaction over calibrated scores. One that cannot read, or is not set, fails
        when it is to read; the search then goes on without it.
        """
        kind = self._kind(choice or self._settings.search.rerank, late, ranking)
        if kind == "local":
            return Reranker(kind, late.similarities if late is not None else _no_words)
        if kind == "off":
            return None

        def read(question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
            if kind not in self._models:
                self._models[kind] = self._open(kind)
            return self._models[kind].score(question, [candidate.text for candidate in candidates])

        return Reranker(
            kind, read, MODEL_HEAD, "positions" if self._settings.search.fusion == "ranks" else "scores"
        )

    def close(self) -> None:
        """Close what models keep open."""
        for model in self._models.values():
            model.close()
        self._models.clear()

    def _kind(
        self, choice: str, late: LateInteraction | None, ranking: RankSettings
    ) -> Kind | Literal["off"]:
        if choice != "auto":
            return choice if choice in ("local", "model", "llm") else "off"  # type: ignore[return-value]
        if ranking.fusion != "calibrated":
            return "off"
        if self._settings.reranking.provider != "none":
            return "model"
        return "local" if late is not None else "off"

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


def _no_words(question: str, candidates: Sequence[Candidate]) -> list[float]:
    told = "local reads with the bundled model, which does not embed here; take off, or set a reranker"
    raise ConfigError("search.rerank", told)


# --- late interaction -----------------------------------------------------------------------------------


class LateInteraction(NamedTuple):
    """Compares the words of a question with those that the index keeps of turns.

    `words` gives the vectors of a question's words, (n, d) float32 unit rows, none for one in Chinese.
    """

    store: VectorStore
    words: Callable[[str], Floats | None]

    def similarities(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        """How much each turn says of what the question asks, -1..1; 0 for what is no turn.

        Raises ProviderError, IndexUnavailable.
        """
        read = [candidate for candidate in candidates if candidate.turns]
        asked = self.words(question) if read else None
        if asked is None or not len(asked):
            return [0.0] * len(candidates)
        kept = self.store.words({own.id + step for own in read for step in (-1, 0, 1)})
        sections = {passage: section for passage, (section, _) in kept.items()}
        best = _best(asked, {passage: signs for passage, (_, signs) in kept.items()})
        return [_similarity(own, best, sections) if own.id in best else 0.0 for own in candidates]


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
    """What a turn says of the question's words, or those beside it in a conversation; their mean."""
    import numpy as np

    total = best[own.id]
    for beside in (own.id - 1, own.id + 1):
        if beside in best and sections[beside] == own.section_id:
            total = np.maximum(total, NEIGHBOUR * own.turns * best[beside])
    return float(total.mean())
