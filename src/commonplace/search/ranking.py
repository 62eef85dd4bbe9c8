"""Candidates to scores: named weights, each with its reason, in plain functions over values.

Calibrated fusion (the default) adds what the words say and what the meaning says on absolute scales: BM25
divided by what a full match would score, and the cosine as it is. Dividing by the best BM25 of the question
instead would give the best of nothing full marks; measured, it ranks worse wherever question and answer
share few words.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NamedTuple

from commonplace.index.base import Candidate
from commonplace.language import lexicon
from commonplace.markdown import structure
from commonplace.search import factors, fusion
from commonplace.search.query import Query
from commonplace.search.terms import Terms

if TYPE_CHECKING:
    from datetime import date

    from commonplace.config.settings import Search
    from commonplace.search.temporal import Dated

# A passage that repeats a rare term can score more than the ideal; beyond this it says nothing more.
WORDS_MAX = 1.5
# Names under which an assistant's transcript keeps what its owner said.
OWNER = frozenset({"user", "human", "me", "用户", "我"})
# A label counts as a person when it opens this many lines of the candidates; a rarer one is a key ("Note:").
PERSON_LINES = 8
# A passage that has no vector yet is taken to mean this much of what its words say: what was written a
# moment ago is neither lost behind older notes nor put before all of them.
MEANING_UNKNOWN = 0.5
# Keeps passages beside a match in front of those beside none, where all else is equal.
TIE = 1e-6


class RankSettings(NamedTuple):
    """The weights of one configuration; the defaults are ours, others reproduce other systems.

    `vector` weighs the cosine, and the words get the rest (`lexical` is used by the other fusions); the
    weight falls with the share of CJK in question and passage, which the bundled model does not serve.
    `header` is BM25's weight of title and headings. `speaker` is added to what was said by the person asked
    about, `owner` to what the owner said where nobody is asked about: what an assistant says is known, or can
    be had again. Where the section is a conversation, `turns` is the part of a neighbour's words that counts
    here, `beyond` that of the words one further away, `section` that of the best other passage's relevance.
    `dated` is added to passages of the days that the question names, and a part of it to those near them.
    `recency` is what a dated note loses as it ages, by 1 - exp(-ln 2 x age / half-life); in the scores fusion
    it weighs exp(-ln 2 x age / half-life). `project` is the one at hand. `bonuses` are those of first places
    in the ranks fusion. `gated` refuses questions that nothing answers; `updates` puts newer statements
    before older ones (calibrated fusion); `saturate` takes BM25 as s / (1 + s) rather than relative to the
    best (scores fusion).
    """

    fusion: Literal["calibrated", "scores", "ranks"] = "calibrated"
    vector: float = 0.7
    lexical: float = 0.3
    header: float = 0.5
    speaker: float = 0.10
    owner: float = 0.05
    turns: float = 0.6
    beyond: float = 0.3
    section: float = 0.2
    dated: float = 0.1
    recency: float = 0.0
    half_life_days: float = 30.0
    candidates: int = 400
    gated: bool = True
    saturate: bool = False
    updates: bool = True
    project: str = ""
    bonuses: tuple[float, ...] = ()


DEFAULT = RankSettings()


def chosen(settings: Search, base: RankSettings = DEFAULT) -> RankSettings:
    """A configuration with what the settings say; one that reproduces another system stays what it is.

    Only calibrated scores are absolute, so only they can refuse a question.
    """
    if base.fusion != DEFAULT.fusion:
        return base
    base = base._replace(
        project=settings.project, recency=settings.recency, half_life_days=settings.half_life_days
    )
    if settings.fusion == "ranks":
        weight = fusion.RANK_WEIGHT
        base = base._replace(vector=weight, lexical=weight, bonuses=fusion.RANK_BONUSES)
    return base._replace(fusion=settings.fusion, gated=base.gated and settings.fusion == "calibrated")


class Evidence(NamedTuple):
    """What both lists say of a question: BM25 and cosine by passage, and the question itself.

    `dates` (passage to YYYY-MM-DD) is needed for recency, and where the question names `days`; `curated` are
    notes that do not age. `lists` are those of each line of a question with its weight, where it has several.
    """

    query: Query
    terms: Terms
    lexical: fusion.Scores
    semantic: fusion.Scores
    dates: Mapping[int, str | None] = MappingProxyType({})
    today: date | None = None
    days: Dated | None = None
    curated: Collection[int] = ()
    lists: Sequence[tuple[fusion.Scores, float]] = ()

    def day(self) -> date:
        """The day that ages and ends are told from."""
        from datetime import date

        return self.today or date.today()


class Ranked(NamedTuple):
    """A candidate with its score, the parts of it, and its relevance by words and meaning alone."""

    candidate: Candidate
    score: float
    parts: dict[str, float]
    relevance: float = 0.0


def rank(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    """Score candidates and sort them, best first; ties by id, which follows path and line."""
    score = {"calibrated": _calibrated, "scores": _by_score, "ranks": _by_rank}[settings.fusion]
    found = [_with_factors(item, evidence, settings) for item in score(candidates, evidence, settings)]
    return sorted(found, key=lambda r: (-r.score, r.candidate.id))


def _with_factors(item: Ranked, evidence: Evidence, settings: RankSettings) -> Ranked:
    """Add what the note says of the passage, and what its age takes."""
    if item.candidate.annotations is None and not settings.recency:
        return item
    added = factors.parts(factors.said(item.candidate), settings.project, evidence.day)
    if settings.recency and settings.fusion != "scores" and item.candidate.note_id not in evidence.curated:
        fresh = _recency(item.candidate, evidence, settings.half_life_days, undated=1.0)
        added["age"] = settings.recency * (fresh - 1.0)
    parts = {**item.parts, **added}
    return item._replace(score=math.fsum(parts.values()), parts=parts)


def _calibrated(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    words = _words(evidence)
    said_by = {candidate.id: speakers(candidate) for candidate in candidates}
    persons = _persons(said_by, evidence.query)
    ranked = []
    for candidate in candidates:
        own, weight = candidate.id, _vector_weight(candidate, evidence, settings)
        said = words.get(own, 0.0)
        meant = evidence.semantic.get(own, MEANING_UNKNOWN * min(1.0, said))
        parts = {"meaning": weight * meant, "words": (1 - weight) * said}
        relevance = max(0.0, parts["meaning"]) + parts["words"]
        if not persons.isdisjoint(said_by[own]):
            parts["speaker"] = settings.speaker
        elif not persons and not OWNER.isdisjoint(said_by[own]):
            parts["speaker"] = settings.owner
        if evidence.days is not None and (near := _near(candidate, evidence)):
            parts["date"] = settings.dated * near
        ranked.append(Ranked(candidate, 0.0, parts, relevance))
    _add_surroundings(ranked, settings)
    # Made anew rather than by `_replace`, which takes several times as long, for hundreds of candidates.
    return [Ranked(own, math.fsum(parts.values()), parts, relevance) for own, _, parts, relevance in ranked]


def _add_surroundings(ranked: Sequence[Ranked], settings: RankSettings) -> None:
    """Add what the passages around each one say, where they are turns of one conversation."""
    places = {item.candidate.id: item for item in ranked}
    best = _best_of_sections(ranked)
    for item in ranked:
        own = item.candidate
        beside = _around(places, own, 1)
        # Only in a conversation do passages further away say anything.
        beyond = _around(places, own, 2) if own.turns else []
        if beside or beyond:
            near = settings.turns * max(beside, default=0.0) + settings.beyond * max(beyond, default=0.0)
            item.parts["neighbours"] = own.turns * near + TIE * sum(beside)
        if own.turns and settings.section:
            others = [other.relevance for other in best[own.section_id] if other is not item]
            item.parts["section"] = settings.section * own.turns * max(others, default=0.0)


def _around(places: Mapping[int, Ranked], own: Candidate, steps: int) -> list[float]:
    """The words of the candidates so many passages before and after one, in its section."""
    found = []
    for other in (places.get(own.id - steps), places.get(own.id + steps)):
        if other is not None and other.candidate.section_id == own.section_id:
            found.append(other.parts["words"])
    return found


def _best_of_sections(ranked: Sequence[Ranked]) -> dict[int, list[Ranked]]:
    """The two most relevant candidates of each section: one of them is another than any passage itself."""
    best: dict[int, list[Ranked]] = {}
    for item in ranked:
        two = best.setdefault(item.candidate.section_id, [])
        two.append(item)
        if len(two) > 2:
            two.remove(min(two, key=lambda one: one.relevance))
    return best


def _words(evidence: Evidence) -> dict[int, float]:
    """BM25 on an absolute scale, 0..1.5; where the question is an expression, relative to its best hit."""
    ideal = evidence.terms.ideal or max(evidence.lexical.values(), default=0.0)
    if ideal <= 0:
        return {}
    return {passage: min(WORDS_MAX, score / ideal) for passage, score in evidence.lexical.items()}


def _vector_weight(candidate: Candidate, evidence: Evidence, settings: RankSettings) -> float:
    """The weight of meaning for one candidate: less the more CJK, none where no vectors are asked."""
    if not evidence.semantic:
        return 0.0
    share = 0.0 if candidate.text.isascii() else lexicon.cjk_share(candidate.text)
    return settings.vector * ((1 - evidence.query.wide) * (1 - share))


def _near(candidate: Candidate, evidence: Evidence) -> float:
    """How near a candidate's day is to those that the question names, 0..1."""
    if evidence.days is None:
        return 0.0
    from commonplace.search import temporal as dated

    return dated.closeness(evidence.dates.get(candidate.id), evidence.days.spans)


