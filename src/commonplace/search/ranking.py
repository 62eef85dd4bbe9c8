"""Candidates to scores: named weights, each with its reason, in plain functions over values.

Calibrated fusion (the default) adds what the words say and what the meaning says on absolute scales: BM25
divided by what a full match would score, and the cosine as it is. Dividing by the best BM25 of the question
instead would give the best of nothing full marks; measured, it ranks worse wherever question and answer
share few words.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import nlargest
from itertools import chain
from types import MappingProxyType

from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import ROLE, STRUCK
from commonplace.index.base import Candidate
from commonplace.language.scripts import LATIN, MOST, serves, wide_script
from commonplace.markdown import turns
from commonplace.search import fusion
from commonplace.search.query import Dated, Query
from commonplace.search.terms import Terms

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date
    from typing import Literal

    from commonplace.config.settings import Search
    from commonplace.language.dates import Span

# Of two lists of several hundred so many passages are read (twice the hits, where somebody wants many): half
# of them the best of both together, a quarter the best of each. It halves the time of ranking; prefeval and
# vehicle gain .010 and .012, no other set changes by more than .001.
PROMISING = 240
# A passage that repeats a rare term can score more than the ideal; beyond this it says nothing more.
WORDS_MAX = 1.5
# A label counts as a person when it opens this many lines of the candidates; a rarer one is a key ("Note:").
PERSON_LINES = 8
# A passage that has no vector yet is taken to mean this much of what its words say: what was written a
# moment ago is neither lost behind older notes nor put before all of them.
MEANING_UNKNOWN = 0.5
# And what is in another language than the question cannot hold its words: they are taken to say so much of
# what its meaning does, by the share of the passage that is so. Measured on questions and paragraphs in both
# languages, and flat from .6 to 1.
WORDS_UNKNOWN = 0.8
# Of a Chinese passage and a question in another language only as far as its meaning lies between what null
# questions reach there and what answers do; below, its meaning counts less, as much of it is noise. Of 20
# questions without an answer in notes of both languages two begin with a Chinese passage, both marked weak.
FOREIGN_NOISE, FOREIGN_CLEAR, FOREIGN_LESS = 0.35, 0.5, 0.4
# Keeps passages beside a match in front of those beside none, where all else is equal.
TIE = 1e-6
# A note counts half for every so many days that lie between it and the days that a question names, and
# nothing beyond so many: an evening is often written down the day after.
HALF_DAYS, NEAR_DAYS = 2.0, 7
WIDE_DAYS = 31  # spans of more days may hold most notes

# What a character of a passage costs, and the share of its relevance that all of them cost at most: a reader
# takes so much text and no more; of two passages that answer alike the shorter one leaves room for a third.
LENGTH, LENGTH_MOST = 0.00016, 0.3
# A turn that ends in a question rarely holds the answer.
ASKS = -0.03
# What only turns of a conversation get, taken against what so many of the best turns get on the mean.
OF_TURNS, LEVEL = ("speaker", "neighbours", "section", "asks"), 20
CONVERSATION, LATE = "conversation", "late interaction"
# Where other text has so much of the score of the best turn without all this, no turn stands before it. From
# 1 to .8 mixed vaults gain or keep their recall, below they lose.
OTHER_LEAST = 0.9

# What notes say of themselves is added, not multiplied: scores are absolute, so it counts the same for a
# strong hit and a weak one, and cannot lift what hardly answers over what does. All but the last two are
# smaller than the difference between answering and not.
# For each point above or below 5: from -.04 to .05, half of what a named speaker counts. Others multiply by
# 0.75 + 0.05 x importance, which is .05 x the score.
IMPORTANCE, NEUTRAL = 0.01, 5
# Notes of the project at hand, and of another one: a nudge between passages that answer alike.
PROJECT, OTHER_PROJECT = 0.05, -0.03
TENTATIVE = -0.05  # a guess, behind what is known if both answer alike
# About what the best hit is above the tenth: what no longer holds stands behind all that does.
OUTDATED = -0.25
# Who wrote it: the owner, and notes that do not say, count nothing.
WRITERS = {"agent": -0.01, "tool": -0.05, "untrusted": -0.05}
# What only looks things up stands behind the owner's own notes that say as much, beside what its amount asks.
REFERENCE = 0.1
LABELLED = {"tool": "untrusted", "untrusted": "untrusted"}


class RankSettings(NamedTuple):
    """The weights of one configuration; the defaults are ours, others reproduce other systems.

    `vector` weighs the cosine, and the words get the rest (`lexical` is used by the other fusions); the
    weight falls with the share of question and passage in a script that the model does not serve.
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
    vector: float = 0.68
    lexical: float = 0.3
    header: float = 0.5
    speaker: float = 0.10
    owner: float = 0.05
    turns: float = 0.6
    beyond: float = 0.3
    section: float = 0.15
    dated: float = 0.25
    recency: float = 0.0
    half_life_days: float = 30.0
    candidates: int = 300
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
    base = base._replace(project=settings.project, recency=settings.recency)
    if settings.fusion == "ranks":
        weight = fusion.RANK_WEIGHT
        base = base._replace(vector=weight, lexical=weight, bonuses=fusion.RANK_BONUSES)
    return base._replace(fusion=settings.fusion, gated=base.gated and settings.fusion == "calibrated")


