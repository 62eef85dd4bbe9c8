"""How sure a search is that what it found answers the question.

The same score means another thing in another memory: among friends everything is near to everything. So each
memory is searched for questions that no memory answers (`language/rules/nulls.*.txt`); a score is measured
against what they reach there: `confidence` is the best score divided by the one that nine in ten of them stay
below. Collections of reference have a level of their own: there is more of them, and so more that is near to
anything. So have passages in CJK among others: a question reaches less in another script than its own.
Measured with the threshold of each data set taken from the others, one figure then serves all
(`docs/quality.md`).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress

from commonplace.base.errors import IndexUnavailable
from commonplace.base.tuples import NamedTuple
from commonplace.language import rules
from commonplace.language.scripts import MOST
from commonplace.search.terms import idf

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

    from commonplace.index.base import Index
    from commonplace.search.ranking import Ranked
    from commonplace.search.terms import Terms

# From here a question counts as answered; what is injected unasked must reach it.
CLEAR = 1.2
# Below this not even the nearest passages are shown.
NOISE = 0.6
QUANTILE = 0.9  # of the null questions' scores
# The least score assumed for nonsense: in a memory of a few lines it gets no hit at all.
LEAST = 0.15
# The null questions are run again when the passages, or those with a vector, have become more or fewer by
# this share: at the next sync, or by a question.
GROWN, OUTGROWN = 0.1, 1.0
# Parts of a score that do not say how well a passage answers, or not with all that they add.
BESIDE = {"date": 0.5, "length": 1.0, "collection": 1.0, "words one by one": 1.0, "translated": 0.3}
# Unprompted recall needs rare terms: the words of a message count in full if they weigh as much as this many
# terms that occur once. *Thanks!* is in some passage literally, but no question. Of twenty such messages
# ten to fourteen had a clear hit in chats of three sets, and two to four do now; of the sets' own
# questions one in a hundred loses its hit.
TELLING = 3.0
META = "confidence"  # what the index notes: of how many passages, and the level of each kind of question
VERSION = 13  # raise it when the same notes would be scored otherwise


class Level(NamedTuple):
    """A score among the own passages, among reference collections, among own ones in Latin and in CJK."""

    own: float
    reference: float = 0.0
    latin: float = 0.0
    wide: float = 0.0

    @property
    def apart(self) -> float:
        """How much more it takes to stand out among the reference, as there is so much of it."""
        return max(0.0, self.reference - self.own)


Score = Callable[[str], Level]  # a question to the scores of its best passages


def questions(language: str) -> tuple[str, ...]:
    """Questions of a language that no memory answers."""
    return rules.lines(f"nulls.{language}.txt")


def telling(terms: Terms) -> float:
    """Tell how much of a question the terms of a message make, 0..1."""
    return min(1.0, terms.ideal / (TELLING * idf(1, terms.passages))) if terms.passages else 1.0


def best(ranked: Sequence[Ranked], reference: Collection[str], words: float = 1.0) -> Level:
    """The best scores by what the question asks, whatever the length and the collection, half by the day.

    `reference` are the collections that are not the owner's; `words` is how much of a passage's words counts.
    """
    scores = [0.0, 0.0, 0.0]
    for item in ranked:
        parts, own = item.parts, item.candidate
        kind = 2 if own.source.collection in reference else own.traits.wide > MOST
        beside = math.fsum(share * parts.get(name, 0.0) for name, share in BESIDE.items())
        beside += (1.0 - words) * max(0.0, parts.get("words", 0.0))
        scores[kind] = max(scores[kind], item.score - beside)
    latin, wide, other = scores
    return Level(max(latin, wide), other, latin, wide)


def of(scores: Level, level: Level) -> float:
    """How far the best passage stands out of its own kind; 1 is where one null question in ten stands."""
    return max(score / usual for score, usual in zip(scores, level, strict=True) if usual)


class Levels:
    """The scores of null questions in one index, by language and scorer; kept in the index."""

    def __init__(self, reference: Collection[str] = ()) -> None:
        """Start empty; `reference` names the collections that are not the owner's notes."""
        self._reference = sorted(reference)
        self._unkept: dict[str, Any] = {"amounts": (0, 0), "levels": {}}  # where the index cannot be written

    def get(self, index: Index, language: str, scorer: str) -> Level | None:
        """Return the level of null questions of a language; None if unknown or outdated."""
        level = self._read(index)["levels"].get(f"{language} {scorer}")
        return Level(*level) if level and not self.is_due(index, OUTGROWN) else None

    def is_due(self, index: Index, grown: float = GROWN) -> bool:
        """Tell whether the memory has changed by more than a share since its levels were measured."""
        pairs = zip(self._read(index)["amounts"], _amounts(index), strict=True)
        return any(abs(now - then) > grown * min(now, then) for then, now in pairs)

    def measure(self, index: Index, language: str, scorer: str, score: Score) -> Level:
        """Ask the null questions of a language and keep what they reach. Raises IndexUnavailable."""
        with index.transaction(write=False):
            scores = [score(text) for text in questions(language)]
        at = math.ceil(QUANTILE * len(scores)) - 1
        own, reference, latin, wide = (max(LEAST, sorted(each)[at]) for each in zip(*scores, strict=True))
        # The better of two scripts passes its level more often than either.
        more = max(1.0, sorted(max(one.latin / latin, one.wide / wide) for one in scores)[at])
        level = Level(*(round(one, 4) for one in (own, reference, more * latin, more * wide)))
        former = {} if self.is_due(index) else self._read(index)["levels"]
        levels = {**former, f"{language} {scorer}": level}
        self._unkept = {
            "version": VERSION,
            "amounts": _amounts(index),
            "reference": self._reference,
            "levels": levels,
        }
        with suppress(IndexUnavailable):  # a full disk or a lock
            if not index.readonly:
                index.meta[META] = json.dumps(self._unkept)
        return level

    def _read(self, index: Index) -> dict[str, Any]:
        """Return the levels recorded in the index for these collections; if invalid, those in memory."""
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            noted = json.loads(index.meta.get(META) or "{}")
            sums = [passages + vectors for passages, vectors in [noted["amounts"]]]
            whole = all(min(Level(*level)) > 0 for level in noted["levels"].values())
            if sums and whole and (noted["version"], noted["reference"]) == (VERSION, self._reference):
                return dict(noted)
        return self._unkept


def _amounts(index: Index) -> tuple[int, int]:
    """How many passages there are that are not struck, and about how many of them wait for no vector."""
    passages = index.frequencies(())[1]
    return passages, max(0, passages - index.vectors.pending())  # struck ones wait as well
