"""A search of the command line, from its options to its output; `shortcut` and click call it."""

from __future__ import annotations

import sys

from commonplace.base.errors import ConfigError
from commonplace.cli import failures, session
from commonplace.cli.session import Printed, Screen

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import Any

    from commonplace.memory import Memory
    from commonplace.render.screen import Look
    from commonplace.servers.methods import Service
    from commonplace.types.results import SearchResult

_SHARED = frozenset({"mode", "limit", "collections", "min_score"})  # options that every engine has


def search(
    words: tuple[str, ...],
    workspace: Sequence[str] = (),
    agent: str | None = None,
    everything: bool = False,
    **options: Any,  # noqa: ANN401 - those of a request, and of display; None: not given
) -> int:
    """Search, print, and return the exit code."""
    question = session.text_argument(words)
    screens = session.screen_of(sys.stdout), session.screen_of(sys.stderr)
    given = {name: value for name, value in options.items() if value is not None}
    now = given.get("now")
    sent = {**given, "now": now.isoformat()} if now is not None else given
    request = {"question": question, "options": sent, "screens": screens}
    # Another engine is started in the environment of whoever asks.
    asking = session.caller(workspace, agent, everything=everything)
    printed = None if given.get("engine") else session.ask_server("search", asking, request)
    if printed is None:
        from commonplace.memory import reaching

        with reaching(asking.reach(), asking.agent) as memory:
            printed = compose(memory, question, *screens, **given)
            if memory.settings.server.start == "always":
                from commonplace.servers import local

                local.launch(asking.root)
    code = session.show(printed)
    if screens[0].width is not None and given.get("form", "text") == "text":
        from commonplace.cli import picks

        picks.keep(asking, printed.picks)
    session.hint_agent(agent)
    return code


def answer(service: Service, request: Mapping[str, Any]) -> dict[str, Printed]:
    """Compose the output of a search for a request from another process."""
    from datetime import date

    options, (out, err) = dict(request["options"]), request["screens"]
    if "now" in options:
        options["now"] = date.fromisoformat(options["now"])
    return {"printed": compose(service.memory, request["question"], Screen(*out), Screen(*err), **options)}


def compose(
    memory: Memory,
    question: str,
    out: Screen,
    err: Screen,
    *,
    layer: str | None = None,
    full: bool = False,
    unfolded: bool = False,
    explain: bool = False,
    form: str = "text",
    engine: str | None = None,
    **fields: Any,  # noqa: ANN401 - those of a request
) -> Printed:
    """Search, and compose what is printed for these screens."""
    from dataclasses import replace

    from commonplace.render import hits  # only now: the memory looks at its files meanwhile

    result = _elsewhere(memory, engine, question, fields) if engine else memory.search(question, **fields)
    look = session.look_at(out, memory.settings)
    found = len(result.hits)
    if form == "text" and look.width is not None and not (unfolded or fields.get("limit")):
        result = replace(result, hits=hits.standing_out(result))
    if layer == "index":
        text = hits.rows(result.hits, form, look)
        tokens = sum(hits.row(hit).tokens for hit in result.hits)
    else:
        whole = full or layer == "full"
        text, tokens = _passages(memory, result, question, form, look, whole=whole, explain=explain)
    if form in ("text", "md"):
        text = session.recalled(text, out, memory.settings)
    warnings = list(result.warnings)
    if form != "text" and result.stale:
        changed = f"stale: {result.stale} files changed since they were indexed"
        warnings.append(f"{changed}; run `commonplace sync`")
    weaker = found - len(result.hits)
    notes = list(_notes(result, weaker, form, tokens, session.look_at(err), explain=explain))
    numbered: Sequence[str] = ()
    if form == "text" and out.width is not None:
        from commonplace.cli import picks

        numbered = picks.references(result.hits, memory.others)
    return Printed(warnings, text, notes, 0 if result.hits else failures.NOTHING_FOUND, numbered)


def _elsewhere(memory: Memory, engine: str, question: str, asked: dict[str, Any]) -> SearchResult:
    """Ask the engine that is named. Raises ConfigError for options that it does not have."""
    from commonplace.config.settings import ENGINES

    if engine == ENGINES[0]:
        return memory.search(question, **asked)
    from commonplace.memory import ask_engine

    if ours := sorted(name for name, value in asked.items() if value and name not in _SHARED):
        names = ", ".join(f"--{name.replace('_', '-')}" for name in ours)
        raise ConfigError("engine", f"{engine} has no {names}; leave that out")
    return ask_engine(memory, engine, question, **{name: asked[name] for name in asked if name in _SHARED})


def _notes(
    result: SearchResult, weaker: int, form: str, tokens: int, look: Look, *, explain: bool
) -> Iterator[str]:
    """Yield the lines after a result: its size, the level that answered; with `explain`, the timings."""
    from commonplace.render import hits, screen

    if form == "text" or (form == "md" and not result.hits):
        yield ("\n" if result.hits else "") + hits.footer(result, tokens, weaker)
    if explain:
        spent = screen.wrapped(hits.timings(result), look, "", 0)
        yield "\n".join([*(f"+ {line}" for line in result.expanded), *spent])


def _passages(
    memory: Memory, result: SearchResult, question: str, form: str, look: Look, *, whole: bool, explain: bool
) -> tuple[str, int]:
    """Compose hits with their passages; as text a few rows of each passage, or all of them.

    Returns about how many tokens are shown of them as well.
    """
    from commonplace.memory import question_words
    from commonplace.render import hits

    if form != "text":
        return hits.in_form(result.hits, form, explain=explain), result.tokens
    if not result.hits:
        return "", result.tokens
    rows = None if whole else hits.PASSAGE_ROWS
    words = question_words(question) if look.color or rows else ()
    locate = session.locator(memory) if look.links else None
    return (
        hits.as_text(result, look, words=words, rows=rows, explain=explain, locate=locate),
        hits.shown_tokens(result, look, words=words, rows=rows),
    )
