"""A search of the command line, from its options to what is printed, whoever read them."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from commonplace.cli import failures, session

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types.results import SearchResult


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
    with session.memory_to_search(workspace, agent) as memory:
        from commonplace.render import hits  # only now: the memory looks at its files meanwhile

        result = memory.search(
            question, **{name: fields[name] for name in fields if fields[name] is not None}
        )
        session.tell(result, stale=form != "text")
        if layer == "index":
            session.write(hits.rows(result.hits, form, session.look(memory.settings)))
            tokens = sum(hits.row(hit).tokens for hit in result.hits)
        else:
            whole = full or layer == "full"
            tokens = _write_passages(memory, result, question, form, whole=whole, explain=explain)
    _close(result, form, tokens, explain=explain)
    return 0 if result.hits else failures.NOTHING_FOUND


def _close(result: SearchResult, form: str, tokens: int, *, explain: bool) -> None:
    """Say beside the result how much it is and which level answered; if asked, where the time went."""
    from commonplace.render import hits, screen

    sys.stdout.flush()
    if form == "text" or (form == "md" and not result.hits):
        session.note(("\n" if result.hits else "") + hits.footer(result, tokens))
    if explain:
        spent = screen.wrapped(hits.timings(result), session.look(stream=sys.stderr), "", 0)
        session.note("\n".join([*(f"+ {line}" for line in result.expanded), *spent]))


def _write_passages(
    memory: Memory, result: SearchResult, question: str, form: str, *, whole: bool, explain: bool
) -> int:
    """Write hits with their passages; as text a few rows of each passage, or all of them.

    Returns about how many tokens are shown of them.
    """
    from commonplace.memory import passage_lines, passage_text, question_words
    from commonplace.render import hits

    if form in ("text", "md"):  # data keep the lines that they cite
        unbroken = (replace(hit, text=passage_text(hit.text)) for hit in result.hits)
        result = replace(result, hits=tuple(unbroken))
    if form != "text":
        session.write(hits.in_form(result.hits, form, explain=explain))
    elif result.hits:
        look, rows = session.look(memory.settings), None if whole else hits.PASSAGE_ROWS
        words = question_words(question) if look.color or rows else ()
        locate = session.locator(memory) if look.links else None
        session.write(
            hits.as_text(
                result, look, words=words, rows=rows, explain=explain, locate=locate, read=passage_lines
            )
        )
        return hits.shown_tokens(result, look, words=words, rows=rows, read=passage_lines)
    return result.tokens
