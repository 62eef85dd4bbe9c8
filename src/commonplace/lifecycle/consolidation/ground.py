"""What the labels of a plan stand for now: entries and sources that are found again by their words."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING

from commonplace.lifecycle.consolidation import candidates, recalled, sameness
from commonplace.lifecycle.consolidation.candidates import Candidate
from commonplace.lifecycle.consolidation.checks import Accepted
from commonplace.lifecycle.consolidation.standing import Entry, Page
from commonplace.revision import contradictions as opposed

if TYPE_CHECKING:
    from commonplace.history.applying import Read
    from commonplace.memory import Memory

# Who tells of a decision says nothing against an entry.
_LEAD = re.compile(
    r"\A(?:(?:we|i|the team) )?(?:decided|agreed)(?: that| to)?:?\s+|\A(?:我们)?(?:决定|商定|约定)[：:]?",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A statement of the notes and an entry that says something else, which the plan left as they are."""

    candidate: Candidate
    entry: Entry


def targets(then: Page, now: Page) -> dict[str, Entry]:
    """The entries that labels meant when the plan was asked for, as they stand now: by their words."""
    if then is now:
        return {entry.label: entry for entry in now.labelled}
    found: dict[str, Entry] = {}
    standing: dict[tuple[str, str], list[Entry]] = {}
    for other in now.labelled:
        standing.setdefault((other.text, other.section), []).append(other)
    for entry in then.labelled:
        same = standing.get((entry.text, entry.section), [])
        at = bisect_left(same, entry.statement.first, key=lambda other: other.statement.first)
        near = same[max(0, at - 1) : at + 1]
        if near:
            nearest = min(near, key=lambda other: abs(other.statement.first - entry.statement.first))
            found[entry.label] = nearest
            same.remove(nearest)
    return found


def sources(memory: Memory, shown: Sequence[Candidate], today: date, read: Read) -> dict[str, Candidate]:
    """The candidates that labels meant when the plan was asked for, as they stand now: by their words."""
    often, strange = recalled.often(memory), candidates.strange_sessions(memory)
    fresh: dict[str, list[Candidate]] = {}
    found: dict[str, Candidate] = {}
    for candidate in shown:
        path = candidate.statement.path
        if path not in fresh:
            data = read(path)
            fresh[path] = []
            if data is not None:
                fresh[path] = candidates.of_note(path, data, candidate.day, today, often, strange)
        same = [other for other in fresh[path] if other.text == candidate.text]
        if same:
            found[candidate.label] = min(
                same, key=lambda other: abs(other.statement.first - candidate.statement.first)
            )
    return found


def contradictions(
    page: Page, found: Iterable[Candidate], accepted: Sequence[Accepted]
) -> list[Contradiction]:
    """What the notes and entries say against each other, and no operation resolves."""
    replaced = {target.statement.first for item in accepted for target in item.targets}
    left = {entry.statement.first: entry for entry in page.labelled if entry.statement.first not in replaced}
    statements = [entry.statement for entry in left.values()]
    return [
        Contradiction(candidate, left[other.first])
        for candidate in found
        for other in opposed.between(_LEAD.sub("", candidate.text), statements)
        if sameness.about_one_thing(candidate.text, other.text)
    ]
