"""A search from its arguments to what is printed, whoever parsed them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

from commonplace.cli import failures, session
from commonplace.config.settings import READERS

if TYPE_CHECKING:
    from datetime import date

    from commonplace.memory import Memory
    from commonplace.types.results import Mode, SearchResult

MOST_HITS = 1000
LAYERS = ("index", "snippet", "full")  # rows with references, a few rows of each passage, whole passages


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
    layer: str | None = None
    now: date | None = None
    rerank: str | None = None
    expand: bool | None = None
    history: bool = False
    as_of: str | None = None


def is_valid(ask: Search) -> bool:
    """Tell whether every value is within its limits."""
    return (
        (ask.form == "text" or _is_format(ask.form))
        and (ask.layer is None or ask.layer in LAYERS)
        and (ask.rerank is None or ask.rerank in READERS)
        and (ask.limit is None or 1 <= ask.limit <= MOST_HITS)
        and (ask.min_score is None or 0 <= ask.min_score <= 1)
    )


def _is_format(form: str) -> bool:
    from commonplace.render import hits

    return form in hits.FORMS


def search(ask: Search) -> int:
    """Search, print, and return the exit code."""
    question = session.text_argument(ask.query)
    with session.memory_to_search(ask.workspace, ask.agent) as memory:
        from commonplace.render import hits  # not before there is a memory: its files are looked at meanwhile

        result = memory.search(
            question,
            limit=ask.limit,
            mode=ask.mode or "hybrid",
            collections=ask.collections,
            min_score=ask.min_score,
            now=ask.now,
            rerank=ask.rerank,
            expand=ask.expand,
            history=ask.history,
            as_of=day(ask.as_of, ask.now),
        )
        session.tell(result, stale=ask.form != "text")
        if ask.layer == "index":
            session.write(hits.rows(result.hits, ask.form, session.look(memory.settings)))
        elif ask.form != "text":
            session.write(hits.in_form(result.hits, ask.form, explain=ask.explain))
        elif result.hits:
            session.write(_passages(memory, result, ask, question))
    _close(result, ask)
    return 0 if result.hits else failures.NOTHING_FOUND


def day(told: str | None, now: date | None) -> date | None:
    """The last day of a date in any form that `after:` takes, seen from `now`. Raises ConfigError."""
    if told is None:
        return None
    from datetime import date

    from commonplace.search import filters

    return filters.day(told, now or date.today())


def _passages(memory: Memory, result: SearchResult, ask: Search, question: str) -> str:
    """Hits as text: a few rows of each passage, or all of them."""
    from commonplace.render import hits

    look = session.look(memory.settings)
    rows = None if ask.full or ask.layer == "full" else hits.PASSAGE_ROWS
    words = session.words(question) if look.color or rows else ()
    locate = session.locator(memory) if look.links else None
    return hits.as_text(result, look, words=words, rows=rows, explain=ask.explain, locate=locate)


def _close(result: SearchResult, ask: Search) -> None:
    """Say beside the result which level answered, and where the time went if that was asked."""
    from commonplace.render import hits

    sys.stdout.flush()
    if ask.form == "text":
        tokens = sum(hits.row(hit).tokens for hit in result.hits) if ask.layer == "index" else 0
        session.note(("\n" if result.hits else "") + hits.footer(result, tokens))
    elif ask.form == "md" and not result.hits:
        session.note(hits.footer(result))
    if ask.explain:
        session.note("\n".join([*(f"+ {line}" for line in result.expanded), hits.timings(result)]))
