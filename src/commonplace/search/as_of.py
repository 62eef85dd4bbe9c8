"""Questions into the past: struck text as well as standing text (`history`), or the text of a day (`as_of`).

Struck text has a full-text table of its own, so that it changes no other question. Its replacement ranks
before it, whatever the scores (`order`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from commonplace.base.tuples import NamedTuple
from commonplace.index import facts
from commonplace.index.base import ALL, Has, HeldOn, Matches, Scope, WrittenBy
from commonplace.index.facts import LinkTarget
from commonplace.language import lexicon
from commonplace.search import ranking
from commonplace.search.terms import Terms, idf

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import date

    from commonplace.index.base import Candidate, Index

_CHAIN = 16  # replacements of replacements that are followed


class Replaced(NamedTuple):
    """The replacements of struck passages, by the id of these: certain ones and possible ones."""

    surely: dict[int, list[set[int]]]
    perhaps: dict[int, list[set[int]]]


def cover(as_of: date | None, *, history: bool) -> Scope:
    """Return the scope of a question into the past: text that held on a day; with history, written by then.

    Long-term memory has no day of its own; text without a day holds always.
    """
    if as_of is None:
        return ALL
    day = as_of.isoformat()
    written = Scope((WrittenBy(day),))
    return written if history else written & HeldOn(day)


def words(index: Index, expression: str, terms: Terms, covered: Scope) -> dict[int, float]:
    """BM25 of struck passages that match, about: as if each of their terms stood once in ordinary length.

    In a full text of their own no term would be rare. Of a question that demands a match every match is full.
    """
    if not expression:
        return {}
    struck = covered & Has("until")
    matching = index.select(struck & Matches(expression), struck=True)
    found = dict.fromkeys(matching, 0.0 if terms.wanted else 1.0)
    for term, count in terms.wanted.items() if found else ():
        holding = index.select(struck & Matches(lexicon.sought(term)), struck=True)
        for passage in found.keys() & set(holding):
            found[passage] += idf(count, terms.passages)
    return found


def replaced(
    index: Index,
    candidates: Sequence[Candidate],
    allow: Callable[[set[int]], set[int]],
    *,
    rest: bool = True,
) -> tuple[list[Candidate], Replaced]:
    """The candidates with the replacements of the struck ones among them, and which these are.

    `allow` filters the passages that a question admits; a replacement may have been replaced in turn. With
    `rest` the rest of a struck line replaces the whole.
    """
    found = {candidate.id: candidate for candidate in candidates}
    known = Replaced({}, {})
    added = candidates
    for _ in range(_CHAIN):
        rows = [
            (own.id, surely, passages)
            for own in added
            if own.until is not None
            for surely, passages in _replacements(index, own, rest)
        ]
        if not rows:
            break
        further = {passage for *_, passages in rows for passage in passages} - found.keys()
        added = index.passages(sorted(allow(further)))
        found |= {candidate.id: candidate for candidate in added}
        for own, surely, passages in rows:
            if admitted := passages & found.keys():
                (known.surely if surely else known.perhaps).setdefault(own, []).append(admitted)
    return list(found.values()), known


def _replacements(index: Index, own: Candidate, rest: bool) -> Iterator[tuple[bool, set[int]]]:
    """Yield the passages of each replacement of a struck passage, and whether it is certain."""
    said = ranking.said(own)
    if rest:
        yield True, _passages(index, LinkTarget(own.note_id, own.start_line, own.end_line)) - {own.id}
    places = []
    for key in ("replaced-by", "beside"):
        if key in said:
            first, _, last = said[key].partition("-")
            places.append((key == "replaced-by", LinkTarget(own.note_id, int(first), int(last))))
    if reference := said.get("superseded-by"):
        places += [(True, place) for place in facts.places(index, [reference]).get(reference, ())]
    for surely, place in places:
        yield surely, _passages(index, place, struck=True) - {own.id}


def _passages(index: Index, place: LinkTarget, *, struck: bool = False) -> set[int]:
    """The standing passages of a place; with `struck`, its struck passages if no other is left."""
    rows = index.passages(index.select(Scope((place.lines,)), struck=True))
    standing = {row.id for row in rows if row.until is None}
    return standing or {row.id for row in rows if struck}


def as_it_stood(index: Index, candidate: Candidate, covered: Scope) -> Candidate:
    """Return a candidate as it stood on the day that it is covered for.

    Text that was struck later has no marks yet; later replacements do not count yet.
    """
    if candidate.until is not None:
        from commonplace.markdown import struck

        lines = candidate.text.split("\n")
        return candidate._replace(text="\n".join(struck.plain(line) or line for line in lines))
    said: dict[str, Any] = dict(ranking.said(candidate))
    reference = said.pop("superseded-by", "")
    places = facts.places(index, [reference]).get(reference, ()) if reference else ()
    newer = {passage for place in places for passage in _passages(index, place)}
    if not newer or facts.within(index, newer, covered):
        return candidate
    return candidate._replace(annotations=json.dumps(said, ensure_ascii=False) if said else None)
