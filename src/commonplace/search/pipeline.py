"""One question through the stages: candidates from both lists, fusion, ranking, threshold, order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Thread
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from commonplace.base.errors import BudgetExceeded, CommonplaceError, ConfigError, MissingExtra, ProviderError
from commonplace.index import facts
from commonplace.index.base import ALL, Candidate, Days, Has, In, Index, Matches, Not, Scope, VectorStore
from commonplace.search import factors, order, ranking, reranking, temporal, terms
from commonplace.search.order import Wanted
from commonplace.search.query import Query
from commonplace.search.ranking import Evidence, Ranked, RankSettings
from commonplace.search.reranking import Reranker
from commonplace.search.terms import Terms
from commonplace.types.results import Hit, Level, Mode

if TYPE_CHECKING:
    from datetime import date

    from commonplace.index.base import Nearest
    from commonplace.providers.embedding.base import Kind
    from commonplace.search.as_of import Replaced
    from commonplace.search.lines import Line
    from commonplace.search.temporal import Dated


class Embed(Protocol):
    """What turns a text into its unit vector, (d,) float32."""

    def __call__(self, text: str, kind: Kind = "query") -> Any:  # noqa: ANN401
        """Embed one text. Raises ProviderError, BudgetExceeded."""


DAY_CANDIDATES = 400  # passages of the days that a question names, as many as of the other lists
# A question with none of these asks for no value that may have been updated (`updates.py`).
_VALUE_WORDS, _VALUE_SIGNS = frozenset("how when what which".split()), "多几幾何哪什"


class Request(NamedTuple):
    """What is asked for besides the question; `lines` stand in its place where it is made of several.

    `history` takes in struck text, `as_of` what held on a day and nothing later.
    """

    limit: int = 10
    mode: Mode = "hybrid"
    collections: tuple[str, ...] = ()
    min_score: float | None = None
    ranking: RankSettings = ranking.DEFAULT
    now: date | None = None
    rerank: str = "auto"
    expand: str = "off"
    diversity: float = 1.0
    lines: tuple[Line, ...] = ()
    history: bool = False
    as_of: date | None = None

    @property
    def past(self) -> bool:
        """Whether it asks for more than what stands now."""
        return self.history or self.as_of is not None

    @property
    def today(self) -> date | None:
        """The day that ends and ages are told from; None for the real one."""
        return self.as_of or self.now


class Outcome:
    """Hits, the level that answered, where the time went (milliseconds a stage), all that was ranked."""

    __slots__ = ("hits", "level", "lists", "ranked", "replaced", "timings_ms", "warnings")

    def __init__(self) -> None:
        self.hits: list[Hit] = []
        self.lists: list[tuple[Mapping[int, float], float]] = []  # of a question of several lines
        self.ranked: Sequence[Ranked] = ()
        self.replaced: Replaced | None = None  # of a question into the past
        self.level: Level = 2
        self.warnings: list[str] = []
        self.timings_ms: dict[str, float] = {}

    @contextmanager
    def timed(self, stage: str) -> Iterator[None]:
        """Add the time spent inside to a stage."""
        start = time.perf_counter()
        try:
            yield
        finally:
            spent = (time.perf_counter() - start) * 1000
            self.timings_ms[stage] = self.timings_ms.get(stage, 0.0) + spent


class Means(NamedTuple):
    """What a question may be answered with: a model, what makes the lists of several lines, a reranker."""

    embed: Embed | None = None
    gather: Gather | None = None
    reranker: Reranker | None = None


def search(
    index: Index,
    vectors: VectorStore,
    means: Means,
    query: Query,
    request: Request,
) -> Outcome:
    """Answer a question from the index.

    Without a model, or when it fails, full text answers alone (level 2). What the reranker fails with is a
    warning; the order is then what it was. Raises IndexUnavailable.
    """
    outcome = Outcome()
    covered = _scope(index, query, request)
    if query.lists:
        return _list(index, query, covered, request, outcome)
    with outcome.timed("terms"):
        weighed = terms.weigh(index, query, struck=request.past)
        days = temporal.read(query, request.now)
    asked = _Asked(query, weighed, covered, days)
    evidence, first = _rank(index, vectors, means.embed, means.gather, asked, request, outcome)
    ranked = _answering(evidence, first, means.reranker, request, outcome)
    if ranked:
        ranked = _put_in_order(index, ranked, first, query, request, outcome)
        with outcome.timed("hits"):
            terms_asked = frozenset(query.terms)
            wanted = Wanted(request.limit, request.min_score, request.diversity, terms_asked, request.today)
            if outcome.replaced:
                from commonplace.search import as_of as past

                replaced = past.settled(ranked, outcome.replaced)
                ranked = past.in_order(ranked, replaced)
                wanted = wanted._replace(replaced=replaced)
            outcome.hits = order.select(index, ranked, wanted)
    return outcome


def _rank(
    index: Index,
    vectors: VectorStore,
    embed: Embed | None,
    gather: Gather | None,
    asked: _Asked,
    request: Request,
    outcome: Outcome,
) -> tuple[Evidence, set[int]]:
    """Score all candidates; return what that went by, and the entries that a trigger puts first."""
    if gather is None:
        lexical, semantic = _candidates(index, vectors, embed, asked, request, outcome)
    else:
        lexical, semantic, weighed = gather(index, vectors, embed, asked, request, outcome)
        asked = asked._replace(terms=weighed)
    with outcome.timed("ranking"):
        triggered = _triggered(index, asked)
        wanted = {*lexical, *semantic, *_of_days(index, asked, request), *triggered}
        if request.min_score is not None and request.min_score <= 0:
            wanted |= _others(index, asked, wanted, request)
        candidates = index.passages(sorted(wanted))
        if request.past:
            candidates = _of_the_past(index, asked, candidates, request, outcome)
        evidence = _evidence(index, asked, (lexical, semantic), candidates, request)
        evidence = evidence._replace(lists=outcome.lists)
        outcome.ranked = ranking.rank(candidates, evidence, request.ranking)
        return evidence, factors.chosen(outcome.ranked, triggered, evidence.day)


def _answering(
    evidence: Evidence, first: set[int], reranker: Reranker | None, request: Request, outcome: Outcome
) -> Sequence[Ranked]:
    """The candidates, read again; of a question that nothing answers, those with a trigger alone."""
    ranked = outcome.ranked
    hopeless = _is_hopeless(ranked, evidence, request)
    if reranker is not None and not hopeless:
        ranked = _reranked(ranked, evidence.query, reranker, outcome)
    if hopeless or _is_refused(ranked, evidence, request):
        ranked = outcome.ranked = [item for item in ranked if item.candidate.id in first]
    return ranked


def _put_in_order(
    index: Index,
    ranked: Sequence[Ranked],
    first: set[int],
    query: Query,
    request: Request,
    outcome: Outcome,
) -> Sequence[Ranked]:
    """What scores alone do not say: newer before older, triggers first, nothing above what replaces it."""
    calibrated = request.ranking.fusion == "calibrated"
    if request.ranking.updates and calibrated and _may_ask_for_value(query):
        ranked = _updated(index, ranked, query, outcome)
    return _settled(index, factors.put_first(ranked, first))


def _evidence(
    index: Index,
    asked: _Asked,
    found: tuple[dict[int, float], dict[int, float]],
    candidates: Sequence[Candidate],
    request: Request,
) -> Evidence:
    """What both lists say, with what the index knows of the notes where the ranking asks for it."""
    ages = bool(request.ranking.recency)
    sources = index.sources([c.id for c in candidates]) if ages or asked.days else {}
    dates = {passage: source.date for passage, source in sources.items()}
    curated = {c.note_id for c in candidates if ages and sources[c.id].kind == "long-term"}
    return Evidence(asked.query, asked.terms, *found, dates, request.today, asked.days, curated)


def _of_the_past(
    index: Index, asked: _Asked, candidates: Sequence[Candidate], request: Request, outcome: Outcome
) -> list[Candidate]:
    """The candidates as they stood, with what replaced the struck ones."""
    from commonplace.search import as_of as past

    def allow(passages: set[int]) -> set[int]:
        covered = facts.within(index, passages, asked.covered)
        allowed = _allowed(index, asked.query, sorted(covered))
        return covered if allowed is None else allowed

    found, outcome.replaced = past.replaced(index, candidates, allow, rest=request.as_of is None)
    found.sort(key=lambda candidate: candidate.id)
    return past.as_it_stood(index, found, asked.covered) if request.as_of else found


def _triggered(index: Index, asked: _Asked) -> set[int]:
    """Passages that have a trigger in the question; no cost where none has one."""
    if not index.select(Scope((Has("trigger"),)), 1, struck=True):
        return set()
    from commonplace.search import triggers

    found = triggers.find(index, asked.query.words, asked.covered)
    allowed = _allowed(index, asked.query, sorted(found)) if found else None
    return found if allowed is None else allowed


def _settled(index: Index, ranked: Sequence[Ranked]) -> Sequence[Ranked]:
    """The order at last, in which nothing superseded stands above what replaces it."""
    named = factors.replacements(ranked)
    return factors.put_below(ranked, facts.places(index, named)) if named else ranked


class _Asked(NamedTuple):
    """A question as the index sees it: its terms weighed, the notes it covers, the days it names."""

    query: Query
    terms: Terms
    covered: Scope
    days: Dated | None


# Both lists of a question, and its terms as the lists measure them.
Gather = Callable[
    [Index, VectorStore, Embed | None, _Asked, Request, Outcome],
    tuple[dict[int, float], dict[int, float], Terms],
]


def _others(index: Index, asked: _Asked, wanted: set[int], request: Request) -> set[int]:
    """Passages that no list holds, for a question that takes whatever there is."""
    missing = request.limit - len(wanted)
    if missing <= 0:
        return set()
    near = In("passage", frozenset(i + step for i in wanted for step in (-1, 1)))
    others = [i for i in index.select(asked.covered & near, struck=request.past) if i not in wanted]
    if len(others) < missing:  # then in the order of the notes
        known = {*wanted, *others}
        every = index.select(asked.covered, len(known) + missing, struck=request.past)
        others += [i for i in every if i not in known]
    allowed = _allowed(index, asked.query, others[:missing])
    return set(others[:missing]) if allowed is None else allowed


def _of_days(index: Index, asked: _Asked, request: Request) -> set[int]:
    """Passages of the days that the question names, for one that asks for nothing else."""
    if asked.days is None or not asked.days.alone:
        return set()
    found: set[int] = set()
    for span in asked.days.spans:
        days = Days(span.first.isoformat(), span.last.isoformat())
        covered = _without(asked.covered & days, asked.query.excluded)
        found.update(index.select(covered, DAY_CANDIDATES, struck=request.past, newest=True))
    return found


def _without(covered: Scope, excluded: str | None) -> Scope:
    return covered & Not(Scope((Matches(excluded),))) if excluded else covered


def _scope(index: Index, query: Query, request: Request) -> Scope:
    """The notes that the question and the request keep to."""
    named = frozenset(request.collections)
    covered = Scope((In("collection", named),)) if named else ALL
    if request.as_of is not None:
        from commonplace.search import as_of as past

        covered &= past.cover(request.as_of, history=request.history)
    if not query.filters:
        return covered
    from datetime import date

    from commonplace.search import filters

    return covered & filters.cover(index, query.filters, request.now or date.today())


def _list(index: Index, query: Query, covered: Scope, request: Request, outcome: Outcome) -> Outcome:
    """Answer filters alone with the newest passages; they have no score, as nothing was asked of them."""
    with outcome.timed("ranking"):
        listed = _without(covered, query.excluded)
        found = index.select(listed, request.limit, struck=request.past, newest=True)
        candidates = {candidate.id: candidate for candidate in index.passages(found)}
        kept = [Ranked(candidates[passage], 0.0, {}) for passage in found]
        if request.past:
            kept = _listed_past(index, kept, covered, request)
    with outcome.timed("hits"):
        outcome.hits = order.listed(index, kept, request.today)
    return outcome


def _listed_past(
    index: Index, kept: Sequence[Ranked], covered: Scope, request: Request
) -> list[Ranked]:
    """What is listed as it stood, nothing that is struck before what replaced it."""
    from commonplace.search import as_of as past

    candidates = [item.candidate for item in kept]
    _, known = past.replaced(index, candidates, lambda _: set(), rest=request.as_of is None)
    if request.as_of:
        candidates = past.as_it_stood(index, candidates, covered)
    ranked = [Ranked(candidate, 0.0, {}) for candidate in candidates]
    return past.in_order(ranked, known.surely)


def _candidates(
    index: Index,
    vectors: VectorStore,
    embed: Embed | None,
    asked: _Asked,
    request: Request,
    outcome: Outcome,
) -> tuple[dict[int, float], dict[int, float]]:
    """Both lists: BM25 and cosine by passage; the cosines of what full text found are filled in."""
    if embed is None or not asked.query.words.strip() or request.mode == "lexical":
        return _lexical(index, asked, request, outcome), {}
    nearest, level = vectors.ready(asked.covered, struck=request.past)
    ask = _Asking(embed, nearest, asked.query.words, request.ranking.candidates)
    if vectors.in_memory:
        ask.start()
    lexical = _lexical(index, asked, request, outcome)
    with outcome.timed("vectors"):
        trouble = ask.wait()
        if trouble is not None:
            outcome.warnings.append(f"{trouble}; full text answered alone")
            return lexical, {}
        outcome.level = level
        semantic = _permitted(index, asked.query, ask.found)
        missing = [passage for passage in lexical if passage not in semantic]
        return lexical, semantic | vectors.cosines(ask.vector, missing)


def _permitted(index: Index, query: Query, found: Mapping[int, float]) -> dict[int, float]:
    """What vectors found, without what the question excludes or does not demand."""
    allowed = _allowed(index, query, list(found))
    return {p: cosine for p, cosine in found.items() if allowed is None or p in allowed}


class _Asking(Thread):
    """A question on its way through the model and the vectors, beside full text: both leave Python's lock."""

    def __init__(self, embed: Embed, nearest: Nearest, words: str, limit: int) -> None:
        super().__init__(name="commonplace-vectors", daemon=True)
        self._ask = (embed, nearest, words, limit)
        self.found: dict[int, float] = {}
        self.vector: Any = None
        self.error: Exception | None = None

    def wait(self) -> CommonplaceError | None:
        """Wait for the answer, or work it out if it was not started; return what the model failed with."""
        if self.ident is None:
            self.run()
        else:
            self.join()
        if isinstance(self.error, ProviderError | BudgetExceeded):
            return self.error
        if self.error is not None:
            raise self.error
        return None

    def run(self) -> None:
        """Embed the question and find what is nearest; trouble is kept for the one who waits."""
        embed, nearest, words, limit = self._ask
        try:
            self.vector = embed(words)
            self.found = dict(nearest(self.vector, limit))
        except Exception as error:  # noqa: BLE001 - raised again where the answer is waited for
            self.error = error


