"""The order of hits: a ranking cut to what is asked for, no answer twice, what is alike kept apart."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from commonplace.base import filetypes
from commonplace.index.base import Index, Source
from commonplace.language import compare
from commonplace.language.compare import Wording
from commonplace.search import factors, references
from commonplace.search.ranking import Ranked
from commonplace.types.results import Factor, Hit, Place

if TYPE_CHECKING:
    from datetime import date

    from commonplace.search.as_of import Successors

# As many candidates as this for each hit wanted are compared; more only while hits are missing.
HEAD = 2
TRANSCRIPT = "session"  # the kind of note that is one; any other tells an event better
EVENT_DAYS = 1  # what was said late is written down the day after
SHOWN = 5e-5  # a factor that would print as 0.0000 explains nothing


class Entry(NamedTuple):
    """A ranked passage, the note it stands in, and what it says."""

    item: Ranked
    source: Source
    said: Wording

    @property
    def is_transcript(self) -> bool:
        """Whether it stands in a transcript."""
        return self.source.kind == TRANSCRIPT

    @property
    def is_struck(self) -> bool:
        """Whether it once stood."""
        return self.item.candidate.until is not None

    @property
    def headings(self) -> tuple[str, ...]:
        """What the passage stands under, the note's title included."""
        return (self.source.title, *self.source.headings)


class Statement(NamedTuple):
    """Passages that say the same: the one that is shown, with the score of the best, and the others."""

    shown: Entry
    others: tuple[Entry, ...] = ()


def entry(item: Ranked, source: Source) -> Entry:
    """Read what a candidate says; of a program every character counts."""
    text = item.candidate.text
    return Entry(item, source, compare.verbatim(text) if filetypes.of(source.path) else compare.read(text))


# --- the same said twice --------------------------------------------------------------------------------


def gather(ranked: Iterable[Entry], limit: int, asked: frozenset[str] = frozenset()) -> list[list[Entry]]:
    """Group passages that say the same, best group first, until there are `limit` groups.

    Every note of a group says what every other does, and its transcripts tell of that, one of their days. Of
    several passages of the same lines one is kept. `asked` are the words of the question.
    """
    groups: list[list[Entry]] = []
    places: set[tuple[int, int, int, bool]] = set()
    twins: dict[object, list[Entry]] = {}  # notes; so that of a hundred copies each is compared once
    for count, one in enumerate(ranked):
        if count >= HEAD * limit and len(groups) >= limit:
            break
        candidate = one.item.candidate
        place = (candidate.note_id, candidate.start_line, candidate.end_line, one.is_struck)
        if place in places:
            continue
        places.add(place)
        key = (one.said.tokens, one.headings, one.is_struck)
        if one.is_transcript or not one.said.tokens:
            _join(groups, one, asked)
        elif key in twins:
            twins[key].append(one)
        else:
            twins[key] = _join(groups, one, asked)
    return sorted(groups, key=lambda group: -max(one.item.score for one in group))


def _join(groups: list[list[Entry]], one: Entry, asked: frozenset[str]) -> list[Entry]:
    """Put a passage into the group it belongs to; a note takes along all transcripts of what it tells."""
    # Nearly all pairs of notes are told apart by what costs next to nothing; transcripts are rare.
    own = [
        group
        for group in groups
        if (one.is_transcript or group[0].is_transcript or compare.may_be_same(one.said, group[0].said))
        and _belongs(one, group, asked)
    ]
    own.sort(key=lambda group: not _notes(group))
    if not own:
        groups.append([one])
        return groups[-1]
    joined = own[0]
    joined.append(one)
    if not one.is_transcript:
        for group in own[1:]:
            if not _notes(group) and all(_is_told(other, _notes(joined)) for other in group):
                joined.extend(group)
                groups[:] = [left for left in groups if left is not group]
    return joined


def _belongs(one: Entry, group: Sequence[Entry], asked: frozenset[str]) -> bool:
    """Whether a passage says what a group says."""
    notes = _notes(group)
    if one.is_transcript:
        return _is_told(one, notes) if notes else all(_is_same(one, other, asked) for other in group)
    return all(_is_same(one, other, asked) for other in notes) and all(
        _is_told(other, [*notes, one]) for other in group if other.is_transcript
    )


def _notes(group: Sequence[Entry]) -> list[Entry]:
    return [one for one in group if not one.is_transcript]


def _is_same(one: Entry, other: Entry, asked: frozenset[str]) -> bool:
    if one.is_struck is not other.is_struck:  # what replaces something may hardly differ from it
        return False
    return compare.same(one.said, other.said) and compare.agree(one.headings, other.headings, one.said, asked)


