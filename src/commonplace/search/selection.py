"""The end of a search: a ranking cut to the hits wanted, no answer twice, each as it is given back."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from commonplace.index.sqlite import Source, SqliteIndex
from commonplace.search import diversity, factors
from commonplace.search import references as places
from commonplace.search.diversity import Entry, Statement
from commonplace.search.ranking import Ranked
from commonplace.types.results import Factor, Hit, Place

if TYPE_CHECKING:
    from datetime import date

    from commonplace.search.as_of import Successors

SHOWN = 5e-5  # a factor that would print as 0.0000 explains nothing


class Wanted(NamedTuple):
    """How many hits, from what score on, how much relevance counts beside variety, the question's words.

    `now` is the day that labels are told from, `replaced` what stands in the place of struck passages, by id.
    """

    limit: int
    least: float | None
    diversity: float
    asked: frozenset[str]
    now: date | None = None
    replaced: Successors = MappingProxyType({})


def select(index: SqliteIndex, ranked: Sequence[Ranked], wanted: Wanted) -> list[Hit]:
    """Return the best hits, one for all passages that say the same."""
    least = wanted.least if wanted.least else -math.inf  # a weak passage may score below 0
    known = index.manifest
    entries = _entries(index, [item for item in ranked if item.score >= least], wanted.limit)
    groups = diversity.gather(entries, wanted.limit, wanted.asked)
    statements = [
        diversity.tell(group, lambda source: known()[source.collection, source.path].mtime_ns)
        for group in groups
    ]
    chosen = diversity.spread(statements, wanted.diversity)
    if wanted.replaced and wanted.diversity < 1:
        chosen = _in_order(chosen, wanted.replaced)
    return [
        _hit(one.shown.item, one.shown.source, wanted.now, one.others)
        for one in chosen[: wanted.limit]
        if one.shown.item.score >= least
    ]


def _in_order(chosen: Sequence[Statement], replaced: Successors) -> list[Statement]:
    """Statements with what replaces struck text before it again, whatever variety made of that."""
    from commonplace.search import as_of

    shown = {one.shown.item.candidate.id: one for one in chosen}
    of_all = {other.item.candidate.id: one.shown.item.candidate.id for one in chosen for other in one.others}
    known = {
        own: [{of_all.get(other, other) for other in others} for others in places]
        for own, places in replaced.items()
    }
    found = as_of.in_order([one.shown.item for one in chosen], known)
    return [
        shown[item.candidate.id]._replace(shown=shown[item.candidate.id].shown._replace(item=item))
        for item in found
    ]


def listed(index: SqliteIndex, kept: Sequence[Ranked], now: date | None = None) -> list[Hit]:
    """Return every passage as a hit of its own."""
    sources = index.sources([item.candidate.id for item in kept])
    return [_hit(item, sources[item.candidate.id], now) for item in kept]


def _entries(index: SqliteIndex, ranked: Sequence[Ranked], limit: int) -> Iterator[Entry]:
    """Candidates with what they say, read as far as they are asked for."""
    step = max(1, diversity.HEAD * limit)
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        sources = index.sources([item.candidate.id for item in batch])
        yield from (diversity.entry(item, sources[item.candidate.id]) for item in batch)


def _hit(ranked: Ranked, source: Source, now: date | None, others: Sequence[Entry] = ()) -> Hit:
    candidate = ranked.candidate
    own = factors.said(candidate)
    score = min(1.0, max(0.0, ranked.score))
    parts = {**ranked.parts, "cap": score - ranked.score}  # so that the factors add up to what is shown
    return Hit(
        path=source.path,
        start_line=candidate.start_line,
        end_line=candidate.end_line,
        text=candidate.text,
        score=score,
        title=source.title,
        headings=source.headings,
        date=source.date,
        collection=source.collection,
        docid=source.docid,
        factors=tuple(Factor(name, value) for name, value in parts.items() if abs(value) >= SHOWN),
        labels=factors.labels(own, lambda: now or _today()) if own else (),
        others=tuple(_place(other) for other in others),
        until=candidate.until or None,
    )


def _today() -> date:
    from datetime import date

    return date.today()


def _place(other: Entry) -> Place:
    path = places.shown(other.source.collection, other.source.path)
    candidate = other.item.candidate
    return Place(path, candidate.start_line, candidate.end_line, other.source.date)
