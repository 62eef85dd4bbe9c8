"""One question through the stages: candidates from both lists, ranking, reranking, refusal, order."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain

from commonplace.base.errors import BudgetExceeded, ConfigError, MissingExtra, ProviderError
from commonplace.base.messages import message
from commonplace.index import facts
from commonplace.index.base import ALL, Candidate, In, Index, Matches, Not, Scope
from commonplace.language import lexicon
from commonplace.search import candidates, confidence, order, query, ranking, reranking, terms
from commonplace.search.candidates import Candidates, Means, Question
from commonplace.search.confidence import Level
from commonplace.search.query import Dated, Query
from commonplace.search.ranking import Evidence, Ranked
from commonplace.search.request import Outcome, Request
from commonplace.types.results import NO_NOTE_OF

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.search.as_of import Replaced


OPTIONS = 200  # passages with an option of a command that are read
_DASH = "[-\u2010-\u2015\u2212\ufe63\uff0d]"


def search(index: Index, means: Means, asked: Query, request: Request) -> Outcome:
    """Answer a question from the index.

    Without a model, or when it fails, full text answers alone (level 2). What the reranker fails with is a
    warning; the order is then what it was. Raises IndexUnavailable.
    """
    outcome = Outcome()
    covered = _scope(index, asked, request, outcome)
    asked, covered = _as_far_as_held(index, asked, request, covered, outcome)
    days = _days(index, asked, request, covered)
    alone = days is not None and days.alone
    if asked.lists or alone:
        with outcome.timed("hits"):
            listed = _listed(index, asked, days, covered, request)
            outcome.hits = [*order.listed(listed, request.today, days.naming if days else {})]
    if days and not outcome.hits and not days.held:
        lacking = " or ".join(dict.fromkeys(span.written for span in days.spans))
        outcome.warn("search.no_note_of", NO_NOTE_OF, day=lacking)
        asked = query.spelled(asked, days.spans)
    if outcome.hits or asked.lists or (alone and days is not None and not days.named):
        outcome.listing = True
        return outcome
    with outcome.timed("terms"):
        weighed = terms.weigh(asked, *index.frequencies(terms.sought(asked), struck=request.past))
    question = Question(index, asked, request, means, covered, weighed, days)
    found = candidates.gather(question, outcome)
    if (respelled := _respelled(question, found, outcome)) is not None:
        asked = respelled
        weighed = terms.weigh(asked, *index.frequencies(terms.sought(asked), struck=request.past))
        question = Question(index, asked, request, means, covered, weighed, days)
        found = candidates.gather(question, outcome)
    with outcome.timed("ranking"):
        triggered = candidates.triggered(question)
        passages, replaced = _passages(question, found, triggered)
        triggered |= candidates.instructing(question, passages, found)
        evidence = _evidence(question, found)
        ranked = ranking.rank(passages, evidence, means.ranking)
        first = order.chosen(ranked, triggered, evidence.day)
    outcome.confidence = _confidence(question, ranked, evidence)
    least = confidence.CLEAR if request.strict else confidence.NOISE
    refused = outcome.confidence is not None and outcome.confidence < least
    if not refused and means.reranker is not None:
        with outcome.timed("reranking"):
            try:
                ranked = reranking.rerank(ranked, asked.words, means.reranker)
            except (ProviderError, BudgetExceeded, ConfigError, MissingExtra) as error:
                unranked = "{error}; the hits stand in the order they had without reranking"
                outcome.warn("search.unranked", unranked, error=error.args[0])
    outcome.ranked = [item for item in ranked if item.candidate.id in first] if refused else ranked
    if outcome.ranked:
        outcome.hits = order.arrange(question, outcome.ranked, first, replaced, outcome)
    elif asked.required and not asked.quoted:
        demand = "no passage meets what AND, OR, NOT or word* demand"
        outcome.warn("search.demand", "{demand}; plain words demand nothing", demand=demand)
    elif not (asked.terms or asked.required or asked.prefixes or request.lines):
        outcome.warn("search.no_word", "the question holds no word to look for")
    return outcome


def score(index: Index, means: Means, text: str) -> Level:
    """Return the scores of the best passages for a question, as its confidence counts them."""
    asked = _parsed(text)
    weighed = terms.weigh(asked, *index.frequencies(terms.sought(asked)))
    question = Question(index, asked, Request(text), means, ALL, weighed)
    found = candidates.gather(question, Outcome())
    passages = index.passages(sorted(question.promising(found)))
    evidence = _evidence(question, found)
    return confidence.best(ranking.rank(passages, evidence, means.ranking), evidence.reference)


_parsed = lru_cache(maxsize=256)(query.parse)  # the null questions, which are the same each time


def _respelled(question: Question, found: Candidates, outcome: Outcome) -> Query | None:
    """The question with the names that its own are near to, where no note holds them; None for most."""
    index, asked, covered = question.index, question.query, question.covered
    missing, reference = question.terms.missing, question.means.reference
    if asked.required or not (missing or covered.conditions):
        return None
    from commonplace.search import spelling

    dates = [span.text for span in question.days.spans] if question.days else []
    # In a part of the notes a name that only the others hold is missing too.
    words = spelling.likely(asked.words, asked.terms if covered.conditions else missing, dates)
    for word in [word for word in words if word.lower() not in missing]:
        if index.select(covered & Matches(lexicon.sought(word.lower())), 1):
            del words[word]
    if not words:
        return None
    with outcome.timed("spelling"):
        promising = question.promising(found)
        for neighbours in filter(None, map(lexicon.any_of, map(spelling.neighbours, words))):
            for scope in question.scopes:  # which neither list found by the word
                promising.update(index.select(scope & Matches(neighbours), spelling.PASSAGES))
        foreign = Scope((In("collection", reference),))
        behind = facts.within(index, promising, foreign) if reference else ()
        names = spelling.meant(words, index.passages(sorted(promising)), behind)
    if not names:
        return None
    taken = [message("search.taken", "{word} for {name}", word=a, name=b) for a, b in names.items()]
    told = "no note holds this spelling: took {taken}"
    outcome.warn("search.spelling", told, taken=taken)
    text, own = (spelling.renamed(part, names) for part in (asked.text, asked.words))
    lower = {word.lower(): query.terms(name) for word, name in names.items()}
    wanted = chain.from_iterable(lower.get(term, [term]) for term in asked.terms)
    return asked._replace(text=text, words=own, terms=tuple(dict.fromkeys(wanted)))


def _evidence(question: Question, found: Candidates) -> Evidence:
    means, similar = question.means, question.means.similar if found.semantic else None
    return Evidence(
        question.query, found.lexical, found.semantic, found.translated, found.lists,
        question.terms.ideal or 1.0, question.days, question.request.today, means.served, means.reference,
        means.behind, similar,
    )  # fmt: skip


def _confidence(question: Question, ranked: Sequence[Ranked], evidence: Evidence) -> float | None:
    """Return the confidence in the answer; None if it is unknown, or the question must not be refused.

    A question for days alone is weak if no note is of them or names them.
    """
    if not question.refusable:
        return None
    level = question.means.level
    unasked = question.request.strict and not question.request.lines
    words = confidence.telling(question.terms) if unasked else 1.0
    best = confidence.best(ranked, evidence.reference, words)
    # Unprompted recall counts neither reference nor passages in another script.
    best = Level(best.own) if unasked else best._replace(own=0.0)
    known = confidence.of(best, level) if level else None
    if question.days is None or not question.days.alone:
        return known
    return confidence.NOISE if known is None else min(known, confidence.NOISE)


def _passages(
    question: Question, found: Candidates, triggered: set[int]
) -> tuple[list[Candidate], Replaced | None]:
    """Return the passages to rank: of both lists, of the days in the question, and those with a trigger.

    For a question into the past, return the candidates as they were, with the replacements of struck ones.
    """
    index, request, covered = question.index, question.request, question.covered
    wanted = {*question.promising(found), *question.of_days, *triggered}
    passages = index.passages(sorted(wanted))
    if not request.past:
        return passages, None
    from commonplace.search import as_of

    passages, replaced = as_of.replaced(index, passages, question.allowed, rest=request.as_of is None)
    passages.sort(key=lambda candidate: candidate.id)
    if request.as_of:
        passages = [as_of.as_it_stood(index, one, covered) for one in passages]
    return passages, replaced


def _scope(index: Index, asked: Query, request: Request, outcome: Outcome) -> Scope:
    """Return the notes in scope of the question and the request; warn of filters without meaning."""
    named = frozenset(request.collections)
    covered = Scope((In("collection", named),)) if named else ALL
    if asked.excluded:
        covered &= Not(Scope((Matches(asked.excluded),)))
    if request.as_of is not None:
        from commonplace.search import as_of

        covered &= as_of.cover(request.as_of, history=request.history)
    if asked.lists and not asked.filters:
        nothing = "nothing but exclusions: what holds none of them is listed, newest first"
        outcome.warn("search.exclusions", nothing)
    elif asked.unwanted:
        words, read = ", ".join(asked.unwanted), "read as an exclusion: {words}"
        outcome.warn("search.excluded", read, words=words)
    if operators := ", ".join(asked.operators):
        outcome.warn("search.read", "read as operators: {operators}", operators=operators)
    if not (asked.filters or request.without_session or query.may_filter(asked.text)):
        return covered
    from datetime import date

    from commonplace.search import filters

    if request.without_session:
        covered &= filters.without_session(index, request.without_session)
    outcome.warnings += filters.warnings(index, asked.filters, asked.text)
    return covered & filters.cover(index, asked.filters, request.now or date.today())


def is_option(index: Index, word: str, beside: str) -> bool:
    """Tell whether a passage or its headings hold a word behind a dash, beside a word of the rest, if any."""
    bare = re.sub(rf"(?<=[^\W{lexicon.CJK}])[\W_]*[{lexicon.CJK}].*|[\W_]+$", "", word)
    others = lexicon.any_of(query.terms(beside))
    holding = Scope(tuple(map(Matches, filter(None, [lexicon.sought(bare), others]))))
    no_letter = rf"[^\W_{lexicon.CJK}]"  # Chinese may touch an option
    option = re.compile(rf"(?<!{no_letter}){_DASH}{re.escape(bare)}(?!{no_letter}|-)", re.IGNORECASE)
    rows = index.passages(index.select(holding, OPTIONS))
    return any(option.search("\n".join([row.text, *row.source.headings])) for row in rows)


def _as_far_as_held(
    index: Index, asked: Query, request: Request, covered: Scope, outcome: Outcome
) -> tuple[Query, Scope]:
    """Return the question and its scope; quotations that no passage holds are sought by their words.

    If two passages hold the only quotation together, they are the scope.
    """
    if not (asked.quoted and asked.required) or index.select(
        covered & Matches(asked.required), 1, struck=request.past
    ):
        return asked, covered
    if len(asked.quoted) == 1 and (pairs := _across(index, covered, asked.quoted[0])):
        return asked.unquoted, covered & In("passage", pairs)
    phrases = " and ".join(f'"{" ".join(phrase.split())}"' for phrase in dict.fromkeys(asked.quoted))
    outcome.warn("search.phrases", "nothing holds {phrases}: found by the words", phrases=phrases)
    return asked.unquoted, covered


def _across(index: Index, scope: Scope, phrase: str) -> frozenset[int]:
    """Return the passages that contain a phrase in pairs: the end of one and the beginning of the next."""
    found: set[int] = set()
    for place in re.finditer(rf"\b(?=\w)|(?<=[{lexicon.CJK}])(?=\w)", phrase):
        parts = phrase[: place.start()], phrase[place.start() :]
        head, tail = map(_letters, parts)
        if not head:
            continue
        # The longer part first: fewer passages have it.
        holding = {0: set[int](), 1: set[int]()}
        for at in sorted((0, 1), key=lambda at: -len(parts[at])):
            holding[at] = set(index.select(scope & Matches(lexicon.expression(parts[at]))))
            if not holding[at]:
                break
        firsts = {one for one in holding[0] if one + 1 in holding[1]}
        texts = {one.id: one for one in index.passages(firsts | {one + 1 for one in firsts})}
        for one in firsts & texts.keys():
            above, below = texts[one], texts.get(one + 1)
            joined = below and above.note_id == below.note_id and _letters(above.text).endswith(head)
            if below and joined and _letters(below.text).startswith(tail):
                found |= {one, one + 1}
    return frozenset(found)


def _letters(text: str) -> str:
    """Return only the letters and digits of a text, in small letters."""
    return "".join(filter(str.isalnum, text.casefold()))


def _days(index: Index, asked: Query, request: Request, covered: Scope) -> Dated | None:
    """The days of a question as notes are of them or name them, in the likeliest reading; who names them."""
    readings = query.readings(asked, request.now) if query.may_name_days(asked) else []
    if not readings:
        return None
    from datetime import date

    from commonplace.search import coming

    today = request.today or date.today()
    for days in readings:
        held = bool(index.select(covered & candidates.within(days), 1, struck=request.past))
        if not held or any(span.last > today for span in days.spans):
            naming = coming.naming(index, covered, days.spans, struck=request.past)
            days = days._replace(naming=naming, held=held or bool(naming))
        if held or days.naming:
            return days
    return readings[0]._replace(held=False)


def _listed(index: Index, asked: Query, days: Dated | None, covered: Scope, request: Request) -> list[Ranked]:
    """Answer filters alone, or days alone, with their passages, without a score.

    Filters give the newest, days the order of the notes. Past passages come as they were; struck ones come
    after their replacements.
    """
    if request.strict and asked.lists and not asked.filters:  # exclusions alone, unprompted
        return []
    limit = request.limit or 0
    if asked.lists or days is None:
        passages = index.select(covered, candidates.HEADINGS * limit, struck=request.past, newest=True)
        by_id = {candidate.id: candidate for candidate in index.passages(passages)}
        listed = candidates.telling([by_id[passage] for passage in passages])[:limit]
    else:
        listed = candidates.listing(index, covered, days, limit, struck=request.past)
    if not request.past:
        return [Ranked(candidate, 0.0, {}) for candidate in listed]
    from commonplace.search import as_of

    _, known = as_of.replaced(index, listed, lambda _: set(), rest=request.as_of is None)
    if request.as_of:
        listed = [as_of.as_it_stood(index, one, covered) for one in listed]
    return order.in_order([Ranked(candidate, 0.0, {}) for candidate in listed], known.surely)
