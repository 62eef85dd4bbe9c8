"""One question through the stages: candidates from both lists, ranking, reranking, refusal, order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from commonplace.base.errors import BudgetExceeded, ConfigError, MissingExtra, ProviderError
from commonplace.index import facts
from commonplace.index.base import ALL, Candidate, In, Index, Scope
from commonplace.search import abstention, candidates, order, query, ranking, reranking, terms
from commonplace.search.candidates import Candidates, Embed, Question
from commonplace.search.query import Query
from commonplace.search.ranking import Evidence, Ranked, RankSettings
from commonplace.search.request import Outcome, Request
from commonplace.search.reranking import Reranker

if TYPE_CHECKING:
    from commonplace.search.as_of import Replaced


class Means(NamedTuple):
    """What a question is answered with, as the settings choose: a model, a reranker, weights, variety."""

    embed: Embed | None = None
    reranker: Reranker | None = None
    ranking: RankSettings = ranking.DEFAULT
    diversity: float = 1.0


def search(index: Index, means: Means, asked: Query, request: Request) -> Outcome:
    """Answer a question from the index.

    Without a model, or when it fails, full text answers alone (level 2). What the reranker fails with is a
    warning; the order is then what it was. Raises IndexUnavailable.
    """
    outcome = Outcome()
    covered = _scope(index, asked, request)
    if asked.lists:
        with outcome.timed("ranking"):
            ranked: Sequence[Ranked] = _list(index, asked, covered, request)
        with outcome.timed("hits"):
            outcome.hits = order.listed(index, ranked, request.today)
        return outcome
    with outcome.timed("terms"):
        weighed = terms.weigh(index, asked, struck=request.past)
        days = query.days(asked, request.now)
        question = Question(index, asked, request, means.ranking, covered, weighed, days)
    found = candidates.gather(question, means.embed, outcome)
    with outcome.timed("ranking"):
        triggered = candidates.triggered(question)
        passages, replaced = _passages(question, found, triggered)
        evidence = _evidence(question, found, passages)
        ranked = ranking.rank(passages, evidence, means.ranking)
        first = order.chosen(ranked, triggered, evidence.day)
    best = max((item.relevance for item in ranked), default=0.0)
    refused = question.refusable and best < abstention.gate(evidence, loose=True)  # whoever reads it again
    if means.reranker is not None and not refused:
        with outcome.timed("reranking"):
            try:
                ranked = reranking.rerank(ranked, asked, means.reranker)
            except (ProviderError, BudgetExceeded, ConfigError, MissingExtra) as error:
                outcome.warnings.append(f"{error}; the hits stand in the order they had without reranking")
    if question.refusable:
        refused = refused or abstention.refuses(ranked, evidence, plain=not request.lines)
    outcome.ranked = [item for item in ranked if item.candidate.id in first] if refused else ranked
    if outcome.ranked:
        outcome.hits = order.arrange(question, outcome.ranked, first, replaced, means.diversity, outcome)
    return outcome


def _evidence(question: Question, found: Candidates, passages: Sequence[Candidate]) -> Evidence:
    """What both lists say, with what the index knows of the notes where the ranking asks for it."""
    ages = bool(question.ranking.recency)
    sources = question.index.sources([one.id for one in passages]) if ages or question.days else {}
    return Evidence(
        question.query,
        found.terms,
        found.lexical,
        found.semantic,
        dates={passage: source.date for passage, source in sources.items()},
        today=question.request.today,
        days=question.days,
        curated={one.note_id for one in passages if ages and sources[one.id].kind == "long-term"},
        lists=found.lists,
    )


def _passages(
    question: Question, found: Candidates, triggered: set[int]
) -> tuple[list[Candidate], Replaced | None]:
    """What is ranked: both lists, passages of the days asked for, and those with a trigger.

    Where everything is wanted that there is, all others too; of a question into the past the candidates as
    they stood, with what replaced the struck ones.
    """
    index, request, covered = question.index, question.request, question.covered
    wanted = {*found.lexical, *found.semantic, *candidates.of_days(question), *triggered}
    if request.min_score is not None and request.min_score <= 0:
        wanted |= candidates.others(question, wanted)
    passages = index.passages(sorted(wanted))
    if not request.past:
        return passages, None
    from commonplace.search import as_of

    def allow(passages: set[int]) -> set[int]:
        return question.allowed(facts.within(index, passages, covered))

    passages, replaced = as_of.replaced(index, passages, allow, rest=request.as_of is None)
    passages.sort(key=lambda candidate: candidate.id)
    return as_of.as_it_stood(index, passages, covered) if request.as_of else passages, replaced


def _scope(index: Index, asked: Query, request: Request) -> Scope:
    """The notes that the question and the request keep to."""
    named = frozenset(request.collections)
    covered = Scope((In("collection", named),)) if named else ALL
    if request.as_of is not None:
        from commonplace.search import as_of

        covered &= as_of.cover(request.as_of, history=request.history)
    if not asked.filters:
        return covered
    from datetime import date

    from commonplace.search import filters

    return covered & filters.cover(index, asked.filters, request.now or date.today())


def _list(index: Index, asked: Query, covered: Scope, request: Request) -> list[Ranked]:
    """Answer filters alone with the newest passages; they have no score, as nothing was asked of them.

    Those of the past come as they stood, none that is struck before what replaced it.
    """
    scope = candidates.without(covered, asked.excluded)
    found = index.select(scope, request.limit, struck=request.past, newest=True)
    by_id = {candidate.id: candidate for candidate in index.passages(found)}
    listed = [by_id[passage] for passage in found]
    if not request.past:
        return [Ranked(candidate, 0.0, {}) for candidate in listed]
    from commonplace.search import as_of

    _, known = as_of.replaced(index, listed, lambda _: set(), rest=request.as_of is None)
    if request.as_of:
        listed = as_of.as_it_stood(index, listed, covered)
    return order.in_order([Ranked(candidate, 0.0, {}) for candidate in listed], known.surely)
