"""Candidates to scores: a sum of named features, each times its weight in `weights.toml`.

Words and meaning stay on absolute scales, BM25 divided by the score of a full match and the cosine as it
is, so that the best of poor candidates scores little. Two other fusions, of scores and of ranks, reproduce
other systems.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import chain
from pathlib import Path
from types import MappingProxyType

from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import BARE, ROLE, STRUCK
from commonplace.index.base import Candidate
from commonplace.language.scripts import LATIN, MOST, serves, wide_script
from commonplace.language.stopwords import FIRST_PERSON
from commonplace.markdown import turns
from commonplace.search import fusion
from commonplace.search.query import Dated, Query

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from datetime import date
    from typing import Literal

    from commonplace.config.settings import Search
    from commonplace.language.dates import Span

    Similarities = Callable[[str, Sequence[Candidate]], Mapping[int, float]]

# Of two lists of several hundred so many passages are read: half of them the best of both together, a quarter
# the best of each. It halves the time of ranking.
PROMISING = 240
# A passage that repeats a rare term can score more than the ideal; more than this is cut.
WORDS_MAX = 1.5
# A label counts as a person when it opens this many lines of the candidates; a rarer one is a key ("Note:").
PERSON_LINES = 8
# The cosine of a passage without a vector, as a share of what its words say: what was written a moment ago is
# neither lost behind older notes nor put before all of them.
MEANING_UNKNOWN = 0.5
# A Chinese passage means what a question in another language does as far as its meaning lies between what
# null questions reach there and what answers do; below, much of it is noise.
FOREIGN_NOISE, FOREIGN_CLEAR, FOREIGN_LESS = 0.35, 0.5, 0.4
# A note's date counts half for every HALF_DAYS between it and the days in a question, and 0 beyond
# NEAR_DAYS: an evening is often written down the day after.
HALF_DAYS, NEAR_DAYS = 2.0, 7
HALF_LIFE_DAYS = 30.0  # of a dated note, where its age counts
# Characters of a passage that cost as much as it answers: of two that answer alike the shorter one is first.
LONG = 1875
# Chat-only bonuses count minus their mean over this many best turns, or every line of a chat would rank
# above every note.
OF_TURNS, LEVEL, CONVERSATION = ("speaker", "asks", "neighbours", "section"), 5, "conversation"
LATE, LATE_HEAD = "words one by one", 120  # turns that are compared word by word
# A note says of itself how much it matters, from 1 to 10.
NEUTRAL, IMPORTANT = 5, 5
TENTATIVE = 0.2  # of what an outdated statement loses
# An agent's text loses a fifth of what a tool's output does; the owner's, and text without an author, 0.
WRITERS = {"agent": 0.2, "tool": 1.0, "untrusted": 1.0}
OTHER_PROJECT = -0.6
# Reference ranks behind equal notes of the owner by this, plus a part that depends on its amount.
REFERENCE = 0.1
ALONE = 1.0  # how much further, where the question is one character that an own note holds
LABELLED = {"tool": "untrusted", "untrusted": "untrusted"}


class RankSettings(NamedTuple):
    """One configuration; the defaults are ours, others reproduce other systems.

    `weights` are those of the features, by name; None for those of `weights.toml`. `vector` and `lexical`
    weigh meaning and words in the other fusions, `header` is BM25's weight of title and headings, `bonuses`
    are those of first places among ranks. `recency` is what a dated note loses as it ages, by 1 - exp(-ln 2 x
    age / half-life); among scores it weighs exp(-ln 2 x age / half-life). `project` is the one at hand.
    `gated` refuses questions without an answer; `updates` puts newer statements before older ones;
    `saturate` takes BM25 as s / (1 + s) rather than relative to the best (scores).
    """

    fusion: Literal["calibrated", "scores", "ranks"] = "calibrated"
    weights: Mapping[str, float] | None = None
    vector: float = 0.68
    lexical: float = 0.3
    header: float = 0.5
    recency: float = 0.0
    candidates: int = 300
    gated: bool = True
    saturate: bool = False
    updates: bool = True
    project: str = ""
    bonuses: tuple[float, ...] = ()

    def weight(self, feature: str) -> float:
        """Return the weight of a feature."""
        return (fitted() if self.weights is None else self.weights)[feature]


DEFAULT = RankSettings()


@lru_cache(1)
def fitted() -> Mapping[str, float]:
    """Read the weights that were fitted, by feature."""
    # This part of TOML is read here: `tomllib` takes 8 ms to import, and every search needs the weights.
    lines = Root(Path(__file__).parent).read("weights.toml").decode("utf-8").splitlines()
    rows = (line.partition("=") for line in lines if line and not line.startswith("#"))
    return MappingProxyType({name.strip(' "'): float(weight) for name, _, weight in rows})


# The fusions of other systems, by name: QMD 2.8.3, OpenClaw 2026.9.6, nanobot's third memory, nanocrab.
PRESETS: Mapping[str, RankSettings] = {
    "calibrated": DEFAULT,
    "qmd": RankSettings("ranks", vector=2.0, lexical=2.0, bonuses=fusion.BONUSES, header=4.0, gated=False),
    "openclaw": RankSettings("scores", vector=0.7, lexical=0.3, header=0.0, saturate=True, gated=False),
    "nanobot": RankSettings("ranks", vector=0.5, lexical=0.5, header=0.0, gated=False),
    "nanocrab": RankSettings("scores", vector=0.5, lexical=0.3, recency=0.2, header=1.0, gated=False),
}


def chosen(settings: Search, base: RankSettings = DEFAULT) -> RankSettings:
    """Return the preset of the settings, with their project and recency; another `base` than ours stays.

    Only calibrated scores are absolute, so only they can refuse a question.
    """
    if base.fusion != DEFAULT.fusion:
        return base
    preset = base if settings.fusion == "calibrated" else PRESETS[settings.fusion]
    return preset._replace(project=settings.project, recency=settings.recency or preset.recency)


class Evidence(NamedTuple):
    """Evidence for a question: the share of a full match and the cosine by passage, and the question.

    `translated` is the share of a full match, 0..1.5, of the question's words in the other language. `lists`
    are those of each line of a question with its weight, where it has several. `ideal` is the BM25 of a full
    match, for the fusion that takes BM25 as it is. `served` are the scripts that the model serves.
    `reference` are the collections that are not the owner's notes: they rank `behind` these by so much.
    `similar` compares the words of a question and of turns one by one.
    """

    query: Query
    lexical: fusion.Scores
    semantic: fusion.Scores
    translated: fusion.Scores = MappingProxyType({})
    lists: Sequence[tuple[fusion.Scores, float]] = ()
    ideal: float = 1.0
    days: Dated | None = None
    today: date | None = None
    served: Collection[str] = (LATIN,)
    reference: Collection[str] = ()
    behind: float = 0.0
    similar: Similarities | None = None

    def day(self) -> date:
        """The day from which ages and ends are computed."""
        from datetime import date

        return self.today or date.today()

    def day_of(self, candidate: Candidate) -> str | None:
        """The day (ISO) of a passage: one of the question that it names, or its own."""
        named = self.days.naming.get(candidate.id) if self.days else None
        return named.first.isoformat() if named else candidate.source.date


class Ranked(NamedTuple):
    """A candidate with its score, the parts of it, and its relevance by words and meaning alone."""

    candidate: Candidate
    score: float
    parts: dict[str, float]
    relevance: float = 0.0


def adjusted(item: Ranked, part: str, value: float) -> Ranked:
    """Return a candidate with a further part in its score."""
    parts = {**item.parts, part: item.parts.get(part, 0.0) + value}
    return item._replace(score=item.score + value, parts=parts) if value else item


# --- what a note says of a passage ----------------------------------------------------------------------


def said(candidate: Candidate) -> Mapping[str, str]:
    """Return the annotations of a passage."""
    return json.loads(candidate.annotations) if candidate.annotations else {}


def role_of(candidate: Candidate) -> str:
    """Return `FRONT` for front matter, `BARE` for a note without text, empty for any other passage."""
    is_marked = candidate.annotations and f'"{ROLE}":' in candidate.annotations
    return said(candidate).get(ROLE, "") if is_marked else ""


def annotated(own: Mapping[str, str], project: str, today: Callable[[], date]) -> dict[str, float]:
    """The features that a note gives a passage itself; `project` is the one at hand, if any."""
    features: dict[str, float] = {}
    if "importance" in own:
        features["importance"] = (int(own["importance"]) - NEUTRAL) / IMPORTANT
    if project and "project" in own:
        features["project"] = 1.0 if own["project"].casefold() == project.casefold() else OTHER_PROJECT
    if outdated(own, today):
        features["status"] = 1.0
    elif own.get("status") == "tentative":
        features["status"] = TENTATIVE
    if own.get(ROLE) == BARE:
        features["bare"] = 1.0
    if writer := WRITERS.get(own.get("by", "")):
        features["writer"] = writer
    return features


def labels(own: Mapping[str, str], today: Callable[[], date]) -> tuple[str, ...]:
    """Return the labels of a passage: `struck`, `superseded` or `expired`, `tentative`, `untrusted`."""
    labels = (
        STRUCK if STRUCK in own else "",
        outdated(own, today),
        "tentative" if own.get("status") == "tentative" else "",
        LABELLED.get(own.get("by", ""), ""),
    )
    return tuple(filter(None, labels))


def outdated(own: Mapping[str, str], today: Callable[[], date]) -> str:
    """Return the label of a statement that no longer holds, though not struck; else empty."""
    if STRUCK in own:
        return ""  # found only by those who ask for it, and below what replaced it whatever it scores
    if own.get("status") == "superseded" or "superseded-by" in own:
        return "superseded"
    until = own.get("valid-until")
    return "expired" if until and until < today().isoformat() else ""


# --- scores ---------------------------------------------------------------------------------------------


def promising(
    lexical: fusion.Scores, semantic: fusion.Scores, settings: RankSettings, limit: int
) -> Collection[int]:
    """Return the passages of both lists worth reading: the best of each, of their sum, and neighbours.

    The ends of two long lists cost as much to read as their heads, and never reach the front.
    """
    most = max(PROMISING, 2 * limit)
    if len(lexical) + len(semantic) <= most:
        return {*lexical, *semantic}
    both = {passage: settings.vector * cosine for passage, cosine in semantic.items()}
    for passage, score in lexical.items():
        words = (1 - settings.vector) * min(WORDS_MAX, score)
        both[passage] = both.get(passage, 0.0) + words
    best = {*nlargest(most // 2, both, key=both.__getitem__)}
    for scores in (lexical, semantic):
        best.update(nlargest(most // 4, scores, key=scores.__getitem__))
    beside = {passage + step for passage in best for step in (-2, -1, 1, 2)}
    return best | (both.keys() & beside)


def rank(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> list[Ranked]:
    """Score candidates and sort them, best first; ties by id, which follows path and line."""
    score = _calibrated if settings.fusion == "calibrated" else _fused
    scored = []
    for own, parts, relevance in score(candidates, evidence, settings):
        if own.annotations is not None:
            features = annotated(said(own), settings.project, evidence.day)
            parts |= {name: settings.weight(name) * value for name, value in features.items()}
            if "bare" in parts:  # a heading alone does not answer, however well it fits
                parts["bare"] *= relevance
        # Long-term memory does not age.
        if settings.recency and settings.fusion != "scores" and own.source.kind != "long-term":
            fresh = _recency(own, evidence, undated=1.0)
            parts["age"] = settings.recency * (fresh - 1.0)
        scored.append(Ranked(own, math.fsum(parts.values()), parts, relevance))
    return sorted(scored, key=lambda item: (-item.score, item.candidate.id))


_Scored = list[tuple[Candidate, dict[str, float], float]]  # with its parts and its relevance


def _behind(candidates: Sequence[Candidate], evidence: Evidence) -> float:
    """Return how far reference ranks behind the owner's notes.

    Any short text is near to a question of one character: an own note that contains it comes first.
    """
    is_character = [*map(len, evidence.query.terms)] == [1]
    own = (one for one in candidates if one.source.collection not in evidence.reference)
    return evidence.behind + ALONE * (is_character and any(one.id in evidence.lexical for one in own))


def _calibrated(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> _Scored:
    weight, query = settings.weight, evidence.query
    heard, speaker = _speakers(candidates, query)
    vector = weight("meaning") if evidence.semantic else 0.0
    if vector and query.wide and not (evidence.lists or serves(evidence.served, wide_script(query.words))):
        vector *= 1 - query.wide
    behind = _behind(candidates, evidence)
    scored: _Scored = []
    for candidate in candidates:  # hundreds of them: computed above if independent of each
        own, (speakers, wide, script) = candidate.id, candidate.traits
        # Meaning counts the less, the more of the passage is in a script that the model does not serve.
        unread = wide if wide and vector and not serves(evidence.served, script) else 0.0
        of_meaning = vector * (1.0 - unread)
        words = min(WORDS_MAX, evidence.lexical.get(own, 0.0))
        meaning = evidence.semantic.get(own, MEANING_UNKNOWN * min(1.0, words))
        if meaning > 0 and wide > MOST >= query.wide:  # of a passage in another language less of it counts
            noise = min(1.0, max(0.0, (FOREIGN_CLEAR - meaning) / (FOREIGN_CLEAR - FOREIGN_NOISE)))
            meaning *= 1.0 - FOREIGN_LESS * noise * wide
        translated = weight("translated") * evidence.translated.get(own, 0.0) * (1.0 - wide)
        parts = {
            "meaning": of_meaning * meaning,
            "words": (1 - of_meaning) * words,
            "translated": (1 - of_meaning) * translated,
        }
        relevance = max(0.0, parts["meaning"]) + parts["words"] + parts["translated"]
        parts["length"] = weight("length") * min(len(candidate.text) / LONG, relevance)
        if speakers and not heard.isdisjoint(speakers.split("\n")):
            parts["speaker"] = weight("speaker") * speaker
        if candidate.turns and turns.asks(candidate.text):
            parts["asks"] = weight("asks")  # a turn that ends in a question rarely holds the answer
        if evidence.days:
            parts["date"] = weight("date") * closeness(evidence.day_of(candidate), evidence.days.spans)
        if behind and candidate.source.collection in evidence.reference:
            parts["collection"] = -behind
        scored.append((candidate, parts, relevance))
    if talk := [one for one in scored if one[0].turns]:
        _add_surroundings(talk, weight("neighbours"), weight("section"))
        if evidence.similar is not None:
            _add_similarities(talk, evidence.similar, query.words, weight(LATE))
        _level(talk)
    return scored


def _speakers(candidates: Sequence[Candidate], query: Query) -> tuple[frozenset[str], float]:
    """Return the labels whose turns get a bonus, and its share: those whom the question is about.

    Without a person in the question, the owner's turns get half: an assistant's words can be had again.
    """
    labels = Counter(chain.from_iterable(one.traits.speakers.split("\n") for one in candidates))
    often, asked = (label for label, n in labels.items() if label and n >= PERSON_LINES), query.spoken
    persons = frozenset(label for label in often if label.split()[0] in asked) - turns.OWNER
    persons = persons if FIRST_PERSON.isdisjoint(asked) else persons | turns.OWNER
    return (persons, 1.0) if persons else (turns.OWNER, 0.5)


def _add_surroundings(said: _Scored, neighbours: float, section: float) -> None:
    """Add the scores of turns around each turn: the best word score next to it, those one further away by
    half, and the best relevance of another one in its section.
    """
    words = {(own.section_id, own.id): parts["words"] for own, parts, _ in said}
    best: dict[int, list[float]] = {}
    for own, _, relevance in said:
        best[own.section_id] = nlargest(2, [*best.get(own.section_id, ()), relevance])

    def beside(own: Candidate, steps: int) -> float:
        return max(words.get((own.section_id, own.id + step), 0.0) for step in (-steps, steps))

    for own, parts, relevance in said:
        parts["neighbours"] = neighbours * own.turns * (beside(own, 1) + beside(own, 2) / 2)
        others = [*best[own.section_id], 0.0]
        parts["section"] = section * own.turns * others[relevance == others[0]]


def _add_similarities(said: _Scored, similar: Similarities, question: str, weight: float) -> None:
    """Add how similar the words of the best turns are to those of a question."""
    head = nlargest(LATE_HEAD, said, key=lambda one: math.fsum(one[1].values()))
    similarities = similar(question, [own for own, *_ in head])
    for own, parts, _ in head:
        if similarity := max(0.0, similarities.get(own.id, 0.0)):
            parts[LATE] = weight * own.turns * similarity


def _level(talk: _Scored) -> None:
    """Take from turns what the best of them get on the mean as turns, so that other text competes."""
    best = nlargest(LEVEL, (parts for _, parts, _ in talk), key=lambda parts: math.fsum(parts.values()))
    usual = sum(parts.get(name, 0.0) for parts in best for name in OF_TURNS) / len(best)
    similar = sum(parts.get(LATE, 0.0) for parts in best) / len(best)
    for _, parts, _ in talk:
        parts[CONVERSATION] = -usual
        if similar:
            parts[LATE] = parts.get(LATE, 0.0) - similar


def closeness(day: str | None, spans: Sequence[Span]) -> float:
    """How near a note of this day (YYYY-MM-DD) lies to the nearest span: 1 inside, 0 far away or undated."""
    if not day:
        return 0.0
    from datetime import date

    own = date.fromisoformat(day)
    away = min(max((span.first - own).days, (own - span.last).days, 0) for span in spans)
    return float(0.5 ** (away / HALF_DAYS)) if away <= NEAR_DAYS else 0.0


def _fused(candidates: Sequence[Candidate], evidence: Evidence, settings: RankSettings) -> _Scored:
    """Sum the weighted scores or reciprocal ranks of both lists, as other systems do."""
    lists = evidence.lists or [(evidence.semantic, settings.vector), (evidence.lexical, settings.lexical)]
    sums: dict[str, tuple[fusion.Scores, float]]
    if settings.fusion == "ranks":
        fused, first = fusion.ranks(lists, settings.bonuses)
        sums = {"rank fusion": (fused, 1.0), "first places": (first, 1.0)}
    else:
        words = fusion.normalize(evidence.lexical)
        if settings.saturate:
            scores = ((passage, share * evidence.ideal) for passage, share in evidence.lexical.items())
            words = {passage: score / (1 + score) for passage, score in scores}
        sums = {"meaning": (evidence.semantic, settings.vector), "words": (words, settings.lexical)}
    scored: _Scored = []
    for candidate in candidates:
        parts = {name: weight * scores.get(candidate.id, 0.0) for name, (scores, weight) in sums.items()}
        if settings.recency:
            parts["recency"] = settings.recency * _recency(candidate, evidence)
        scored.append((candidate, parts, math.fsum(parts.values())))
    return scored


def _recency(candidate: Candidate, evidence: Evidence, undated: float = 0.0) -> float:
    """exp(-ln 2 x age / half-life) of a dated note."""
    if not (day := evidence.day_of(candidate)):
        return undated
    from datetime import date

    age = (evidence.day() - date.fromisoformat(day)).days
    return float(0.5 ** (max(0, age) / HALF_LIFE_DAYS))
