"""Statements that speak of the same thing and say something else of it; found without a model.

Two sentences contradict each other where they have the same words but for one value of the same kind (another
number, day, hour, version), for a denial, for two words that are opposites, or for what only one thing can be
(lives in, is called, the owner of). Whatever else differs, it is taken for another matter: an alarm at every
note would be heard by nobody.
"""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.revision import claims, opposites
from commonplace.revision.claims import Claim
from commonplace.search import wording
from commonplace.types.statements import Statement

# Words that both must hold beside what differs; a CJK character counts half.
_NAMED, _DENIED = 0.5, 2
_APPOINTED = frozenset({"day", "date", "year"})  # kinds that a happening without a verb has its own of


def between(text: str, others: Iterable[Statement]) -> list[Statement]:
    """Return those of the statements that a text contradicts, in their order."""
    own = claims.of(text)
    return [
        other
        for other in others
        if not other.struck and any(_contradict(one, two) for one in own for two in claims.of(other.text))
    ]


def contradict(one: str, other: str) -> bool:
    """Whether two statements say different things of the same."""
    return any(_contradict(a, b) for a in claims.of(one) for b in claims.of(other))


def _contradict(one: Claim, other: Claim) -> bool:
    if one.words != other.words:
        if one.denied == other.denied and one.values == other.values:
            return opposites.opposed(one.words, other.words) or opposites.exclusive(one.text, other.text)
        return False
    if one.denied != other.denied:
        return one.values == other.values and wording.weight(one.words) >= _DENIED
    return not one.denied and _differ_in_a_value(one, other)


def _differ_in_a_value(one: Claim, other: Claim) -> bool:
    """Whether exactly one kind of value differs, both have one of it, and neither holds the other's."""
    if one.values.keys() != other.values.keys():
        return False
    kinds = [kind for kind in one.values if one.values[kind] != other.values[kind]]
    if len(kinds) != 1 or kinds[0] == "named" or not (one.verb and other.verb):
        return False
    mine, theirs = one.values[kinds[0]], other.values[kinds[0]]
    if len(mine - theirs) != 1 or len(theirs - mine) != 1:
        return False
    if kinds[0] in _APPOINTED and not (one.lasting and other.lasting):
        return False
    return wording.weight(one.words) >= _NAMED