def _persons(speakers: Mapping[int, Sequence[str]], query: Query) -> frozenset[str]:
    """Whom the question is about, among those who speak in the candidates."""
    spoken = query.spoken
    labels = Counter(label for said in speakers.values() for label in said)
    named = {label for label, lines in labels.items() if lines >= PERSON_LINES and label.split()[0] in spoken}
    return frozenset(named - OWNER | (OWNER if query.first_person else frozenset()))


def speakers(candidate: Candidate) -> list[str]:
    """The labels of a passage's lines."""
    if ":" not in candidate.text and "：" not in candidate.text:
        return []
    return [label for line in candidate.text.split("\n") if (label := structure.speaker(line)) is not None]


def _by_score(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    saturated = {passage: score / (1 + score) for passage, score in evidence.lexical.items()}
    words = saturated if settings.saturate else fusion.normalize(evidence.lexical)
    ranked = []
    for candidate in candidates:
        parts = {
            "meaning": settings.vector * evidence.semantic.get(candidate.id, 0.0),
            "words": settings.lexical * words.get(candidate.id, 0.0),
        }
        if settings.recency:
            parts["recency"] = settings.recency * _recency(candidate, evidence, settings.half_life_days)
        ranked.append(Ranked(candidate, math.fsum(parts.values()), parts, math.fsum(parts.values())))
    return ranked


def _by_rank(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    lists = evidence.lists or [
        (evidence.semantic, settings.vector),
        (evidence.lexical, settings.lexical),
    ]
    fused, first = fusion.ranks(lists, fusion.RANK_CONSTANT, settings.bonuses)
    ranked = []
    for candidate in candidates:
        parts = {"rank fusion": fused.get(candidate.id, 0.0), "first places": first.get(candidate.id, 0.0)}
        score = math.fsum(parts.values())
        ranked.append(Ranked(candidate, score, parts, score))
    return ranked


def _recency(candidate: Candidate, evidence: Evidence, half_life_days: float, undated: float = 0.0) -> float:
    """exp(-ln 2 x age / half-life) of a dated note."""
    day = evidence.dates.get(candidate.id)
    if not day:
        return undated
    from datetime import date

    age = (evidence.day() - date.fromisoformat(day)).days
    return float(0.5 ** (max(0, age) / half_life_days))


# --- the gate -------------------------------------------------------------------------------------------

# Relevance that the best candidate must reach, or the question is refused: measured on questions that the
# dev sets answer and on nonsense. Statements of the owner share few words with a question about what to do,
# and a whole dialogue has no single match, so those get a lower one; a question of which no term is known
# can only be answered by meaning, so it must be near.
GATE, GATE_LOOSE, GATE_UNKNOWN = 0.30, 0.16, 0.36
GATE_DIALOGUE = 0.20
GATE_WORDS, GATE_WORDS_LONG = 0.14, 0.11  # where words decide alone
DIALOGUE_TERMS, LONG_TERMS = 12, 24
# The best of n unrelated cosines grows with the square root of ln n (extreme values of a normal variable), so
# a small memory needs a lower gate than one of this many passages, for which they were measured.
GATE_PASSAGES = 2000
GATE_LEAST = 2 / 3


def gate(evidence: Evidence, *, loose: bool = False) -> float:
    """The relevance below which nothing is an answer; `loose` for what the owner's statements answer."""
    query, terms = evidence.query, evidence.terms
    by_words = GATE_WORDS_LONG if terms.asked > LONG_TERMS else GATE_WORDS
    if not evidence.semantic:
        return by_words
    by_meaning = GATE if terms.known else GATE_UNKNOWN
    if is_dialogue(evidence):
        by_meaning = GATE_DIALOGUE
    if loose:
        by_meaning = GATE_LOOSE
    return (1 - query.wide) * by_meaning * gate_size(terms) + query.wide * by_words


def is_dialogue(evidence: Evidence) -> bool:
    """Whether the question is as long as what somebody tells, rather than asks."""
    return evidence.terms.asked > DIALOGUE_TERMS


def gate_size(terms: Terms) -> float:
    """What a gate is multiplied with in a memory of this size, 2/3 to 1."""
    size = math.sqrt(math.log(max(2, terms.passages)) / math.log(GATE_PASSAGES))
    return min(1.0, max(GATE_LEAST, size))
