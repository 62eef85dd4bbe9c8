"""What a question's terms are worth in this index: which to look for, what a full match would score."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


class Terms(NamedTuple):
    """The terms to look for, rarest first, and what is known of the question's.

    `ideal` is the BM25 that a passage with the rarest terms would about have; `asked` how many terms there
    are; `known` and `content` how many of those that say something are in the index, and how many there are;
    `passages` how many the index holds.
    """

    wanted: tuple[str, ...] = ()
    ideal: float = 0.0
    asked: int = 0
    known: int = 0
    content: int = 0
    passages: int = 0


def weigh(index: SqliteIndex, query: Query) -> Terms:
    """Look up how often the terms of a question occur, and choose among them."""
    if not query.terms:
        return Terms()
    frequencies, total = index.frequencies([lexicon.expression(term) for term in query.terms])
    counted = sorted(zip(frequencies, query.terms, strict=True), key=lambda pair: pair[0])
    weights = sorted(
        (idf(count, total) for count, term in counted if count or not _is_noise(term)), reverse=True
    )
    content = [count for count, term in counted if term != "i" and term not in stopwords.ENGLISH]
    return Terms(
        wanted=_affordable(counted, POSTINGS_WIDE if query.wide > 0.5 else POSTINGS),
        ideal=math.fsum(weights[:IDEAL_TERMS]),
        asked=len(counted),
        known=sum(1 for count in content if count),
        content=len(content),
        passages=total,
    )


def idf(count: int, total: int) -> float:
    """Inverse document frequency of Robertson and Spärck Jones, as FTS5 computes it."""
    return max(1e-6, math.log((total - count + 0.5) / (count + 0.5)))


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
