"""A search from its arguments to what is printed, whoever parsed them."""

from __future__ import annotations

import sys
from datetime import date
from typing import TYPE_CHECKING, NamedTuple

from commonplace.cli import failures, session

if TYPE_CHECKING:
    from commonplace.types.results import Mode, SearchResult

MOST_HITS = 1000


class Search(NamedTuple):
    """What the command line asked for."""

    query: tuple[str, ...]
    workspace: str | None = None
    agent: str | None = None
    limit: int | None = None
    collections: tuple[str, ...] = ()
    mode: Mode | None = None
    min_score: float | None = None
    full: bool = False
    explain: bool = False
    form: str = "text"
    now: date | None = None


def is_valid(ask: Search) -> bool:
    """Tell whether every value is within its limits."""
    return (
        (ask.form == "text" or _is_format(ask.form))
        and (ask.limit is None or 1 <= ask.limit <= MOST_HITS)
        and (ask.min_score is None or 0 <= ask.min_score <= 1)
    )


def _is_format(form: str) -> bool:
    from commonplace import render

    return form in render.SEARCH_FORMATS


def search(ask: Search) -> int:
    """Search, print, and return the exit code."""
    question = session.text_argument(ask.query)
    with session.memory_to_search(ask.workspace, ask.agent) as memory:
        from commonplace import render  # not before there is a memory: its files are looked at meanwhile

        result = memory.search(
            question,
            limit=ask.limit,
            mode=ask.mode or "hybrid",
            collections=ask.collections,
            min_score=ask.min_score,
            now=ask.now or date.today(),  # who types a question here and now means this day
        )
        session.tell(result, stale=ask.form != "text")
        if ask.form != "text":
            session.write(render.hits(result, ask.form, explain=ask.explain))
        elif result.hits:
            look = session.look(memory.settings)
            rows = None if ask.full else render.PASSAGE_ROWS
            words = session.words(question) if look.color or rows else ()
            locate = session.locator(memory) if look.links else render.nowhere
            shown = render.hits_text(result, look, words=words, rows=rows, explain=ask.explain, locate=locate)
            session.write(shown)
    _close(result, ask)
    return 0 if result.hits else failures.NOTHING_FOUND


def _close(result: SearchResult, ask: Search) -> None:
    """Say beside the result which level answered, and where the time went if that was asked."""
    from commonplace import render

    sys.stdout.flush()
    if ask.form == "text":
        session.note(("\n" if result.hits else "") + render.footer(result))
    elif ask.form == "md" and not result.hits:
        session.note(render.footer(result))
    if ask.explain:
        session.note(render.timings(result))
