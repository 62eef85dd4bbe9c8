"""What notes say of themselves, as parts of a score: how important, whose project, how far to be trusted.

Each is a sum, not a product: scores are absolute, so what a note says of itself counts the same for a strong
hit and a weak one, and cannot lift what hardly answers over what does. All but the last two are smaller than
the difference between answering and not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from commonplace.chunking.settings import STRUCK

if TYPE_CHECKING:
    from datetime import date

    from commonplace.index.base import Candidate
    from commonplace.index.facts import Place
    from commonplace.search.ranking import Ranked

# For each point above or below 5: from -.04 to .05, half of what a named speaker counts. Others multiply by
# 0.75 + 0.05 x importance, which is .05 x the score.
IMPORTANCE, NEUTRAL = 0.01, 5
# Notes of the project at hand, and of another one: a nudge between passages that answer alike.
PROJECT, OTHER_PROJECT = 0.05, -0.03
TENTATIVE = -0.05  # a guess, behind what is known if both answer alike
# About what the best hit is above the tenth: what no longer holds stands behind all that does.
OUTDATED = -0.25
# Who wrote it: the owner, and notes that do not say, count nothing.
WRITERS = {"agent": -0.01, "tool": -0.05, "untrusted": -0.05}
LABELLED = {"tool": "untrusted", "untrusted": "untrusted"}
# What a trigger adds at least; more where another hit would stand above it.
TRIGGER = 0.3
TRIGGERED, TRIGGERED_CHARACTERS = 3, 1800  # entries a question, and their text together
# Keeps what is superseded below what replaces it, where that alone decides.
TIE = 1e-6


def said(candidate: Candidate) -> Mapping[str, str]:
    """What a note says of a passage."""
    return json.loads(candidate.annotations) if candidate.annotations else {}


def parts(own: Mapping[str, str], project: str, today: Callable[[], date]) -> dict[str, float]:
    """What each of a passage's annotations adds to its score; `project` is the one at hand, if any."""
    found: dict[str, float] = {}
    if "importance" in own:
        found["importance"] = IMPORTANCE * (int(own["importance"]) - NEUTRAL)
    if project and "project" in own:
        found["project"] = PROJECT if own["project"].casefold() == project.casefold() else OTHER_PROJECT
    if own.get("status") == "tentative":
        found["tentative"] = TENTATIVE
    if outdated := _outdated(own, today):
        found[outdated] = OUTDATED
    if "by" in own:
        found["by"] = WRITERS.get(own["by"], 0.0)
    return found


def labels(own: Mapping[str, str], today: Callable[[], date]) -> tuple[str, ...]:
    """What a reader must know of a passage: `struck`, `superseded` or `expired`, `tentative`, `untrusted`."""
    struck = STRUCK if STRUCK in own else ""
    tentative = "tentative" if own.get("status") == "tentative" else ""
    told = struck, _outdated(own, today), tentative, LABELLED.get(own.get("by", ""), "")
    return tuple(filter(None, told))


def _outdated(own: Mapping[str, str], today: Callable[[], date]) -> str:
    """The word for what no longer holds though it stands, or nothing."""
    if STRUCK in own:
        return ""  # found only by those who ask for it, and below what replaced it whatever it scores
    if own.get("status") == "superseded" or "superseded-by" in own:
        return "superseded"
    until = own.get("valid-until")
    return "expired" if until and until < today().isoformat() else ""


# --- entries with a trigger -----------------------------------------------------------------------------


def chosen(ranked: Sequence[Ranked], triggered: Iterable[int], today: Callable[[], date]) -> set[int]:
    """Which of the passages whose trigger is in the question are put first: the best few that still hold."""
    wanted, room = set(triggered), TRIGGERED_CHARACTERS
    found: set[int] = set()
    for item in ranked if wanted else ():
        own = item.candidate
        if own.id not in wanted or len(own.text) > room or _outdated(said(own), today):
            continue
        found.add(own.id)
        room -= len(own.text)
        if len(found) == TRIGGERED:
            break
    return found


def put_first(ranked: Sequence[Ranked], first: set[int]) -> list[Ranked]:
    """Put entries with a trigger before all others, in their own order."""
    if not first:
        return list(ranked)
    others = [item for item in ranked if item.candidate.id not in first]
    least = max((item.score for item in others), default=0.0)
    lifted = [
        _with(item, "trigger", max(TRIGGER, least - item.score))
        for item in ranked
        if item.candidate.id in first
    ]
    return [*sorted(lifted, key=lambda item: -item.score), *others]


# --- what is superseded ---------------------------------------------------------------------------------


def replacements(ranked: Iterable[Ranked]) -> set[str]:
    """The references that candidates name as what supersedes them."""
    return {reference for item in ranked if (reference := _replacement(item))}


def _replacement(item: Ranked) -> str:
    """What supersedes a candidate, as it names it; what is struck has an order of its own (`past`)."""
    own = item.candidate
    return said(own).get("superseded-by", "") if own.annotations and own.until is None else ""


def put_below(ranked: Sequence[Ranked], places: Mapping[str, Sequence[Place]]) -> list[Ranked]:
    """Put what is superseded below what replaces it, where that is among the candidates.

    What replaces it may be superseded in turn, so this goes on until nothing moves; a circle ends it as well.
    """
    found = list(ranked)
    named = [at for at, item in enumerate(found) if _replacement(item) in places]
    for _ in named:
        moved = False
        for at in named:
            item = found[at]
            best = _best(found, item, places[_replacement(item)])
            if best is not None and item.score >= best:
                found[at] = _with(item, "superseded", best - TIE - item.score)
                moved = True
        if not moved:
            break
    return sorted(found, key=lambda item: -item.score) if named else found


def _best(ranked: Sequence[Ranked], item: Ranked, places: Sequence[Place]) -> float | None:
    """The best score in some places, of passages other than this one."""
    scores = (
        other.score
        for other in ranked
        if other is not item
        and any(
            p.holds(other.candidate.note_id, other.candidate.start_line, other.candidate.end_line)
            for p in places
        )
    )
    return max(scores, default=None)


def _with(item: Ranked, part: str, value: float) -> Ranked:
    parts = {**item.parts, part: item.parts.get(part, 0.0) + value}
    return item._replace(score=item.score + value, parts=parts)
