"""Candidates of a question: passages that full text finds by its words, and the vectors by its meaning.

A question is a line to each of them; an expansion adds further lines, which weigh less. A passage's words and
meaning are those of the line that it answers best. BM25 is measured against the ideal of its line, so that a
line of three words and one of ten can be compared.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from heapq import nlargest
from itertools import groupby, zip_longest
from threading import Thread

from commonplace import language
from commonplace.base.errors import BudgetExceeded, ProviderError
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.chunking.settings import MATTER
from commonplace.config.settings import WORKSPACE_COLLECTION
from commonplace.index import facts
from commonplace.index.base import Days, Either, In, Matches, Not, Scope
from commonplace.language import identifiers, lexicon, stopwords
from commonplace.language.scripts import MOST
from commonplace.markdown import turns
from commonplace.search import fusion, ranking, terms
from commonplace.search.query import TYPED, Dated, Line, Query, plain
from commonplace.search.ranking import WORDS_MAX, RankSettings
from commonplace.search.terms import Terms

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, Protocol

    from commonplace.index.base import Candidate, Index, Nearest
    from commonplace.providers.embedding.base import Kind
    from commonplace.search.confidence import Level
    from commonplace.search.ranking import Similarities
    from commonplace.search.request import Outcome, Request
    from commonplace.search.reranking import Reranker

    Answer = tuple[Line, Any, Mapping[int, float]]  # a line, its vector, cosine by passage
else:
    Protocol = object

# The cosine of a question and what an instruction is about (or its share of a full match) from which it is
# about that. Of 20 questions of beam_100k that an instruction is for, 15 reach it; of 159 others 62.
ABOUT = 0.4
# The author of a note, if given. Triggers of FOREIGN authors have no effect: read, and not obeyed.
OWNER, FOREIGN = "owner", ("tool", "untrusted")
DAY_CANDIDATES = 400  # passages of the days that a question names, as many as of the other lists
HEADINGS = 2  # as many times the passages of a listing are read: some are headings alone
_NAMES = lazy(r"(?<=\s)[A-Z][a-z]+(?:'s)?")  # the first word of a question is large in any case
_SEPARATORS = str.maketrans(";，、；", ",,,,")  # of the phrases of a trigger

Weighted = tuple[Mapping[int, float], float]  # the scores of one line by passage, and its weight


class Embed(Protocol):
    """A function from a text to its unit vector, (d,) float32; None for a script that it does not serve.

    `gloss` is a Chinese text word by word in English, empty where that is not known.
    """

    def gloss(self, text: str) -> str:
        """Return a Chinese text word by word in English."""

    def __call__(self, text: str, kind: Kind = "query") -> Any:  # noqa: ANN401
        """Embed one text. Raises ProviderError, BudgetExceeded."""


class Means(NamedTuple):
    """The means to answer a question, as the settings choose: a model, a reranker, weights.

    `similar` compares the question's words with those of turns, see `reranking.comparing`.
    `level` is the score of null questions in this index, see `confidence`; None if unknown.
    `served` are the scripts that the model serves, `reference` the collections that are not the
    owner's notes, and `behind` how far their passages rank behind these.
    """

    embed: Embed | None = None
    reranker: Reranker | None = None
    similar: Similarities | None = None
    ranking: RankSettings = ranking.DEFAULT
    level: Level | None = None
    served: frozenset[str] = frozenset({"latin"})
    reference: frozenset[str] = frozenset()
    behind: float = 0.0


class Question:
    """A question as the index sees it: its terms weighed, the notes it covers, the days it names.

    `scopes` are the passages that it covers and that hold what it demands, and those of the owner's notes
    among them, where there are others: these are candidates however many of the others come before them.
    """

    def __init__(
        self, index: Index, query: Query, request: Request, means: Means, covered: Scope, terms: Terms,
        days: Dated | None = None,
    ) -> None:  # fmt: skip
        self.index, self.query, self.request, self.means = index, query, request, means
        self.covered, self.terms, self.days, self.ranking = covered, terms, days, means.ranking
        demanding = covered & Matches(query.required) if query.required else covered
        others = Scope((In("collection", means.reference),))
        self.scopes = [demanding, demanding & Not(others)] if means.reference else [demanding]

    @property
    def refusable(self) -> bool:
        """Tell whether the question may be refused as unanswered.

        Not if it demands an exact match, has a threshold of its own, or names days alone that have notes, or
        an identifier (or the same telephone number) that a passage holds.
        """
        exact = bool(self.query.required or self.query.prefixes)
        day = self.days is not None and self.days.alone and bool(self.of_days)
        may = self.ranking.gated and self.request.min_score is None and not (exact or day)
        if not (may and self.query.identifies):
            return may
        ways = lexicon.any_of([self.query.words, *identifiers.telephone(self.query.words)])
        return not self.index.select(self.covered & Matches(ways), 1)

    @cached_property
    def of_days(self) -> frozenset[int]:
        """Passages of the days that it names, the newest if there are many."""
        if self.days is None:
            return frozenset()
        scope = self.scopes[0] & within(self.days)
        return frozenset(self.index.select(scope, DAY_CANDIDATES, struck=self.request.past, newest=True))

    @property
    def meaning(self) -> str:
        """The text to embed: without days, if there are notes of these."""
        return self.days.rest if self.days is not None and self.of_days else self.query.words

    def weigh(self, asked: Query) -> Terms:
        """Weigh the terms of a further line or of a translation."""
        return terms.weigh(asked, *self.index.frequencies(terms.sought(asked), struck=self.request.past))

    def promising(self, found: Candidates) -> set[int]:
        """Return the passages of both lists worth reading, among the owner's notes as well as among all."""
        limit, settings = self.request.limit or 0, self.ranking
        best = {*ranking.promising(found.lexical, found.semantic, settings, limit)}
        best.update(nlargest(ranking.PROMISING // 4, found.translated, key=found.translated.__getitem__))
        for scope in self.scopes[1:]:
            own = facts.within(self.index, {*found.lexical, *found.semantic}, scope)
            lexical = {passage: score for passage, score in found.lexical.items() if passage in own}
            semantic = {passage: cosine for passage, cosine in found.semantic.items() if passage in own}
            best.update(ranking.promising(lexical, semantic, settings, limit))
        return best

    def allowed(self, passages: Iterable[int]) -> set[int]:
        """Return those passages that the question covers and that hold all that it demands."""
        return facts.within(self.index, passages, self.scopes[0])

    def admitted(self, passages: Iterable[int]) -> set[int]:
        """Return those passages that the question covers, whether they hold what it demands."""
        return facts.within(self.index, passages, self.covered)


class Candidates(NamedTuple):
    """The share of a full match and the cosine by passage, each the best of all lines of the question.

    `translated` is the share of a full match of a Chinese question's words in English. `lists` are those of
    each line, where a question has further ones.
    """

    lexical: Mapping[int, float]
    semantic: Mapping[int, float] = {}
    translated: Mapping[int, float] = {}
    lists: Sequence[Weighted] = ()


def gather(question: Question, outcome: Outcome) -> Candidates:
    """Ask full text and the vectors; cosines of what only full text found are filled in.

    Where the model fails, full text answers alone and `outcome` gets a warning.
    """
    request, asked = question.request, question.query._replace(words=question.meaning)
    embed = question.means.embed
    lines = [line for line in (Line("vec", asked, TYPED), *request.lines) if line.kind != "lex"]
    lines = [line for line in lines if line.query.words.strip()]
    if embed is None or request.mode == "lexical" or not lines:
        with outcome.timed("full text"):
            by_words = _by_words(question)
        return Candidates(fusion.by_maximum(by_words), lists=by_words if request.lines else ())
    nearest, level = question.index.vectors.ready(*question.scopes, struck=request.past)
    # Without names that many passages hold: near to everything, they take half of a short question's meaning.
    held = question.terms.common
    names = [name for name in _NAMES.findall(asked.words) if name.partition("'")[0].lower() in held]
    named = rf"\b(?:{'|'.join(map(re.escape, names))})(?!\w)"
    nameless = " ".join(re.sub(named, "", asked.words).split()) if names else ""
    asked_by_meaning: list[tuple[list[Answer], Exception | None]] = []

    def ask() -> None:
        asked_by_meaning.append(_ask(embed, nearest, lines, question.ranking.candidates, nameless))

    # In parallel with full text: both release Python's lock.
    asking = Thread(target=ask, name="commonplace-vectors", daemon=True)
    asking.start()
    translated: Mapping[int, float] = {}
    with outcome.timed("full text"):
        by_words = _by_words(question)
        if not question.query.required and question.query.wide > MOST:
            translated = _translated(question, embed.gloss(question.query.words))
    with outcome.timed("vectors"):
        asking.join()
        ((answers, error),) = asked_by_meaning
        if error is not None:
            if not isinstance(error, ProviderError | BudgetExceeded):
                raise error
            alone = message("search.words_alone", "full text answered alone")
            if answers:
                alone = message("search.lines_alone", "some lines were not asked by meaning")
            outcome.warn("search.failed", "{error}; {alone}", error=error.args[0], alone=alone)
        if answers:
            outcome.level = level
        found = {passage for scores, _ in by_words for passage in scores}.union(translated, question.of_days)
        by_meaning = _by_meaning(question, answers, found)
    lists = [*by_words, *by_meaning] if request.lines else ()
    return Candidates(fusion.by_maximum(by_words), fusion.by_maximum(by_meaning), translated, lists)


def _by_words(question: Question) -> list[Weighted]:
    """For each line the best passages by its words, as shares of what a full match of it scores."""
    index, settings, request = question.index, question.ranking, question.request
    if request.mode == "semantic":
        return []
    lists: list[Weighted] = []
    scopes = question.scopes
    if question.days is not None:
        scopes = [*scopes, scopes[0] & within(question.days)]
    further = [(line.query, line.weight) for line in request.lines if line.kind == "lex"]
    for asked, weight in ((question.query, TYPED), *further):
        weighed = question.terms if asked is question.query else question.weigh(asked)
        if not (expression := asked.expression(weighed.wanted)):
            continue
        matched = dict(index.match(expression, settings.candidates, *scopes, header=settings.header))
        scores = terms.score(index, weighed, matched)
        if request.past:
            from commonplace.search import as_of

            scores |= as_of.words(index, expression, weighed, scopes[0])
        # Where the line is an expression, its best hit is the full match.
        ideal = weighed.ideal or max(scores.values(), default=0.0) or 1.0
        lists.append(({passage: score / ideal for passage, score in scores.items()}, weight))
    return lists


def _by_meaning(question: Question, answers: Sequence[Answer], beside: Iterable[int]) -> list[Weighted]:
    """For each line the cosine of every passage that any line found, of those found otherwise too."""
    passages = {passage for *_, cosines in answers for passage in cosines}.union(beside)
    lists: list[Weighted] = []
    for line, vector, cosines in answers:
        missing = sorted(passages - cosines.keys())
        lists.append(({**cosines, **question.index.vectors.cosines(vector, missing)}, line.weight))
    return lists


def _translated(question: Question, gloss: str) -> Mapping[int, float]:
    """The share of a full match of each passage that holds words of a gloss, 0..1.5."""
    index, settings = question.index, question.ranking
    asked = plain(gloss)
    weighed = question.weigh(asked)
    rarest = sorted((terms.idf(count, weighed.passages) for count in weighed.wanted.values()), reverse=True)
    ideal = sum(rarest[: terms.IDEAL_TERMS])
    if not ideal:
        return {}
    found = index.match(
        asked.expression(weighed.wanted), settings.candidates, *question.scopes, header=settings.header
    )
    return {passage: min(WORDS_MAX, score / ideal) for passage, score in found}


def _ask(
    embed: Embed, nearest: Nearest, lines: Sequence[Line], limit: int, nameless: str
) -> tuple[list[Answer], Exception | None]:
    """Embed each line and find what is nearest, until the model fails: it would fail for the next too."""
    answers: list[Answer] = []
    try:
        for line in lines:
            vector = embed(line.query.words, "passage" if line.kind == "hyde" else "query")
            if vector is None:
                continue
            if nameless and line is lines[0] and (rest := embed(nameless)) is not None:
                vector = vector + rest
                vector /= float(vector @ vector) ** 0.5
            answers.append((line, vector, dict(nearest(vector, limit))))
    except Exception as error:  # noqa: BLE001 - raised again where the answers are waited for
        return answers, error
    return answers, None


# --- candidates of neither list -------------------------------------------------------------------------


def within(days: Dated) -> Scope:
    """Return the scope of the passages of some days, and of those that name them."""
    each = [Scope((Days(span.first.isoformat(), span.last.isoformat()),)) for span in days.spans]
    named = [Scope((In("passage", frozenset(days.naming)),))] if days.naming else []
    return Scope((Either((*each, *named)),))


def listing(index: Index, scope: Scope, days: Dated, limit: int, *, struck: bool = False) -> list[Candidate]:
    """List passages of some days by day and place, the workspace's own first; of many some of each day."""
    passages = index.passages(index.select(scope & within(days), DAY_CANDIDATES, struck=struck, newest=True))

    def day(passage: Candidate) -> str:
        named = days.naming.get(passage.id)
        return named.last.isoformat() if named else passage.source.date or ""

    def place(passage: Candidate) -> tuple[str, bool, str, str, int, int]:
        own = passage.source
        foreign = own.collection != WORKSPACE_COLLECTION
        return (day(passage), foreign, own.collection, own.path, passage.start_line, passage.id)

    each_day = [[*own] for _, own in groupby(sorted(telling(passages), key=place), day)]
    by_turns = [one for turn in zip_longest(*each_day) for one in turn if one]
    return sorted(by_turns[:limit], key=place)


def telling(passages: Sequence[Candidate]) -> list[Candidate]:
    """Return the passages that are no front matter and no note without text; of a note without any, all."""
    notes = {passage.note_id for passage in passages if not ranking.role_of(passage)}
    return [one for one in passages if one.note_id not in notes or not ranking.role_of(one)]


def triggered(question: Question) -> set[int]:
    """Return passages that have a trigger in the question, found without a model.

    The owner's count, and agents' if a phrase names its subject; those of tools and strangers do not.
    """
    index, asked = question.index, _folded(question.query.words)
    found = {
        passage
        for passage, said in facts.annotated(index, "trigger")
        if any(_holds(asked, phrase) for phrase in phrases(said))
    }
    return facts.within(index, found, question.scopes[-1]) if found else found


def instructing(question: Question, passages: Iterable[Candidate], found: Candidates) -> set[int]:
    """Standing instructions of the owner among some passages whose matter the question is about.

    Unprompted recall must be nearer than null questions are. A line of a conversation is the owner's if
    marked so; reference, agents and strangers cannot instruct.
    """
    level, least = question.means.level, ABOUT
    if question.request.strict and level:
        least = max(ABOUT, level.own / question.ranking.vector)
    named = []
    for one in passages:
        said = json.loads(one.annotations) if one.annotations else {}
        spoken = not one.turns or not turns.OWNER.isdisjoint(one.traits.speakers.split("\n"))
        if MATTER in said and said.get("by", OWNER) == OWNER and spoken:
            named.append(one)
    own = facts.within(question.index, [one.id for one in named], question.scopes[-1]) if named else ()

    def near(passage: int) -> float:
        return found.semantic.get(passage, found.lexical.get(passage, 0.0))

    return {one.id for one in named if one.id in own and one.until is None and near(one.id) >= least}


def phrases(said: str) -> Iterable[str]:
    """Yield the phrases of a passage's triggers that count, folded."""
    from commonplace.redaction.redact import MARK

    own = json.loads(said)
    by = own.get("by", OWNER)
    for phrase in own["trigger"].translate(_SEPARATORS).split(",") if by not in FOREIGN else ():
        folded = _folded(phrase)
        # `the`, `what is`, `的` would be in every question.
        is_about = by == OWNER or any(
            len(word) > 1 and word not in stopwords.ENGLISH and "'" not in word
            for word in re.findall(r"[\w'’]+", stopwords.without(folded))
        )
        if folded and is_about and MARK not in phrase:  # a trigger on a redacted secret never fires
            yield folded


def _folded(text: str) -> str:
    return " ".join(language.compose(text).casefold().split())


def _holds(text: str, phrase: str) -> bool:
    """Return whether a phrase is in a text: in whole words where its ends are Latin, anywhere in CJK."""

    def runs_on(at: int) -> bool:
        return all((c.isalnum() or c == "_") and not lexicon.cjk_runs(c) for c in text[at - 1 : at + 1])

    text = f" {text} "
    places = (found.start() for found in re.finditer(f"(?={re.escape(phrase)})", text))
    return any(not (runs_on(at) or runs_on(at + len(phrase))) for at in places)
