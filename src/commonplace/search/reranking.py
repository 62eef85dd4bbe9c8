"""The head of a ranking read again, by something that looks at question and passage together.

Three can do it: late interaction with the bundled model (`local`), a reranker behind a service (`model`), and
the language model of the settings (`llm`).

Late interaction compares every token of a question with every token of a passage. ColBERT's MaxSim (Khattab
and Zaharia, SIGIR 2020): for each token of the question the most similar token of the passage, then the mean
over the question's tokens. One vector a passage blurs what its words say one by one.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

from commonplace.base.errors import ConfigError, ProviderError
from commonplace.index.base import Candidate
from commonplace.language import lexicon, stopwords
from commonplace.search import query as queries
from commonplace.search.query import Query
from commonplace.search.ranking import Ranked, RankSettings

if TYPE_CHECKING:
    from commonplace.config.settings import Settings
    from commonplace.providers.costs import Accounts
    from commonplace.providers.embedding.base import Embedder, Floats
    from commonplace.providers.embedding.builtin import Tokens
    from commonplace.providers.reranking import GuardedReranker

# A question and candidates to what each says of it: a similarity (local) or a probability (a model).
Read = Callable[[str, Sequence[Candidate]], Sequence[float]]
Kind = Literal["local", "model", "llm"]
Blend = Literal["scores", "positions"]

LATE_HEAD = 60
# A similarity below this says no more than that both are English; what is above it counts so much score.
# Without the floor, questions that share no words with their answers (what somebody likes) lose .08 of what
# they found; with it nothing. From weight 1 to 2 the dev sets hardly differ.
LATE_FLOOR, LATE_WEIGHT = 0.5, 1.5
# Nearly all of it counts for turns of a conversation only, which say a thing in few and various words; over
# long technical text the similarity is high for whatever shares the subject.
LATE_ANYWHERE = 0.2
# What passages before and after say counts this much of what a passage says itself, where they are turns of
# one conversation: an answer is often understood with its question only.
NEIGHBOUR = 0.75
# Token vectors that are kept for the next questions: about a thousand passages of ordinary length.
KEPT_BYTES = 64_000_000
# Passages that are no turns are read among the first so many alone: their similarity counts a fifth, and
# reading one takes some milliseconds.
PROSE_HEAD = 20

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

    Late interaction adds to the score, and nothing for CJK, which the bundled model does not serve.
    """
    head, tail = ranked[: reranker.head], ranked[reranker.head :]
    if not head:
        return []
    values = reranker.read(query.words, [item.candidate for item in head])
    reread = []
    for rank, (item, value) in enumerate(zip(head, values, strict=True), 1):
        if reranker.kind == "local":
            own = item.candidate
            weight = LATE_WEIGHT * (LATE_ANYWHERE + (1 - LATE_ANYWHERE) * own.turns)
            latin = (1 - query.wide) * (1 - lexicon.cjk_share(own.text))
            reread.append(_with(item, "late interaction", weight * latin * max(0.0, value - LATE_FLOOR)))
        else:
            weight = next((weight for last, weight in POSITIONS if rank <= last), POSITIONS[-1][1])
            score = item.score if reranker.blend == "scores" else 1 / rank
            reread.append(_with(item, "reranking", weight * score + (1 - weight) * value - item.score))
    reread.sort(key=lambda item: (-item.score, item.candidate.id))
    least = reread[-1].score
    behind = (item if item.score <= least else _with(item, "behind", least - item.score) for item in tail)
    return [*reread, *behind]


def _with(item: Ranked, part: str, value: float) -> Ranked:
    return item._replace(score=item.score + value, parts={**item.parts, part: value})