def _lexical(index: Index, asked: _Asked, request: Request, outcome: Outcome) -> dict[int, float]:
    """The best passages by BM25; none for a question to the vectors alone."""
    with outcome.timed("full text"):
        expression = asked.query.expression(asked.terms.wanted)
        if not expression or request.mode == "semantic":
            return {}
        settings = request.ranking
        found = dict(index.match(expression, settings.candidates, asked.covered, header=settings.header))
        scores = terms.score(index, asked.terms, found)
        return scores | struck(index, expression, asked.terms, asked.covered, request)


def struck(
    index: Index, expression: str, weighed: Terms, covered: Scope, request: Request
) -> dict[int, float]:
    """What full text finds of struck text, for a question into the past; nothing for any other."""
    if not request.past:
        return {}
    from commonplace.search import as_of as past

    return past.words(index, expression, weighed, covered, request.ranking.header)


def _allowed(index: Index, query: Query, passages: Sequence[int]) -> set[int] | None:
    """Which passages satisfy what the question demands; None when it demands nothing."""
    if query.required is None and query.excluded is None:
        return None
    covered = Scope((In("passage", frozenset(passages)),))
    if query.required:
        covered &= Matches(query.required)
    return set(index.select(_without(covered, query.excluded), struck=True))


def _may_be_refused(evidence: Evidence, request: Request) -> bool:
    """Whether a question may be told that nothing answers it.

    Not one that demands an exact match, nor one with a threshold of its own, nor one about a day alone.
    """
    query = evidence.query
    exact = bool(query.required or query.prefixes) or any(line.exact for line in request.lines)
    day = evidence.days is not None and evidence.days.alone
    return request.ranking.gated and request.min_score is None and not exact and not day


