"""The head of a ranking read again, by a model that looks at question and passage together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from commonplace.index.base import Candidate
from commonplace.language import lexicon
from commonplace.search.query import Query
from commonplace.search.ranking import Ranked

# A question and candidates to what each says of it: a similarity (local) or a probability (a model).
Read = Callable[[str, Sequence[Candidate]], Sequence[float]]
Kind = Literal["local", "model", "llm"]
Blend = Literal["scores", "positions"]

# --- late interaction -----------------------------------------------------------------------------------

LATE_HEAD = 60
# A similarity below this says no more than that both are English; what is above it counts so much score.
# Without the floor, questions that share no words with their answers (what somebody likes) lose .08 of what
# they found; with it nothing. From weight 1 to 2 the dev sets hardly differ.
LATE_FLOOR, LATE_WEIGHT = 0.5, 1.5
# Nearly all of it counts for turns of a conversation only, which say a thing in few and various words; over
# long technical text the similarity is high for whatever shares the subject.
LATE_ANYWHERE = 0.2

# --- cross-encoders and language models -----------------------------------------------------------------

MODEL_HEAD = 20
# What the ranking itself counts beside a model, by position, as in the field: the further up, the more.
POSITIONS = ((3, 0.75), (10, 0.60), (MODEL_HEAD, 0.40))


class Reranker(NamedTuple):
    """Who reads the head again, and how what it says counts."""

    kind: Kind
    read: Read
    head: int = LATE_HEAD
    blend: Blend = "scores"


def rerank(ranked: Sequence[Ranked], query: Query, reranker: Reranker) -> list[Ranked]:
    """Order the head anew; the rest stays behind it. Raises what reading raises.

    `scores` weighs score and probability by position, so that what nothing supports stays low; `positions`
    has 1 / rank in the place of the score, as QMD does.
    """
    head, tail = ranked[: reranker.head], ranked[reranker.head :]
    if not head:
        return []
    said = reranker.read(query.words, [item.candidate for item in head])
    if reranker.kind == "local":
        return _late(head, tail, said, query)
    return _blended(head, tail, said, reranker.blend)


def _late(
    head: Sequence[Ranked], tail: Sequence[Ranked], said: Sequence[float], query: Query
) -> list[Ranked]:
    """Add what the similarities are worth; nothing for CJK, which the bundled model does not serve."""
    found = []
    for item, similarity in zip(head, said, strict=True):
        text = item.candidate
        weight = LATE_WEIGHT * (LATE_ANYWHERE + (1 - LATE_ANYWHERE) * text.turns)
        latin = (1 - query.wide) * (1 - lexicon.cjk_share(text.text))
        found.append(_with(item, "late interaction", weight * latin * max(0.0, similarity - LATE_FLOOR)))
    return _ordered(found, tail)


def _blended(
    head: Sequence[Ranked], tail: Sequence[Ranked], said: Sequence[float], blend: Blend
) -> list[Ranked]:
    found = []
    for rank, (item, probability) in enumerate(zip(head, said, strict=True), 1):
        weight = next((weight for last, weight in POSITIONS if rank <= last), POSITIONS[-1][1])
        own = item.score if blend == "scores" else 1 / rank
        found.append(_with(item, "reranking", weight * own + (1 - weight) * probability - item.score))
    return _ordered(found, tail)


def _ordered(head: list[Ranked], tail: Sequence[Ranked]) -> list[Ranked]:
    """The head by its new scores, then the rest, no score of which may be higher."""
    head.sort(key=lambda item: (-item.score, item.candidate.id))
    least = head[-1].score
    return head + [
        item if item.score <= least else _with(item, "behind", least - item.score) for item in tail
    ]


def _with(item: Ranked, part: str, value: float) -> Ranked:
    return item._replace(score=item.score + value, parts={**item.parts, part: value})