def _is_told(transcript: Entry, notes: Sequence[Entry]) -> bool:
    """Whether notes, which say the same, tell what a transcript holds."""
    said = transcript.said
    return any(_same_days(note.source.date, transcript.source.date) for note in notes) and all(
        compare.same(note.said, said) or compare.same_event(note.said, said) for note in notes
    )


def _same_days(one: str | None, other: str | None) -> bool:
    if one is None or other is None:
        return False
    from datetime import date

    return abs((date.fromisoformat(one) - date.fromisoformat(other)).days) <= EVENT_DAYS


def tell(group: Sequence[Entry], modified: Callable[[Source], int]) -> Statement:
    """Choose what is shown of a group: the newest, with the score of the best.

    A note comes before a transcript, and one of the days that the question names before a newer one;
    `modified` says when a file was last changed, in ns, which decides within a day.
    """
    if len(group) == 1:
        return Statement(group[0])

    def age(one: Entry) -> tuple[bool, float, str, int, int]:
        named = one.item.parts.get("date", 0.0)
        line = one.item.candidate.start_line
        return (not one.is_transcript, named, one.source.date or "", modified(one.source), line)

    newest = max(group, key=age)
    best = max(one.item.score for one in group)
    shown = newest._replace(item=adjusted(newest.item, "said again", best - newest.item.score))
    return Statement(shown, tuple(sorted((one for one in group if one is not newest), key=age, reverse=True)))


def adjusted(item: Ranked, part: str, value: float) -> Ranked:
    """A candidate with a part more in its score."""
    if not value:
        return item
    return item._replace(score=item.score + value, parts={**item.parts, part: value})


# --- what is alike --------------------------------------------------------------------------------------


def spread(statements: Sequence[Statement], share: float) -> list[Statement]:
    """Order statements by relevance less likeness to those before them (MMR), scores never rising.

    `share` is the lambda of Carbonell and Goldstein, SIGIR 1998: 1 leaves the order as it is. Their
    lambda * score - (1 - lambda) * likeness is divided by lambda, so that what is like nothing keeps its
    score. Likeness only grows with each choice, so no later choice can be worth more.
    """
    if share >= 1:
        return list(statements)
    factor = (1 - share) / max(share, 0.01)
    words = [compare.content(one.shown.said.tokens) for one in statements]
    likeness = [0.0] * len(statements)
    left = list(range(len(statements)))
    chosen: list[Statement] = []
    while left:
        best = max(left, key=lambda n: (statements[n].shown.item.score - factor * likeness[n], -n))
        left.remove(best)
        chosen.append(_less(statements[best], factor * likeness[best]))
        for other in left:
            likeness[other] = max(likeness[other], _likeness(words[best], words[other]))
    return chosen


def _less(statement: Statement, penalty: float) -> Statement:
    shown = statement.shown
    return statement._replace(shown=shown._replace(item=adjusted(shown.item, "diversity", -penalty)))


def _likeness(one: set[str], other: set[str]) -> float:
    """Share of their telling words that two texts have in common, 0..1."""
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared) if shared else 0.0


# --- hits ---------------------------------------------------------------------------------------------


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


def select(index: Index, ranked: Sequence[Ranked], wanted: Wanted) -> list[Hit]:
    """Return the best hits, one for all passages that say the same."""
    least = wanted.least if wanted.least else -math.inf  # a weak passage may score below 0
    known = index.manifest
    entries = _entries(index, [item for item in ranked if item.score >= least], wanted.limit)
    groups = gather(entries, wanted.limit, wanted.asked)
    statements = [
        tell(group, lambda source: known()[source.collection, source.path].mtime_ns)
        for group in groups
    ]
    chosen = spread(statements, wanted.diversity)
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


def listed(index: Index, kept: Sequence[Ranked], now: date | None = None) -> list[Hit]:
    """Return every passage as a hit of its own."""
    sources = index.sources([item.candidate.id for item in kept])
    return [_hit(item, sources[item.candidate.id], now) for item in kept]


def _entries(index: Index, ranked: Sequence[Ranked], limit: int) -> Iterator[Entry]:
    """Candidates with what they say, read as far as they are asked for."""
    step = max(1, HEAD * limit)
    for start in range(0, len(ranked), step):
        batch = ranked[start : start + step]
        sources = index.sources([item.candidate.id for item in batch])
        yield from (entry(item, sources[item.candidate.id]) for item in batch)


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
    from datetime import date  # only labels need it, and a search from the shell starts without

    return date.today()


def _place(other: Entry) -> Place:
    path = references.shown(other.source.collection, other.source.path)
    candidate = other.item.candidate
    return Place(path, candidate.start_line, candidate.end_line, other.source.date)