class Evidence(NamedTuple):
    """What both lists say of a question: BM25 and cosine by passage, and the question itself.

    `dates` (passage to YYYY-MM-DD) is needed for recency, and where the question names `days`; `curated` are
    notes that do not age. `lists` are those of each line of a question with its weight, where it has several.
    `served` are the scripts that the model serves. `reference` are passages that are no notes of the owner:
    they stand `behind` his by so much.
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
    served: Collection[str] = (LATIN,)
    reference: Collection[int] = ()
    behind: float = 0.0

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


# --- what a note says of a passage ----------------------------------------------------------------------


def said(candidate: Candidate) -> Mapping[str, str]:
    """What a note says of a passage."""
    return json.loads(candidate.annotations) if candidate.annotations else {}


def role_of(candidate: Candidate) -> str:
    """Return `FRONT` for front matter, `BARE` for a note without text, empty for any other passage."""
    is_marked = candidate.annotations and f'"{ROLE}":' in candidate.annotations
    return said(candidate).get(ROLE, "") if is_marked else ""


def annotated_parts(own: Mapping[str, str], project: str, today: Callable[[], date]) -> dict[str, float]:
    """What each of a passage's annotations adds to its score; `project` is the one at hand, if any."""
    added: dict[str, float] = {}
    if "importance" in own:
        added["importance"] = IMPORTANCE * (int(own["importance"]) - NEUTRAL)
    if project and "project" in own:
        added["project"] = PROJECT if own["project"].casefold() == project.casefold() else OTHER_PROJECT
    if own.get("status") == "tentative":
        added["tentative"] = TENTATIVE
    if word := outdated(own, today):
        added[word] = OUTDATED
    if "by" in own:
        added["by"] = WRITERS.get(own["by"], 0.0)
    return added


def labels(own: Mapping[str, str], today: Callable[[], date]) -> tuple[str, ...]:
    """What a reader must know of a passage: `struck`, `superseded` or `expired`, `tentative`, `untrusted`."""
    labels = (
        STRUCK if STRUCK in own else "",
        outdated(own, today),
        "tentative" if own.get("status") == "tentative" else "",
        LABELLED.get(own.get("by", ""), ""),
    )
    return tuple(filter(None, labels))


def outdated(own: Mapping[str, str], today: Callable[[], date]) -> str:
    """Return the word for what no longer holds though it stands, or nothing."""
    if STRUCK in own:
        return ""  # found only by those who ask for it, and below what replaced it whatever it scores
    if own.get("status") == "superseded" or "superseded-by" in own:
        return "superseded"
    until = own.get("valid-until")
    return "expired" if until and until < today().isoformat() else ""


