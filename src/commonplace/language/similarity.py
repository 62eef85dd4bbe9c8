"""How much two statements speak of the same: the words they share, whatever their endings."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

from commonplace import language
from commonplace.language import compare
from commonplace.language.lexicon import stem as stem

NEAR = 0.6  # share of the words of the shorter one that makes two statements nearly the same
SAID = 0.9  # the same share where a passage is taken to say what the statement does
LEAST = 1.5  # words that they must share; a CJK character counts half


@lru_cache(4096)
def stems(text: str) -> frozenset[str]:
    """The words of a text that say something, without their endings; CJK by characters."""
    return frozenset(stem(token) for token in compare.content(compare.read(text).tokens))


def share(one: str, other: str) -> float:
    """How much of the shorter of two texts the other one holds as well, 0..1."""
    first, second = stems(one), stems(other)
    shared = compare.weight(first & second)
    return shared / max(1.0, min(compare.weight(first), compare.weight(second))) if shared >= LEAST else 0.0


def may_share(words: Mapping[str, float], text: str) -> bool:
    """Tell whether a text has enough of some stems, by weight, for a `share` above zero."""
    there = within(text)
    return sum([weight for word, weight in words.items() if word in there]) >= LEAST


def weights(text: str) -> dict[str, float]:
    """The stems of a text, and how much each carries."""
    return {word: compare.weight([word]) for word in stems(text)}


def within(text: str) -> str:
    """Return a text in which every word of its `wording` stands as it is."""
    folded = "" if text.isascii() else language.caseless(language.fold(text))
    there = text.lower() if text.isascii() else language.fold_punctuation(folded).replace("’", "'")
    return there.replace(",", "") if "," in there else there
