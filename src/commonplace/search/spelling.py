"""Names that are spelt otherwise than in the notes: Mohammed for Muhammad, Katherine for Catherine.

A name of the question that no note holds is taken for the nearest one that the candidates hold: who speaks in
them, or is written large there more than once. Nobody is taken for somebody without being told.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

from commonplace.markdown import turns
from commonplace.search import query

if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.search.query import Query

SHORTEST, LONG = 3, 7  # letters of a name, and of one in which two may differ
TIMES = 2  # as often must a name be written that nobody speaks under
_NAME = re.compile(r"\b[A-Z][a-zà-öø-ÿ’'-]+\b")
_WORD = re.compile(r"[^\W\d_]+")


def likely(asked: Query, missing: Collection[str]) -> list[str]:
    """Return the words of a question that may be names which no note holds.

    They are written large, or nothing in the question is.
    """
    words = _WORD.findall(asked.words)
    is_small = asked.words.islower()
    return [
        word
        for word in dict.fromkeys(words)
        if word.lower() in missing and len(word) >= SHORTEST and (is_small or word[0].isupper())
    ]


def meant(words: Iterable[str], candidates: Iterable[Candidate]) -> dict[str, str]:
    """Return what each of some words is taken for, where a name in the candidates is near enough."""
    names = _names(candidates)
    found = {}
    for word in words:
        near = [
            (distance(word.lower(), name.lower()), -count, name)
            for name, count in names.items()
            if abs(len(name) - len(word)) <= 2
        ]
        steps, _, name = min(near, default=(9, 0, ""))
        if steps <= allowed(word):
            found[word] = name
    return found


def respelled(asked: Query, names: dict[str, str]) -> Query:
    """The question with the names that are meant."""

    def mend(text: str) -> str:
        return _WORD.sub(lambda match: names.get(match[0], match[0]), text)

    words = mend(asked.words)
    terms = dict.fromkeys(word for term in asked.terms for word in _terms(term, names))
    return asked._replace(text=mend(asked.text), words=words, terms=tuple(terms))


def _terms(term: str, names: dict[str, str]) -> list[str]:
    lower = {word.lower(): name for word, name in names.items()}
    return query.terms(lower[term]) if term in lower else [term]


def _names(candidates: Iterable[Candidate]) -> Counter[str]:
    """Names in some passages with how often they stand there; who speaks counts most."""
    names = Counter[str]()
    for own in candidates:
        for line in own.text.split("\n"):
            label = turns.speaker(line, chat=own.turns > 0) if ":" in line or "：" in line else None
            names.update({word.title(): TIMES for word in _WORD.findall(label or "")})
        names.update(_NAME.findall(own.text))
    return Counter({name: count for name, count in names.items() if count >= TIMES})


def allowed(word: str) -> int:
    """How many letters may differ: one, and two of a long name; names that differ by more are others."""
    return 2 if len(word) >= LONG else 1


def distance(one: str, other: str, most: int = 2) -> int:
    """Count the letters to put in, leave out, change or swap with the next (optimal string alignment).

    More than `most` is some number above it.
    """
    if abs(len(one) - len(other)) > most or sum((Counter(one) - Counter(other)).values()) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        current = [i]
        for j, b in enumerate(other, 1):
            cost = min(row[j] + 1, current[j - 1] + 1, row[j - 1] + (a != b))
            if i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            current.append(cost)
        before, row = row, current
    return row[-1]