class Readers:
    """Those who can read the head again, made when first needed; not for two threads at once."""

    def __init__(self, settings: Settings, accounts: Callable[[], Accounts]) -> None:
        """Read as these settings say; nothing is loaded yet."""
        self._settings = settings
        self._accounts = accounts
        self._late: LateInteraction | None = None
        self._models: dict[Kind, GuardedReranker] = {}

    def choose(self, choice: str | None, model: Embedder | None, ranking: RankSettings) -> Reranker | None:
        """Return the reader for one question, or None: `choice` is one of `search.rerank`, None that setting.

        `model` is the one that embeds the question. With `auto` a reranker that is set reads, or late
        interaction where it was measured: beside the bundled model, and over calibrated scores. One that
        cannot read, or is not set, fails when it is to read; the search then goes on without it.
        """
        kind = self._kind(choice or self._settings.search.rerank, model, ranking)
        if kind == "local":
            return Reranker(kind, lambda text, head: self._locally().similarities(queries.latin(text), head))
        if kind == "off":
            return None

        def read(question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
            if kind not in self._models:
                self._models[kind] = self._open(kind)
            return self._models[kind].score(question, [candidate.text for candidate in candidates])

        return Reranker(kind, read, MODEL_HEAD, self._settings.search.blend)

    def first(self, model: Embedder | None, ranking: RankSettings) -> LateInteraction | None:
        """Return what reads for a question that does not choose, where that runs in this process."""
        kind = self._kind(self._settings.search.rerank, model, ranking)
        return self._locally() if kind == "local" else None

    def close(self) -> None:
        """Close what models keep open."""
        for model in self._models.values():
            model.close()
        self._models.clear()

    def _kind(self, choice: str, model: Embedder | None, ranking: RankSettings) -> Kind | Literal["off"]:
        if choice != "auto":
            return choice if choice in ("local", "model", "llm") else "off"  # type: ignore[return-value]
        if ranking.fusion != "calibrated" or (self._settings.reranking.provider == "none" and model is None):
            return "off"
        if self._settings.reranking.provider != "none":
            return "model"
        from commonplace.providers.embedding.builtin import BuiltinEmbedder

        assert model is not None
        return "local" if model.fingerprint == BuiltinEmbedder.fingerprint else "off"

    def _open(self, kind: Kind) -> GuardedReranker:
        from commonplace.providers.opening import LLM, open_reranker

        settings = self._settings
        if kind == "llm":
            settings = settings._replace(reranking=settings.reranking._replace(provider=LLM))
        reranker = open_reranker(settings, self._accounts())
        if reranker is None:
            unset = "no reranker is set; set reranking.provider, or take --rerank local"
            raise ConfigError("search.rerank", unset)
        return reranker

    def _locally(self) -> LateInteraction:
        if self._late is None:
            from commonplace.providers.embedding.builtin import TokenEmbedder

            self._late = LateInteraction(TokenEmbedder())
        return self._late


# --- late interaction -----------------------------------------------------------------------------------


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
        if not asked.pieces:
            return [0.0] * len(candidates)
        weights, best = _weights(asked.pieces), self._best(asked.vectors, read)
        sections = {candidate.id: candidate.section_id for candidate in read}
        return [
            float(_with_neighbours(candidate, best, sections) @ weights) if candidate.id in best else 0.0
            for candidate in candidates
        ]

    def _best(self, asked: Floats, read: Sequence[Candidate]) -> dict[int, Floats]:
        """For every token of a question the cosine of the most similar one, by passage."""
        import numpy as np

        vectors = self._vectors([candidate.text for candidate in read])
        none = np.zeros(len(asked), np.float32)
        return {
            candidate.id: (asked @ own.T).max(axis=1) if len(own) else none
            for candidate, own in zip(read, vectors, strict=True)
        }

    def _vectors(self, texts: Sequence[str]) -> list[Floats]:
        """Token vectors of texts, those kept and those the model must be asked for; the oldest make room."""
        import numpy as np

        unknown = [text for text in dict.fromkeys(texts) if text not in self._kept]
        fresh = dict(zip(unknown, (tokens.vectors for tokens in self._model.embed(unknown)), strict=True))
        found = [fresh[text] if text in fresh else self._kept[text].astype(np.float32) for text in texts]
        for text, vectors in zip(texts, found, strict=True):
            if text not in self._kept:
                self._kept[text] = vectors.astype(np.float16)
                self._room -= self._kept[text].nbytes
            self._kept.move_to_end(text)
            while self._room < 0 and self._kept:
                self._room += self._kept.popitem(last=False)[1].nbytes
        return found


def _with_neighbours(candidate: Candidate, best: Mapping[int, Floats], sections: Mapping[int, int]) -> Floats:
    """What a passage says of each token, or those beside it in a conversation."""
    import numpy as np

    total = best[candidate.id]
    for beside in (candidate.id - 1, candidate.id + 1):
        if sections.get(beside) == candidate.section_id:
            total = np.maximum(total, NEIGHBOUR * candidate.turns * best[beside])
    return total


def _weights(pieces: Sequence[str]) -> Floats:
    """What each token of a question counts: those that ask for nothing nothing, the others alike.

    Measured: without stop words and punctuation the mean gives realtalk .03 more than with them; weights by
    idf give less.
    """
    import numpy as np

    def says_something(piece: str) -> bool:
        letters = any("a" <= character <= "z" or "0" <= character <= "9" for character in piece)
        return letters and piece not in stopwords.ENGLISH

    counts = np.array([says_something(piece) for piece in pieces], np.float32)
    if not counts.any():
        counts = np.ones(len(pieces), np.float32)
    return counts / float(counts.sum())
