"""Whether one text says all that another says, in whatever order; whether both are about one thing."""

from __future__ import annotations

from functools import lru_cache

from commonplace.lifecycle.consolidation import words

_ABOUT = 1 / 3  # of the words of the shorter text, shared with one about the same thing
# Words that two ways to say one thing differ in.
_IDLE = frozenset(
    map(
        words.stem,
        """
        to for with by we i my our us they he she there here so then when which who will get got go goes going
        really very just also always usually still now as per than or but from
        """.split(),
    )
) | frozenset("我们你他她它这那就都也和与跟及以及对于把由给到会")
# Words that say one thing: each, by its stem, is read as the first of its row.
_ROWS = (
    "own owns owned owner maintains maintained maintain responsible charge",
    "prefer prefers likes like loves love favourite favorite enjoys enjoy",
    "dislike dislikes hates hate",
    "deploy deploys release releases released rollout",
    "switch switched moves moved move changes changed change",
    "choose chose chosen picked pick",
)
_SAME = {words.stem(word): words.stem(row.split()[0]) for row in _ROWS for word in row.split()}
_NEGATIONS = frozenset("not no never without cannot 不 没 无 未 别".split())


def says(text: str, other: str) -> bool:
    """Whether a text says all that the other says: each of its words, numbers and dates, denied or not."""
    one, two = keys(text), keys(other)
    if not two or bool(one & _NEGATIONS) != bool(two & _NEGATIONS):
        return False
    return two <= one


def about_one_thing(text: str, other: str) -> bool:
    """Whether two texts share enough of their words to be about one thing."""
    one, two = ({key for key in keys(t) if not key[0].isdigit()} for t in (text, other))
    shared = len(one & two)
    return bool(shared) and shared >= _ABOUT * min(len(one), len(two))


@lru_cache(4096)
def keys(text: str) -> frozenset[str]:
    """Return what a text says: words without endings, numbers, dates, pairs of CJK characters."""
    found: set[str] = set()
    for sentence in words.read(text):
        before = ""
        for token in sentence.tokens:
            if token.kind == "wide":
                if token.key in _NEGATIONS:
                    found.add(token.key)
                if before and not {before, token.key} & _IDLE:
                    found.add(before + token.key)
                before = token.key
                continue
            before = ""
            if token.key not in _IDLE and token.key != "'s":
                found.add(_SAME.get(token.key, token.key))
    return frozenset(found)
