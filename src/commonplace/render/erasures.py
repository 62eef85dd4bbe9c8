"""What a forgetting removes, cannot reach, and still finds, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from commonplace import screen
from commonplace.render.results import count
from commonplace.screen import PLAIN, Look
from commonplace.types.erasure import Erased, Erasure, Unreachable

_NAMES = {
    "notes": "notes",
    "links": "links to notes",
    "transcripts": "transcripts",
    "spool": "entries that wait",
    "history": "the record of changes",
    "usage": "the record of use",
    "answers": "answers of language models",
    "vectors": "vectors of models",
    "index": "the index",
    "marks": "marks of sessions",
    "logs": "logs",
    "leftovers": "temporary files",
    "foreign": "records that were set aside",
    "requests": "what agents asked for",
    "copies": "what is kept of the last writes",
}
_SAID = ("notes", "transcripts", "spool")
_SHOWN = 100  # cells of a line of a note
_MOST = 200  # places of notes that are shown one by one


def erasure_text(erasure: Erasure, look: Look = PLAIN) -> str:
    """Return what goes or went: notes line by line, other stores by their counts, then what is left to do."""
    lines = [*_notes(erasure.places, look), *_links(erasure.places), *_stores(erasure.places)]
    if erasure.unreachable:
        lines += ["", look.style("cannot be reached from here:", "bold"), *_beyond(erasure.unreachable, look)]
    if erasure.left:
        lines += ["", look.style("still found:", "bold")]
        for trace in erasure.left:
            lines += _wrapped(f"{trace.path}: {trace.remedy or 'look there'}", look)
    return "\n".join(lines)


def erasure_data(erasure: Erasure) -> dict[str, object]:
    """Return it as JSON has it."""
    return {
        "dry_run": erasure.dry_run,
        "complete": erasure.complete,
        "run": erasure.run.id if erasure.run else None,
        "places": [asdict(place) | {"citation": place.citation} for place in erasure.places],
        "unreachable": [asdict(one) for one in erasure.unreachable],
        "left": [asdict(trace) for trace in erasure.left],
    }


def _notes(places: Sequence[Erased], look: Look) -> Iterator[str]:
    notes = [place for place in places if place.where == "notes"]
    width = _SHOWN if look.width is None else min(_SHOWN, look.width - 2)
    for place in notes[:_MOST]:
        yield look.style(place.citation, "bold")
        for line in place.text.splitlines():
            if line.strip():
                yield f"  {screen.shorten(screen.one_line(line), width)}"
    if len(notes) > _MOST:
        yield f"and {len(notes) - _MOST} more places in notes"


def _links(places: Sequence[Erased]) -> Iterator[str]:
    for place in places:
        if place.where == "links":
            yield screen.one_line(f"{place.path} is a link to {place.text}")


def _stores(places: Sequence[Erased]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for place in places:
        if place.where not in ("notes", "links"):
            name = f"{_NAMES[place.where]} ({place.path})"
            counts[name] = counts.get(name, 0) + place.count
    for name, number in counts.items():
        yield f"{name}: {number}"


def _beyond(unreachable: Sequence[Unreachable], look: Look) -> Iterator[str]:
    for one in unreachable:
        yield from _wrapped(f"{one.what}: {one.remedy}", look)


def _wrapped(text: str, look: Look) -> Iterator[str]:
    """A line below a title: on a terminal as many rows as it needs, elsewhere whole."""
    line = screen.one_line(text)
    rows = screen.rows(line, look.width - 2, 2) if look.width else [(0, len(line))]
    for start, end in rows:
        yield f"{'    ' if start else '  '}{line[start:end]}"


def erasure_count(places: Sequence[Erased]) -> str:
    """How much it is as a person counts: what notes, transcripts and entries say; the rest is made of it."""
    said = sum(place.count for place in places if place.where in _SAID)
    made = any(place.where not in _SAID for place in places)
    if not said:
        return "what was made from it"
    told = count(said, "place")
    return f"{told} and what was made from {'it' if said == 1 else 'them'}" if made else told
