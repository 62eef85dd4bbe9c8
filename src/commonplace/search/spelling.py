"""Names that are spelt otherwise than in the notes: Mohammed for Muhammad, Katherine for Catherine.

A name of the question that no note holds is taken for the nearest one that the candidates hold more than
once, and never in small letters: who speaks in them, or is written large inside a sentence. A name that only
opens sentences there (*Catherine keeps bees.*, but *Cello strings are dear.* too) is one where the question
writes it large as well. A warning says who is taken for whom.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.markdown import structure, turns
from commonplace.search import query

if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.search.query import Query

SHORTEST, LONG = 3, 7  # letters of a name, and of one in which two may differ
MOST = 16  # words of a question that are looked up
TIMES = 2  # as often must a name be written that nobody speaks under
_LARGE = r"[A-Z][a-zà-öø-ÿ’'-]+\b"
_OPENING, _INSIDE = re.compile(rf"\b{_LARGE}"), re.compile(rf"(?<=[\w,;)’'] ){_LARGE}")
_WORD = re.compile(r"[^\W\d_]+")


def likely(asked: Query, missing: Collection[str]) -> dict[str, bool]:
    """Return the words of a question that may be names which no note holds, and whether each surely is one.

    They are written large, or nothing in the question is. The first word is large in any case.
    """
    words = list(dict.fromkeys(_WORD.findall(asked.words)))
    is_small = asked.words.islower()
    likely = [
        word
        for word in words
        if word.lower() in missing and len(word) >= SHORTEST and (is_small or word[0].isupper())
    ]
    return {word: word != words[0] and word[0].isupper() for word in likely[:MOST]}


def meant(words: Mapping[str, bool], candidates: Sequence[Candidate]) -> dict[str, str]:
    """Return what each word is taken for, where a name in the candidates is near enough."""
    names = _names(candidates)
    near: dict[str, list[tuple[int, int, str]]] = {}
    for word, is_name in words.items():
        each = (
            (distance(word.lower(), name.lower()), -count, name)
            for name, (count, inside) in names.items()
            if (inside or is_name) and abs(len(name) - len(word)) <= 2
        )
        near[word] = sorted(one for one in each if one[0] <= allowed(word))
    # What is written small as well is no name; few candidates are near, so that only these are looked for.
    lower = "|".join({re.escape(name.lower()) for each in near.values() for *_, name in each})
    common = re.compile(rf"\b(?:{lower})\b")
    small = {word for own in candidates for word in common.findall(own.text)} if lower else set()
    chosen = {word: [name for *_, name in each if name.lower() not in small] for word, each in near.items()}
    return {word: each[0] for word, each in chosen.items() if each}


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


def _names(candidates: Iterable[Candidate]) -> dict[str, tuple[int, bool]]:
    """What may be a name in some passages: how often it stands there, and whether inside a sentence.

    Who speaks is a name wherever it stands.
    """
    names, inside = Counter[str](), set[str]()
    for own in candidates:
        text = own.text
        if text.startswith("#") or "\n#" in text:  # in a heading every word may be large
            text = "\n".join(line for line in text.split("\n") if structure.atx(line) is None)
        for line in text.split("\n") if ":" in text or "：" in text else ():
            label = turns.speaker(line, chat=own.turns > 0) if ":" in line or "：" in line else None
            speakers = {word.title() for word in _WORD.findall(label or "")}
            names.update(dict.fromkeys(speakers, TIMES))
            inside.update(speakers)
        names.update(_OPENING.findall(text))
        inside.update(_INSIDE.findall(text))
    return {name: (count, name in inside) for name, count in names.items() if count >= TIMES}


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
