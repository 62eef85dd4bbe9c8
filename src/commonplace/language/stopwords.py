"""Words that carry a question rather than its subject; questions drop them, the index keeps them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from commonplace.language import rules

ENGLISH = frozenset(rules.listed("en", "stopwords"))
FIRST_PERSON = frozenset(rules.listed("en", "asking"))
CHINESE = frozenset(rules.listed("zh", "stopwords"))
CHINESE_CHARACTERS = frozenset(rules.listed("zh", "stop_characters"))


def without(text: str) -> str:
    """Blank the Chinese function words of a folded text."""
    return re.sub(f"{'|'.join(sorted(CHINESE))}|[{''.join(sorted(CHINESE_CHARACTERS))}]", " ", text)


def meaningful(bigrams: Iterable[str]) -> Iterator[str]:
    """Yield the bigrams that may say what a Chinese question is about."""
    for bigram in bigrams:
        if bigram not in CHINESE and not all(character in CHINESE_CHARACTERS for character in bigram):
            yield bigram