# --- scores ---------------------------------------------------------------------------------------------


def promising(
    lexical: fusion.Scores, semantic: fusion.Scores, terms: Terms, settings: RankSettings, limit: int
) -> Collection[int]:
    """Return what is worth reading of both lists: the best of each and of both together, and neighbours.

    The ends of two long lists cost as much to read as their heads, and nothing of them comes to the front.
    """
    most = max(PROMISING, 2 * limit)
    if len(lexical) + len(semantic) <= most:
        return {*lexical, *semantic}
    ideal = terms.ideal or max(lexical.values(), default=0.0) or 1.0
    both = {passage: settings.vector * cosine for passage, cosine in semantic.items()}
    for passage, score in lexical.items():
        words = (1 - settings.vector) * min(WORDS_MAX, score / ideal)
        both[passage] = both.get(passage, 0.0) + words
    best = {*nlargest(most // 2, both, key=both.__getitem__)}
    for scores in (lexical, semantic):
        best.update(nlargest(most // 4, scores, key=scores.__getitem__))
    beside = {passage + step for passage in best for step in (-2, -1, 1, 2)}
    return best | (both.keys() & beside)


def rank(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    """Score candidates and sort them, best first; ties by id, which follows path and line."""
    score = {"calibrated": _calibrated, "scores": _by_score, "ranks": _by_rank}[settings.fusion]
    scored = []
    for item in score(candidates, evidence, settings):
        own, parts = item.candidate, item.parts
        if own.annotations is not None or settings.recency:
            parts |= annotated_parts(said(own), settings.project, evidence.day)
            if settings.recency and settings.fusion != "scores" and own.note_id not in evidence.curated:
                fresh = _recency(own, evidence, settings.half_life_days, undated=1.0)
                parts["age"] = settings.recency * (fresh - 1.0)
        # Made anew rather than by `_replace`, which takes several times as long, for hundreds of candidates.
        scored.append(Ranked(own, math.fsum(parts.values()), parts, item.relevance))
    return sorted(scored, key=lambda item: (-item.score, item.candidate.id))


def _calibrated(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    # BM25 on an absolute scale, 0..1.5; where the question is an expression, relative to its best hit.
    ideal = evidence.terms.ideal or max(evidence.lexical.values(), default=0.0)
    query = evidence.query
    spoken_by = {one.id: one.traits.speakers.split("\n") for one in candidates if one.traits.speakers}
    persons = _persons(Counter(chain.from_iterable(spoken_by.values())), query)
    heard, speaker = (persons, settings.speaker) if persons else (turns.OWNER, settings.owner)
    vector = settings.vector if evidence.semantic else 0.0
    if vector and query.wide and not serves(evidence.served, wide_script(query.words)):
        vector *= 1 - query.wide
    lexical, semantic, own_words = evidence.lexical, evidence.semantic, evidence.terms.own
    asked_wide, days = query.wide > MOST, evidence.days
    dated = settings.dated * _selectivity(evidence) if days else 0.0
    ranked = []
    for candidate in candidates:  # hundreds of them: what does not depend on one stands above
        own = candidate.id
        speakers, wide, script = candidate.traits
        # Meaning counts the less, the more of the passage is in a script that the model does not serve.
        weight = vector * (1.0 - wide) if wide and vector and not serves(evidence.served, script) else vector
        words = min(WORDS_MAX, lexical.get(own, 0.0) / ideal) if ideal > 0 else 0.0
        meaning = semantic[own] if own in semantic else MEANING_UNKNOWN * min(1.0, words)
        if weight and meaning > 0 and (asked_wide or wide):
            foreign = 1 - wide if asked_wide else wide
            clear = 1.0 if asked_wide or wide <= MOST else _clearness(meaning)
            words = min(WORDS_MAX, words + WORDS_UNKNOWN * meaning * clear * foreign * own_words)
            meaning *= 1.0 - FOREIGN_LESS * (1.0 - clear) * foreign
        parts = {"meaning": weight * meaning, "words": (1 - weight) * words}
        relevance = max(0.0, parts["meaning"]) + parts["words"]
        parts["length"] = -min(LENGTH * len(candidate.text), LENGTH_MOST * relevance)
        if speakers and not heard.isdisjoint(spoken_by[own]):
            parts["speaker"] = speaker
        if candidate.turns and turns.asks(candidate.text):
            parts["asks"] = ASKS
        if days:
            parts["date"] = dated * closeness(evidence.dates.get(own), days.spans)
        if evidence.behind and own in evidence.reference:
            parts["collection"] = -evidence.behind
        ranked.append(Ranked(candidate, 0.0, parts, relevance))
    _add_surroundings(ranked, settings)
    _level(ranked)
    _own_first(ranked, evidence)
    return ranked


def _clearness(meaning: float) -> float:
    """How clearly a passage in another language means what a question does, 0..1."""
    return min(1.0, max(0.0, (meaning - FOREIGN_NOISE) / (FOREIGN_CLEAR - FOREIGN_NOISE)))


def _selectivity(evidence: Evidence) -> float:
    """How much the days that a question names tell of a note, 0..1: of whole months and longer the share of
    dated notes with its words that are not of them. "In 2026" tells little where all notes are of that year.
    """
    spans = evidence.days.spans if evidence.days else ()
    if any((span.last - span.first).days < WIDE_DAYS for span in spans):
        return 1.0
    dated = [day for passage, day in evidence.dates.items() if day and passage in evidence.lexical]
    inside = sum(any(f"{span.first}" <= day <= f"{span.last}" for span in spans) for day in dated)
    return 1 - inside / len(dated) if dated else 1.0


def _own_first(ranked: Sequence[Ranked], evidence: Evidence) -> None:
    """Where a question is one character, put the reference behind the owner's passages that hold it.

    It cannot tell that the reference answers better: whatever is short is near to it.
    """
    if not evidence.behind or [*map(len, evidence.query.terms)] != [1]:
        return
    scores: dict[bool, list[float]] = {True: [], False: []}
    others = [item for item in ranked if item.candidate.id in evidence.reference]
    for item in ranked:
        is_other = item.candidate.id in evidence.reference
        if is_other or item.candidate.id in evidence.lexical:
            scores[is_other].append(math.fsum(item.parts.values()))
    if scores[True] and scores[False]:
        further = max(0.0, max(scores[True]) - min(scores[False]) + TIE)
        for item in others:
            item.parts["collection"] -= further


def _persons(labels: Mapping[str, int], query: Query) -> frozenset[str]:
    """Whom a question is about, among those who speak in the candidates; `labels` counts their lines."""
    asked = query.spoken
    named = {label for label, lines in labels.items() if lines >= PERSON_LINES and label.split()[0] in asked}
    return frozenset(named - turns.OWNER | (turns.OWNER if query.first_person else frozenset()))


def _add_surroundings(ranked: Sequence[Ranked], settings: RankSettings) -> None:
    """Add what the passages around each one say, where they are turns of one conversation."""
    # What each one says, and in which section; and the two highest relevances of each section: one of them
    # is another passage's than any passage's own.
    told = {item.candidate.id: (item.candidate.section_id, item.parts["words"]) for item in ranked}
    best: dict[int, tuple[float, float]] = {}
    for item in ranked:
        first, second = best.get(item.candidate.section_id, (0.0, 0.0))
        if item.relevance > second:
            two = (item.relevance, first) if item.relevance > first else (first, item.relevance)
            best[item.candidate.section_id] = two

    def around(own: Candidate, steps: int) -> list[float]:
        """The words of the candidates so many passages before and after one, in its section."""
        beside = (told.get(own.id - steps), told.get(own.id + steps))
        return [one[1] for one in beside if one is not None and one[0] == own.section_id]

    for item in ranked:
        own = item.candidate
        beside = around(own, 1)
        beyond = around(own, 2) if own.turns else ()  # only in a conversation does it say anything
        if beside or beyond:
            near = settings.turns * max(beside, default=0.0) + settings.beyond * max(beyond, default=0.0)
            item.parts["neighbours"] = own.turns * near + TIE * sum(beside)
        if own.turns:
            first, second = best.get(own.section_id, (0.0, 0.0))
            other = second if item.relevance == first else first
            item.parts["section"] = settings.section * own.turns * other


def _level(ranked: Sequence[Ranked]) -> None:
    """Let turns of conversations and other text compete: what only turns get counts against the best of them.

    Without it every line of a chat stands above every plain note.
    """
    turns = [item.parts for item in ranked if item.candidate.turns]
    best = nlargest(LEVEL, turns, key=lambda parts: math.fsum(parts.values()))
    usual = sum(parts.get(name, 0.0) for parts in best for name in OF_TURNS) / max(1, len(best))
    for parts in turns:
        parts[CONVERSATION] = -usual


def behind_others(ranked: Sequence[Ranked]) -> list[Ranked]:
    """Put the turns of conversations behind the best text that nobody says, where that is as good as they are
    without what only turns get: a few lines of a chat are not all before the note that answers.
    """
    turns = [item for item in ranked if item.candidate.turns]
    unsaid = (item.score for item in ranked if not (item.candidate.turns or item.candidate.traits.speakers))
    best = max(unsaid, default=-math.inf)
    top = max((item.score for item in turns), default=best)
    if top <= best or best < OTHER_LEAST * max(map(_without_turns, turns)):
        return list(ranked)
    less = best - top - TIE
    lowered = []
    for item in ranked:
        if item.candidate.turns:
            parts = {**item.parts, CONVERSATION: item.parts.get(CONVERSATION, 0.0) + less}
            item = item._replace(score=item.score + less, parts=parts)
        lowered.append(item)
    return sorted(lowered, key=lambda item: (-item.score, item.candidate.id))


def _without_turns(item: Ranked) -> float:
    return item.score - sum(item.parts.get(name, 0.0) for name in (*OF_TURNS, CONVERSATION, LATE))


def closeness(day: str | None, spans: Sequence[Span]) -> float:
    """How near a note of this day (YYYY-MM-DD) lies to the nearest span: 1 inside, 0 far away or undated."""
    if not day:
        return 0.0
    from datetime import date

    own = date.fromisoformat(day)
    away = min(max((span.first - own).days, (own - span.last).days, 0) for span in spans)
    return float(0.5 ** (away / HALF_DAYS)) if away <= NEAR_DAYS else 0.0


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
        ranked.append(Ranked(candidate, 0.0, parts, math.fsum(parts.values())))
    return ranked


def _by_rank(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    lists = evidence.lists or [(evidence.semantic, settings.vector), (evidence.lexical, settings.lexical)]
    fused, first = fusion.ranks(lists, fusion.RANK_CONSTANT, settings.bonuses)
    ranked = []
    for candidate in candidates:
        parts = {"rank fusion": fused.get(candidate.id, 0.0), "first places": first.get(candidate.id, 0.0)}
        ranked.append(Ranked(candidate, 0.0, parts, math.fsum(parts.values())))
    return ranked


def _recency(candidate: Candidate, evidence: Evidence, half_life_days: float, undated: float = 0.0) -> float:
    """exp(-ln 2 x age / half-life) of a dated note."""
    day = evidence.dates.get(candidate.id)
    if not day:
        return undated
    from datetime import date

    age = (evidence.day() - date.fromisoformat(day)).days
    return float(0.5 ** (max(0, age) / half_life_days))
