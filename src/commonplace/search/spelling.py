"""Names that are spelt otherwise than in the notes: Mohammed for Muhammad, Katherine for Catherine.

A name of the question that no note holds is taken for the nearest one that the candidates hold more than
once, and never in small letters: who speaks in them, or is written large inside a sentence. A name that only
opens sentences there (*Catherine keeps bees.*, but *Cello strings are dear.* too) is one where the question
writes it large as well. Of names that are equally near those of the owner's notes come before those of
reference. A warning says who is taken for whom.

A name that stands there once is one if it is long, both write it large, a single letter differs, and no other
name is near: of short words too many are one letter from another.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from commonplace.base.expressions import lazy
from commonplace.base.tuples import NamedTuple
from commonplace.search import query

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from commonplace.index.base import Candidate
    from commonplace.search.query import Query

SHORTEST, LONG = 3, 7  # letters of a name, and of one in which two may differ
MOST = 16  # words of a question that are looked up
TIMES = 2  # as often must a name be written that nobody speaks under, unless it is long
PASSAGES = 100  # with such a name that are read: they show whether it is written small as well
LONGEST = 30  # letters of a name whose neighbours are looked up: some 1,600 then
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` costs a start 1 ms
_LARGE = r"[A-Z][a-zà-öø-ÿ’'-]+\b"
_OPENING, _INSIDE = lazy(rf"\b{_LARGE}"), lazy(rf"(?<=[\w,;)’'] ){_LARGE}")
_WORD = lazy(r"[^\W\d_]+")


def likely(asked: Query, missing: Collection[str], dates: Sequence[str] = ()) -> dict[str, bool]:
    """Return the words of a question that may be names which no note holds, and whether each surely is one.

    They are written large, or nothing in the question is. The first word is large in any case. What
    stands in `dates`, the parts of the question that are dates, is no name.
    """
    dated = {word for text in dates for word in _WORD.findall(text)}
    words = list(dict.fromkeys(_WORD.findall(asked.words)))
    is_small = asked.words.islower()
    likely = [
        word
        for word in words
        if word.lower() in missing and len(word) >= SHORTEST and (is_small or word[0].isupper())
        if word not in dated
    ]
    return {word: word != words[0] and word[0].isupper() for word in likely[:MOST]}


def neighbours(word: str) -> list[str]:
    """Return all words one letter away from a long one, in lower case; none of another."""
    word = word.lower()
    if not LONG <= len(word) <= LONGEST:
        return []
    letters = sorted({*_LETTERS, *word})
    cuts = [(word[:at], word[at:]) for at in range(len(word) + 1)]
    one_less = (head + tail[1:] for head, tail in cuts if tail)
    swapped = (head + tail[1] + tail[0] + tail[2:] for head, tail in cuts if len(tail) > 1)
    changed = (head + letter + tail[1:] for head, tail in cuts if tail for letter in letters)
    one_more = (head + letter + tail for head, tail in cuts for letter in letters)
    return sorted({*one_less, *swapped, *changed, *one_more} - {word})


class _Name(NamedTuple):
    """A name in the candidates: how often it stands there, if inside a sentence, if in own notes."""

    times: int
    inside: bool
    own: bool

    def may_be(self, name: str, word: str, *, is_name: bool) -> bool:
        """Whether it may be what a word of the question means, as far as one can tell without its letters."""
        if self.times >= TIMES:
            return (self.inside or is_name) and abs(len(name) - len(word)) <= 2
        are_long = len(name) >= LONG and len(word) >= LONG
        return self.inside and are_long and word[0].isupper() and abs(len(name) - len(word)) <= 1


def meant(
    words: Mapping[str, bool], candidates: Sequence[Candidate], reference: Collection[int] = ()
) -> dict[str, str]:
    """Return what each word is taken for, where a name in the candidates is near enough.

    `reference` are those of them that are no notes of the owner.
    """
    names = _names(candidates, reference)
    near: dict[str, list[tuple[int, bool, int, str]]] = {}
    for word, is_name in words.items():
        distances = (
            (distance(word.lower(), name.lower()), not one.own, -one.times, name)
            for name, one in names.items()
            if one.may_be(name, word, is_name=is_name)
        )
        near[word] = sorted(one for one in distances if one[0] <= allowed(word))
    # What is written small as well is no name; few candidates are near, so that only these are looked for.
    lower = "|".join({re.escape(name.lower()) for each in near.values() for *_, name in each})
    common = re.compile(rf"\b(?:{lower})\b")
    small = {word for own in candidates for word in common.findall(own.text)} if lower else set()
    chosen: dict[str, str] = {}
    for word, each in near.items():
        left = [one for one in each if one[-1].lower() not in small]
        often = [name for _, _, count, name in left if -count >= TIMES]
        once = [name for steps, _, _, name in left if steps == 1] if len(left) == 1 else []
        if often or once:
            chosen[word] = (often or once)[0]
    return chosen


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


def _names(candidates: Iterable[Candidate], reference: Collection[int]) -> dict[str, _Name]:
    """What may be a name in some passages; who speaks is a name wherever it stands."""
    names, inside, own = Counter[str](), set[str](), set[str]()
    for one in candidates:
        for label in one.traits.speakers.split("\n"):
            speakers = {word.title() for word in _WORD.findall(label)}
            names.update(dict.fromkeys(speakers, TIMES))
            inside.update(speakers)
            own.update(speakers if one.id not in reference else ())
        large = _OPENING.findall(one.text)
        names.update(large)
        inside.update(_INSIDE.findall(one.text))
        own.update(large if one.id not in reference else ())
    return {name: _Name(count, name in inside, name in own) for name, count in names.items()}


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
