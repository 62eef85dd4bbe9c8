"""A search of the command line, from its options to what is printed, whoever read them."""

from __future__ import annotations

import sys
from typing import Any

from commonplace.cli import failures, session


def search(
    words: tuple[str, ...],
    workspace: str | None = None,
    agent: str | None = None,
    *,
    layer: str | None = None,
    full: bool = False,
    explain: bool = False,
    form: str = "text",
    **fields: Any,  # noqa: ANN401 - those of a request; None is what nobody said
) -> int:
    """Search, print, and return the exit code."""
    question = session.text_argument(words)
    layer = "full" if full and layer != "index" else layer
    with session.memory_to_search(workspace, agent) as memory:
        from commonplace.render import hits  # not before there is a memory: its files are looked at meanwhile

        given = {name: value for name, value in fields.items() if value is not None}
        result = memory.search(question, **given)
        session.tell(result, stale=form != "text")
        if layer == "index":
            session.write(hits.rows(result.hits, form, session.look(memory.settings)))
        elif form != "text":
            session.write(hits.in_form(result.hits, form, explain=explain))
        elif result.hits:
            look = session.look(memory.settings)
            rows = None if layer == "full" else hits.PASSAGE_ROWS
            marked = session.words(question) if look.color or rows else ()
            locate = session.locator(memory) if look.links else None
            session.write(hits.as_text(result, look, words=marked, rows=rows, explain=explain, locate=locate))
    # Beside the result, which level answered, and where the time went if that was asked.
    sys.stdout.flush()
    if form == "text":
        tokens = sum(hits.row(hit).tokens for hit in result.hits) if layer == "index" else 0
        session.note(("\n" if result.hits else "") + hits.footer(result, tokens))
    elif form == "md" and not result.hits:
        session.note(hits.footer(result))
    if explain:
        session.note("\n".join([*(f"+ {line}" for line in result.expanded), hits.timings(result)]))
    return 0 if result.hits else failures.NOTHING_FOUND
