"""Questions into the past: what once stood beside what stands, or what held on a day and nothing later.

Struck text is found in a full text of its own, so that what it says changes no other question. Whatever it
scores, what replaced it stands before it (`order`).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.base.tuples import NamedTuple
from commonplace.index import facts
from commonplace.index.base import ALL, Has, HeldOn, Matches, Scope, WrittenBy
from commonplace.index.facts import Place
from commonplace.language import lexicon
from commonplace.search import ranking
from commonplace.search.terms import Terms, idf

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from commonplace.index.base import Candidate, Index

# BM25's k1 in FTS5, for passages that are taken to be of ordinary length.
SATURATION = 1.2
_CHAIN = 16  # replacements of replacements that are followed


class Replaced(NamedTuple):
    """What stands in the place of struck passages, for sure and perhaps."""

    surely: dict[int, list[set[int]]]
    perhaps: dict[int, list[set[int]]]


def cover(as_of: date | None, *, history: bool) -> Scope:
    """What a question into the past keeps to: what held on a day, or, with history, was written by then.

    Long-term memory has no day of its own; what has none holds always.
    """
    if as_of is None:
        return ALL
    day = as_of.isoformat()
    written = Scope((WrittenBy(day),))
    return written if history else written & HeldOn(day)


# --- what is found --------------------------------------------------------------------------------------


def words(index: Index, expression: str, terms: Terms, covered: Scope, header: float) -> dict[int, float]:
    """BM25 of struck passages that match, about: as if they stood among the others, of ordinary length.

    In a full text of their own no term would be rare. Of a question that demands a match every match is full.
    """
    if not expression:
        return {}
    full = 0.0 if terms.wanted else 1.0
    found = dict.fromkeys(_matching(index, expression, covered), full)
    for term, count in terms.wanted.items() if found else ():
        sought = lexicon.sought(term)
        heavy = dict.fromkeys(_matching(index, f"body : ({sought})", ALL), 1.0)
        for passage in _matching(index, f"header : ({sought})", ALL):
            heavy[passage] = heavy.get(passage, 0.0) + header
        weight = idf(count, terms.passages)
        for passage in heavy.keys() & found.keys():
            frequency = heavy[passage]
            found[passage] += weight * frequency * (SATURATION + 1) / (frequency + SATURATION)
    return found


def _matching(index: Index, expression: str, covered: Scope) -> list[int]:
    return index.select(covered & Has("until") & Matches(expression), struck=True)


# --- what is known of it --------------------------------------------------------------------------------


def replaced(
    index: Index,
    candidates: Sequence[Candidate],
    allow: Callable[[set[int]], set[int]],
    *,
    rest: bool = True,
) -> tuple[list[Candidate], Replaced]:
    """The candidates with what replaced the struck ones among them, and which that is.

    `allow` says which passages a question admits; what replaces may have been replaced in turn. With `rest`
    what is left of a line stands in the place of the whole.
    """
    found = {candidate.id: candidate for candidate in candidates}
    known = Replaced({}, {})
    added = candidates
    for _ in range(_CHAIN):
        places = [row for one in added if one.until is not None for row in _places(index, one, rest)]
        if not places:
            break
        standing = _standing(index, places)
        admitted = allow(set().union(*standing) - found.keys())
        added = index.passages(sorted(admitted))
        found |= {candidate.id: candidate for candidate in added}
        for (own, surely, *_), passages in zip(places, (ids & found.keys() for ids in standing), strict=True):
            if passages:
                (known.surely if surely else known.perhaps).setdefault(own, []).append(passages)
    return list(found.values()), known


def _places(index: Index, own: Candidate, rest: bool) -> Iterable[tuple[int, bool, bool, Place]]:
    """Where what replaced a passage stands: id, whether for sure, whether struck text counts, the place."""
    said = ranking.said(own)
    if rest:
        yield own.id, True, False, Place(own.note_id, own.start_line, own.end_line)
    for key in ("replaced-by", "beside"):
        if key in said:
            first, _, last = said[key].partition("-")
            yield own.id, key == "replaced-by", True, Place(own.note_id, int(first), int(last))
    if reference := said.get("superseded-by"):
        for place in facts.places(index, [reference]).get(reference, ()):
            yield own.id, True, True, place


def _standing(index: Index, told: Sequence[tuple[int, bool, bool, Place]]) -> list[set[int]]:
    """The passages of places; struck ones only where nothing else stands there, if they count at all."""
    rows = _of_places(index, [place for *_, place in told])
    found: list[set[int]] = []
    for (own, _, gone, _), passages in zip(told, rows, strict=True):
        stands = {passage for passage, until in passages if until is None}
        others = {passage for passage, _ in passages if gone and not stands}
        found.append((stands or others) - {own})
    return found


def _of_places(index: Index, places: Sequence[Place]) -> list[list[tuple[int, str | None]]]:
    """The passages of each place, and until when they held."""
    found = [index.select(Scope((place.lines,)), struck=True) for place in places]
    until = {row.id: row.until for row in index.passages({passage for ids in found for passage in ids})}
    return [[(passage, until[passage]) for passage in ids] for ids in found]


# --- as it was told then --------------------------------------------------------------------------------


def as_it_stood(index: Index, candidates: Sequence[Candidate], covered: Scope) -> list[Candidate]:
    """Candidates as they stood on the day that they are covered for.

    What was struck later bears no marks yet, and what replaces something later supersedes nothing yet.
    """
    named = {
        reference
        for candidate in candidates
        if candidate.until is None and (reference := ranking.said(candidate).get("superseded-by"))
    }
    later = {reference for reference in named if _is_later(index, reference, covered)}
    return [_then(candidate, later) for candidate in candidates]


def _is_later(index: Index, reference: str, covered: Scope) -> bool:
    """Whether what a reference names is known, and came after the day."""
    places = facts.places(index, [reference]).get(reference, ())
    passages = {
        passage for rows in _of_places(index, list(places)) for passage, until in rows if until is None
    }
    return bool(passages) and not facts.within(index, passages, covered)


def _then(candidate: Candidate, later: Collection[str]) -> Candidate:
    if candidate.until is not None:
        from commonplace.markdown import struck

        lines = candidate.text.split("\n")
        return candidate._replace(text="\n".join(struck.plain(line) or line for line in lines))
    said: dict[str, Any] = dict(ranking.said(candidate))
    if said.get("superseded-by") not in later:
        return candidate
    del said["superseded-by"]
    return candidate._replace(annotations=json.dumps(said, ensure_ascii=False) if said else None)
