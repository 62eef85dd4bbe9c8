"""Several workspaces asked as one: what each answers, named by where it is from, in one order.

Notes of other workspaces than the home are cited and read as `NAME:path`. Scores are calibrated in each
workspace: where one answers clearly, those without a clear answer are left out. A workspace that fails is a
warning; the others answer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from functools import partial

from commonplace.base.errors import CommonplaceError, NoteNotFound, UnknownCollection
from commonplace.base.expressions import lazy
from commonplace.types.results import SearchResult

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import TypeVar

    from commonplace.search.request import Request
    from commonplace.types import Excerpt, Hit, NoteInfo, Timeline

    _Answer = TypeVar("_Answer")

_LINES = lazy(r"\d+(?:-\d*|:\d+)?")  # of a reference, which no path is


def split(reference: str, names: Collection[str]) -> tuple[str, str]:
    """Return the workspace that a reference begins with, and the rest; an empty name without one."""
    name, colon, rest = reference.strip().partition(":")
    is_named = bool(colon and rest) and name in names and not _LINES.fullmatch(rest)
    return (name, rest) if is_named else ("", reference)


def each(work: Mapping[str, Callable[[], _Answer]]) -> tuple[dict[str, _Answer], list[str]]:
    """Do the work of each workspace, the home's first; return what each answers, and what failed, in words.

    Raises the home's error where all fail.
    """
    answers: dict[str, _Answer] = {}
    errors: dict[str, CommonplaceError] = {}
    for name, ask in work.items():
        try:
            answers[name] = ask()
        except CommonplaceError as error:
            errors[name] = error
    if not answers:
        raise next(iter(errors.values()))
    # A workspace without a collection of that name, or without a note of that day, is left out.
    silent = (UnknownCollection, NoteNotFound)
    return answers, [f"{name}: {one}" for name, one in errors.items() if not isinstance(one, silent)]


def reading(name: str, read: Callable[[str], Excerpt], reference: str) -> Excerpt:
    """Read a reference in another workspace; paths in the result begin with its name."""
    try:
        excerpt = read(reference)
    except NoteNotFound as error:
        raise NoteNotFound(
            f"{name}:{error.path}", [f"{name}:{one}" for one in error.suggestions], error.reason
        ) from error
    return replace(excerpt, path=f"{name}:{excerpt.path}")


def listed(name: str, notes: Iterable[NoteInfo]) -> list[NoteInfo]:
    """Return the notes of another workspace as a list of several has them."""
    return [replace(one, path=f"{name}:{one.path}", collection=f"{name}:{one.collection}") for one in notes]


# --- searches -------------------------------------------------------------------------------------------


def search(
    request: Request, limit: int, asks: Mapping[str, Callable[[Request], SearchResult]]
) -> SearchResult:
    """Ask each workspace, the home's first, and return the best hits of all of them, at most `limit`."""
    home = next(iter(asks))
    requests = {name: own for name in asks if (own := _within(request, name)) is not None}
    # If the collection exists in no workspace, the home names those that exist.
    work = {name: partial(asks[name], own) for name, own in (requests or {home: request}).items()}
    results, failures = each(work)
    listings = [name for name, one in results.items() if one.listing and one.hits]
    clear = [name for name, one in results.items() if one.hits and not one.weak]
    chosen = listings or clear or list(results)
    hits = [_of(name, hit, is_home=name == home) for name in chosen for hit in results[name].hits]
    if listings:  # whose hits have no score: by day, as each workspace lists them
        lists = [[hit.date or "" for hit in results[name].hits] for name in listings]
        hits.sort(key=lambda hit: hit.date or "", reverse=any(days[0] > days[-1] for days in lists))
    else:
        hits.sort(key=lambda hit: -hit.score)
    every = list(results.values())
    # If some have notes of a day, the others do not warn that they lack such notes.
    warnings = [
        warning if name == home else f"{name}: {warning}"
        for name in listings or results
        for warning in results[name].warnings
    ]
    timings_ms = sum((Counter(one.timings_ms) for one in every), Counter[str]())
    return replace(
        results[chosen[0]], hits=tuple(hits[:limit]), level=max(one.level for one in every),
        stale=sum(one.stale for one in every), warnings=(*warnings, *failures), timings_ms=dict(timings_ms),
        all_tokens=sum(one.all_tokens for one in every),
        expanded=tuple(dict.fromkeys(line for one in every for line in one.expanded)),
        confidence=max((one.confidence for one in every if one.confidence is not None), default=None),
        weak=not clear and any(one.weak for one in every), listing=bool(listings),
    )  # fmt: skip


def _within(request: Request, name: str) -> Request | None:
    """The request for one workspace, with `NAME:collection` as its own; None if it names only others'."""
    if not request.collections:
        return request
    parts = [(one, *one.partition(":")) for one in request.collections]
    own = tuple(rest if colon else one for one, of, colon, rest in parts if not colon or of == name)
    return request._replace(collections=own) if own else None


def _of(name: str, hit: Hit, *, is_home: bool) -> Hit:
    """A hit with the workspace that it is from, and its places as they are read from here."""
    if is_home:
        return replace(hit, workspace=name)
    others = tuple(place._replace(path=f"{name}:{place.path}") for place in hit.others)
    return replace(hit, workspace=name, path=f"{name}:{hit.path}", others=others)


# --- time -----------------------------------------------------------------------------------------------


def timeline(before: int, after: int, asks: Mapping[str, Callable[[], Timeline]], home: str) -> Timeline:
    """Join what surrounds a moment in each of some workspaces."""
    answers, failures = each(asks)
    moments = [
        one if name == home else replace(one, path=f"{name}:{one.path}")
        for name, answer in answers.items()
        for one in answer.moments
    ]
    moments.sort(key=lambda one: one.date)  # a stable sort: the home's before the others of a day
    anchors = [one for one in moments if one.is_anchor]
    first, last = (anchors[0].date, anchors[-1].date) if anchors else ("", "")
    earlier = [one for one in moments if not one.is_anchor and one.date < first]
    later = [one for one in moments if not one.is_anchor and one.date > last]
    warnings = [] if anchors else [line for answer in answers.values() for line in answer.warnings]
    around = (*earlier[max(0, len(earlier) - before) :], *anchors, *later[:after])
    return replace(
        next(iter(answers.values())),
        moments=around if anchors else tuple(moments),
        stale=sum(answer.stale for answer in answers.values()),
        warnings=(*dict.fromkeys(warnings), *failures),
    )
