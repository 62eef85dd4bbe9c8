"""The weights of a question's terms in an index: which to look for, the score of a full match."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from commonplace.base.tuples import NamedTuple
from commonplace.index.base import In, Index, Matches, Scope
from commonplace.language import lexicon, stopwords
from commonplace.search.query import Query

# The ideal is made of this many of the question's rarest terms: a passage never holds all words of a long
# question, and measured against all of them every passage would look poor.
IDEAL_TERMS = 6
# BM25 costs about 2 microseconds a posting, so the rarest terms are looked for as long as they have no more
# postings together. Small indexes never reach it. A CJK question's bigrams are each worth less: it gets more.
# Twice as many, or half as many, change no figure of any set by more than .002.
POSTINGS, POSTINGS_WIDE = 6_000, 12_000
LEAST_TERMS = 3
COMMON, COMMON_LEAST = 0.03, 8  # from this share and number of passages on, a word is common
# FTS5 gives no weight to a term that half of the passages hold. In a memory of less than this many, of one
# day or a few, that is what it is about.
SMALL_MEMORY = 40


class Terms(NamedTuple):
    """The terms to look for, rarest first, each with its number of passages; and figures of all.

    `ideal` is the approximate BM25 of a passage with the rarest terms; `passages` the number in the index;
    `missing` are the terms without a passage, `common` those of so many passages that they do not
    discriminate.
    """

    wanted: Mapping[str, int] = {}
    ideal: float = 0.0
    passages: int = 0
    missing: frozenset[str] = frozenset()
    common: frozenset[str] = frozenset()


def sought(query: Query) -> list[str]:
    """Return the expressions of a question's terms and other spellings, for `Index.frequencies`."""
    return [lexicon.sought(term) for term in dict.fromkeys([*query.terms, *query.spellings])]


def weigh(query: Query, frequencies: Sequence[int], total: int) -> Terms:
    """Choose among the terms of a question by the number of passages of each, as `sought` has them."""
    if not query.terms:
        return Terms()
    every = list(zip(frequencies, dict.fromkeys([*query.terms, *query.spellings]), strict=True))
    counted = every[: len(query.terms)]
    wanted: dict[str, int] = {}
    postings = POSTINGS_WIDE if query.wide > 0.5 else POSTINGS
    for count, term in sorted(every, key=lambda pair: pair[0]):  # the rarest that have no more together
        if count and (len(wanted) < LEAST_TERMS or postings >= count):
            wanted[term] = count
            postings -= count
    # A missing term with a Chinese function word is ignored.
    noise = stopwords.CHINESE_CHARACTERS
    weights = (idf(count, total) for count, term in counted if count or noise.isdisjoint(term))
    return Terms(
        wanted=wanted,
        ideal=math.fsum(sorted(weights, reverse=True)[:IDEAL_TERMS]),
        passages=total,
        missing=frozenset(term for count, term in counted if not count),
        common=frozenset(term for count, term in counted if count >= max(COMMON_LEAST, COMMON * total)),
    )


def score(index: Index, terms: Terms, found: Mapping[int, float]) -> dict[int, float]:
    """BM25 of the passages found; in a small memory with what FTS5's idf withholds from common terms.

    A term that occurs once in a passage of ordinary length adds its idf to BM25. For a rare term the two
    idfs hardly differ, so that BM25 stays what it is.
    """
    scores = dict(found)
    if terms.passages < SMALL_MEMORY:
        for term, count in terms.wanted.items():
            (standing,), total = index.frequencies([lexicon.sought(term)])
            withheld = idf(count, terms.passages) - fts5_idf(standing, total)
            holding = Scope((In("passage", frozenset(found)), Matches(lexicon.sought(term))))
            for passage in index.select(holding):
                scores[passage] += withheld
    return scores


def idf(count: int, total: int) -> float:
    """Inverse document frequency: as FTS5 has it, and as Lucene has it in a small memory.

    Lucene adds 1 inside the logarithm, so that every term has a weight.
    """
    return math.log(1 + _odds(count, total)) if total < SMALL_MEMORY else fts5_idf(count, total)


def fts5_idf(count: int, total: int) -> float:
    """Inverse document frequency of Robertson and Spärck Jones, as FTS5 computes it."""
    return max(1e-6, math.log(_odds(count, total)))


def _odds(count: int, total: int) -> float:
    return (total - count + 0.5) / (count + 0.5)