def _is_hopeless(ranked: Sequence[Ranked], evidence: Evidence, request: Request) -> bool:
    """Whether nothing can answer the question, whoever reads it again."""
    best = max((item.relevance for item in ranked), default=0.0)
    return _may_be_refused(evidence, request) and best < ranking.gate(evidence, loose=True)


def _is_refused(ranked: Sequence[Ranked], evidence: Evidence, request: Request) -> bool:
    """Whether nothing answers the question, as the candidates stand at last."""
    if not _may_be_refused(evidence, request):
        return False
    if not evidence.semantic or evidence.query.wide > 0.5 or request.lines:
        return max((item.relevance for item in ranked), default=0.0) < ranking.gate(evidence)
    from commonplace.search import abstention

    return abstention.refuses(ranked, evidence)


def _reranked(
    ranked: Sequence[Ranked], query: Query, reranker: Reranker, outcome: Outcome
) -> Sequence[Ranked]:
    """The candidates with their head read again; as they were if that fails."""
    with outcome.timed("reranking"):
        try:
            return reranking.rerank(ranked, query, reranker)
        except (ProviderError, BudgetExceeded, ConfigError, MissingExtra) as error:
            outcome.warnings.append(f"{error}; the hits stand in the order they had without reranking")
            return ranked


def _may_ask_for_value(query: Query) -> bool:
    """Whether it is worth loading what tells newer statements from older ones."""
    return not query.spoken.isdisjoint(_VALUE_WORDS) or any(sign in query.text for sign in _VALUE_SIGNS)


def _updated(
    index: Index, ranked: Sequence[Ranked], query: Query, outcome: Outcome
) -> Sequence[Ranked]:
    """The candidates with newer statements before older ones, if the question asks for a value."""
    from commonplace.search import recency

    if not recency.asks_for_value(query):
        return ranked
    with outcome.timed("updates"):
        sources = index.sources([item.candidate.id for item in ranked[: recency.HEAD]])
        days = {passage: source.date for passage, source in sources.items()}
        return recency.lift(ranked, query, days)
