"""What once stood in a note, as passages of their own: lines with struck text, and where its successor is.

They are told apart by their annotations: `struck` in all of them, `replaced-by` with the lines of what stands
in their place, or `beside` where the next entry may do so or may not. A trigger of theirs is gone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from commonplace.chunking import breakpoints
from commonplace.chunking.settings import ChunkSettings
from commonplace.markdown import statements
from commonplace.markdown.comments import STRUCK, Annotations
from commonplace.markdown.struck import Strikes, without
from commonplace.types import Note, Statement

REPLACED_BY, BESIDE = "replaced-by", "beside"


class Former(NamedTuple):
    """Lines that hold struck text (1-based, inclusive), as they stand, and what is said of them."""

    first: int
    last: int
    text: str
    annotations: Mapping[str, str]


def split(note: Note, strikes: Strikes, settings: ChunkSettings) -> Iterator[Former]:
    """Cut what is struck in a note into passages, none of which holds lines of two statements."""
    said = Annotations(note)
    stated = statements.read(note)
    owners = {n: at for at, one in enumerate(stated) for n in range(one.first, one.last + 1)}
    for run in _runs(sorted(strikes), owners, note, settings):
        own = dict(said.of(run[0], run[-1]) or {})
        own.pop("trigger", None)
        own[STRUCK] = "true"
        if run[0] in owners and "superseded-by" not in own:
            own |= _replacement(stated, owners[run[0]], own.get("until", ""), note, strikes)
        text = "\n".join(note.lines[run[0] - 1 : run[-1]])
        for piece in [text] if len(text) <= settings.line else breakpoints.pieces(text, settings.piece):
            yield Former(run[0], run[-1], piece, own)


def _runs(
    numbers: Sequence[int], owners: Mapping[int, int], note: Note, settings: ChunkSettings
) -> Iterator[list[int]]:
    """Lines one after the other of one statement, as many as a passage holds."""
    run: list[int] = []
    size = 0
    for number in numbers:
        width = breakpoints.width(note.lines[number - 1], settings.wide)
        joins = run and number == run[-1] + 1 and owners.get(number, -1) == owners.get(run[0], -2)
        if run and not (joins and size + width < settings.target):
            yield run
            run, size = [], 0
        run.append(number)
        size += width + 1
    if run:
        yield run


def _replacement(
    stated: Sequence[Statement], at: int, until: str, note: Note, strikes: Strikes
) -> dict[str, str]:
    """Where what stands in the place of a statement is to be found: its lines, and how sure that is."""
    own = stated[at]
    following = _next(stated, at)
    if following is None:  # a nested one goes with what it is nested in
        outer = next((n for n in range(at - 1, -1, -1) if stated[n].end >= own.end), None)
        if outer is not None and _is_gone(stated[outer], note, strikes):
            return _replacement(stated, outer, until, note, strikes)
        return {}
    since = following.said.get("since", "")
    sure = bool(since) and since >= until
    return {REPLACED_BY if sure else BESIDE: f"{following.first}-{following.last}"}


def _next(stated: Sequence[Statement], at: int) -> Statement | None:
    """The very next entry at the same level in the same list."""
    own = stated[at]
    following = next((one for one in stated[at + 1 :] if one.first > own.end), None)
    if following is None or following.headings != own.headings:
        return None
    return following if _level(following) == _level(own) else None


def _level(statement: Statement) -> tuple[int, bool]:
    item = statement.item.expandtabs(4)
    return len(item) - len(item.lstrip()), bool(item.strip())


def _is_gone(statement: Statement, note: Note, strikes: Strikes) -> bool:
    """Whether nothing of a statement is left."""
    numbers = range(statement.first, statement.last + 1)
    return all(
        n in strikes and not without(note.lines[n - 1], strikes[n])
        for n in numbers
        if note.lines[n - 1].strip()
    )
