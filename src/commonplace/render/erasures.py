"""What a forgetting removes, cannot reach, and still finds, as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict

from commonplace import screen
from commonplace.screen import PLAIN, Look
from commonplace.types.erasure import Erased, Erasure, Unreachable

_NAMES = {
    "notes": "notes",
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
}
_SHOWN = 100  # cells of a line of a note
_MOST = 200  # places of notes that are shown one by one


def erasure_text(erasure: Erasure, look: Look = PLAIN) -> str:
    """Return what goes or went: notes line by line, other stores by their counts, then what is left to do."""
    lines = [*_notes(erasure.places, look), *_stores(erasure.places)]
    if erasure.unreachable:
        lines += ["", look.style("cannot be reached from here:", "bold"), *map(_beyond, erasure.unreachable)]
    if erasure.left:
        lines += ["", look.style("still found:", "bold")]
        lines += [
            f"  {screen.one_line(trace.path)}: {trace.remedy or 'look there'}" for trace in erasure.left
        ]
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
    for place in notes[:_MOST]:
        yield look.style(place.citation, "bold")
        for line in place.text.splitlines():
            if line.strip():
                yield f"  {screen.shorten(screen.one_line(line), _SHOWN)}"
    if len(notes) > _MOST:
        yield f"and {len(notes) - _MOST} more places in notes"


def _stores(places: Sequence[Erased]) -> Iterator[str]:
    counts: dict[str, int] = {}
    for place in places:
        if place.where != "notes":
            name = f"{_NAMES[place.where]} ({place.path})"
            counts[name] = counts.get(name, 0) + place.count
    for name, count in counts.items():
        yield f"{name}: {count}"


def _beyond(one: Unreachable) -> str:
    return f"  {screen.one_line(one.what)}: {one.remedy}"
