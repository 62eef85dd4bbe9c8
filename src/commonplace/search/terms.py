"""What a question's terms are worth in this index: which to look for, what a full match would score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from commonplace.index import lexicon
from commonplace.index.sqlite import SqliteIndex
from commonplace.search import stopwords
from commonplace.search.query import Query

# The ideal is made of this many of the question's rarest terms: a passage never holds all words of a long
# question, and measured against all of them every passage would look poor.
IDEAL_TERMS = 6
# BM25 costs about 2 microseconds a posting, so the rarest terms are looked for until this many postings
# have been read. Small indexes never reach it. A CJK question's bigrams are each worth less, so it gets more.
POSTINGS, POSTINGS_WIDE = 30_000, 60_000
LEAST_TERMS = 3
# FTS5 gives no weight to a term that half of the passages hold. In a memory of less than this many, of one
# day or one week, that is what it is about.
SMALL_MEMORY = 200


class Terms(NamedTuple):
    """The terms to look for, rarest first, and what is known of the question's.

    `ideal` is the BM25 that a passage with the rarest terms would about have; `asked` how many terms there
    are; `known` and `content` how many of those that say something are in the index, and how many there are;
    `passages` how many the index holds; `weights` the idf of each term, which a small memory is scored by.
    """

    wanted: tuple[str, ...] = ()
    ideal: float = 0.0
    asked: int = 0
    known: int = 0
    content: int = 0
    passages: int = 0
    weights: Mapping[str, float] = {}


def weigh(index: SqliteIndex, query: Query) -> Terms:
    """Look up how often the terms of a question occur, and choose among them."""
    if not query.terms:
        return Terms()
    frequencies, total = index.frequencies([lexicon.expression(term) for term in query.terms])
    counted = sorted(zip(frequencies, query.terms, strict=True), key=lambda pair: pair[0])
    weights = {term: idf(count, total) for count, term in counted if count or not _is_noise(term)}
    content = [count for count, term in counted if term != "i" and term not in stopwords.ENGLISH]
    return Terms(
        wanted=_affordable(counted, POSTINGS_WIDE if query.wide > 0.5 else POSTINGS),
        ideal=math.fsum(sorted(weights.values(), reverse=True)[:IDEAL_TERMS]),
        asked=len(counted),
        known=sum(1 for count in content if count),
        content=len(content),
        passages=total,
        weights=weights,
    )


def score(index: SqliteIndex, terms: Terms, found: Mapping[int, float]) -> dict[int, float]:
    """BM25 of the passages found; in a small memory at least what their terms weigh.

    A term that occurs once in a passage of ordinary length adds its idf to BM25, so both are on one scale.
    """
    if terms.passages >= SMALL_MEMORY or not terms.wanted:
        return dict(found)
    covered = dict.fromkeys(found, 0.0)
    for term in terms.wanted:
        for passage in index.matching(list(found), lexicon.expression(term)):
            covered[passage] += terms.weights[term]
    return {passage: max(bm25, covered[passage]) for passage, bm25 in found.items()}


def idf(count: int, total: int) -> float:
    """Inverse document frequency of Robertson and Spärck Jones, as FTS5 computes it.

    In a small memory it is Lucene's, which adds 1 inside the logarithm, so that no term weighs nothing.
    """
    odds = (total - count + 0.5) / (count + 0.5)
    return math.log(1 + odds) if total < SMALL_MEMORY else max(1e-6, math.log(odds))


def _is_noise(term: str) -> bool:
    """Whether a term that is not in the index is a CJK bigram across a function word, so no word at all."""
    return any(character in stopwords.CHINESE_CHARACTERS for character in term)


def _affordable(counted: Sequence[tuple[int, str]], postings: int) -> tuple[str, ...]:
    wanted: list[str] = []
    for count, term in counted:
        if count and (len(wanted) < LEAST_TERMS or postings > 0):
            wanted.append(term)
            postings -= count
    return tuple(wanted)
