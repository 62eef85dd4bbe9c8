"""What a memory was asked and what came of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from commonplace.types.listings import NoteInfo


@dataclass(frozen=True, slots=True)
class UsageDay:
    """What was asked and read on one day (YYYY-MM-DD, here)."""

    date: str
    searches: int = 0
    recalls: int = 0
    gets: int = 0


@dataclass(frozen=True, slots=True)
class NoteUse:
    """How many questions found a note, and how many of those were followed by a `get` of it."""

    path: str
    found: int
    opened: int = 0


@dataclass(frozen=True, slots=True)
class Unanswered:
    """A question that found nothing, without secrets and private parts: how often, and on which day last."""

    question: str
    times: int
    last: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the record of a workspace says of some days.

    `since` is the day it begins, None for an empty one. `answered` questions had a hit, `opened` ones a hit
    that `get` read within half an hour. `opened_ranks` says where those hits stood: how many at each rank.
    `tokens` were given, `all_tokens` would have been read with all notes each time. `levels` counts the
    questions that each level answered. `never_found` holds notes that no question found since the record
    began, of those not changed since. `missed` could not be recorded.
    """

    recording: bool
    store: str
    since: str | None = None
    days: tuple[UsageDay, ...] = ()
    answered: int = 0
    opened: int = 0
    opened_ranks: Mapping[int, int] | None = None
    median_ms: float = 0.0
    tokens: int = 0
    all_tokens: int = 0
    levels: Mapping[int, int] | None = None
    most_found: tuple[NoteUse, ...] = ()
    most_opened: tuple[NoteUse, ...] = ()
    unanswered: tuple[Unanswered, ...] = ()
    never_found: tuple[NoteInfo, ...] = ()
    missed: int = 0

    @property
    def questions(self) -> int:
        """How many searches and recalls there were."""
        return sum(day.searches + day.recalls for day in self.days)

    @property
    def reciprocal_rank(self) -> float:
        """The mean of 1/rank over the questions with an opened hit: 1 where it was always the first."""
        ranks = self.opened_ranks or {}
        return sum(count / rank for rank, count in ranks.items()) / max(1, sum(ranks.values()))
