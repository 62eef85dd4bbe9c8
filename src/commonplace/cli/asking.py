"""`search`, `recall`, `prompt`, `get`: what agents and people ask most."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from commonplace import render
from commonplace.base.errors import CommonplaceError
from commonplace.base.paths import Workspace
from commonplace.cli import failures, picks, searching, session
from commonplace.cli.flags import EXCLUDING, State
from commonplace.cli.options import command, completed, flags, format_option, option
from commonplace.cli.session import Printed
from commonplace.config import keys
from commonplace.render import count, reports, screen, to_json

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import date

    from commonplace.agent.instructions import Language
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service

_DASHED = "`{0} -- WORDS {1}` leaves that word out, `{0} -- {2}` looks for it"
_MESSAGE_DASHED = "words with a dash stand after --: `{0} -- {1} …`"
_BUDGET = keys.find("recall.budget", "as a flag")


@command("search", several=True, excluding=EXCLUDING, dashed=_DASHED)
@click.argument("query", nargs=-1, required=True, shell_complete=completed("filters"))
@flags()
@click.pass_context
def search(ctx: click.Context, /, query: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - those of `searching.search`
    """Find the passages that answer a question, best first.

    Plain words are alternatives; "phrases" must be found; after --, -word must not. `word*` matches
    beginnings; AND and OR say exactly what is wanted, AND before OR. in:, path:, type:, after:, before:, on:,
    as-of: and keys of front matter are filters; status:tentative lists the guesses. A single - reads the
    question from standard input.
    """
    state = ctx.ensure_object(State)
    ctx.exit(searching.search(query, state.workspace, state.agent, state.everything, **options))


@command("recall", several=True, dashed=_MESSAGE_DASHED)
@click.argument("message", nargs=-1, required=True)
@option(
    "--budget",
    type=click.IntRange(int(_BUDGET.low or 0), int(_BUDGET.high or 0)),
    metavar="N",
    help="Most tokens to return.",
)
@flags("collections")
@flags("strict", "now", "as_of", "rerank", "expand")
@format_option(("text", "json"))
@click.pass_context
def recall(
    ctx: click.Context,
    /,
    message: tuple[str, ...],
    form: str,
    **options: Any,  # noqa: ANN401 - what `Memory.recall` takes by the same name
) -> None:
    """Compose the block for a prompt: the best passages, dated and cited, inside a token budget.

    A message is words: nothing in it is an operator, a filter or an exclusion.

    The block goes to standard output as it is; what is said about it goes to standard error.
    """
    memory = session.open_memories(ctx)
    recalled = memory.recall(session.text_argument(message), **options)
    if form == "text" and session.is_terminal(sys.stdout):
        picks.keep(session.asking(ctx), picks.references(recalled.hits, memory.name))
    for warning in recalled.warnings:
        failures.warn(warning)
    width = session.screen_of(sys.stdout).width
    block = recalled.text
    if width is not None:  # a person reads it
        block = "\n".join(row for _, row in screen.laid_out(block.split("\n"), width))
    session.write(block if form == "text" else render.to_json(reports.recall_data(recalled)))
    sys.stdout.flush()
    if form == "text":
        session.note(reports.recall_footer(recalled))
        if recalled.tentative:
            guesses = count(recalled.tentative, "tentative passage")
            session.note(f"{guesses} left out (`commonplace search` shows all, recall.tentative lets all in)")
    if not recalled.hits:
        ctx.exit(failures.NOTHING_FOUND)


@command("get", several=True)
@click.argument("reference", metavar="REF", shell_complete=completed("notes"))
@option("--no-numbers", is_flag=True, help="Leave out line numbers.")
@format_option(("text", "json"))
@click.pass_context
def get(ctx: click.Context, reference: str, no_numbers: bool, form: str) -> None:
    """Show lines of a note: PATH, PATH:from, PATH:from-to, PATH:from:count, PATH#L12-L18 or '#docid'.

    A part of its name will do, and links of a wiki: "[[Note]]", "[[Note#Heading]]", "Note#Heading",
    "Note#^block". At a terminal a number is that row of the last search or `ls`; a note called 2 is ./2.
    """
    memory = session.open_memories(ctx)
    excerpt = picks.read(session.asking(ctx), memory, reference)
    if form == "json":
        session.write(render.to_json(excerpt))
        return
    look = session.look(memory.settings)
    if text := reports.excerpt_text(excerpt, numbers=not no_numbers, look=look):
        session.write_recalled(text, memory.settings)
    elif excerpt.lines:
        click.echo()  # a blank line is one too
    if len(excerpt.lines) < excerpt.total_lines:
        session.note(f"lines {excerpt.start_line}-{excerpt.end_line} of {excerpt.total_lines}")


# Options that the text for a system prompt does not use.
_PLACED = ("message", "--budget", "--files", "--session", "--forget", "--now", "--json", "--report")
_PROMPT_BUDGET = keys.find("prompt.budget", "as a flag")


@command(
    "prompt",
    excluding=[("--json", "--report"), *(("--instructions", one) for one in _PLACED)],
    dashed=_MESSAGE_DASHED,
    several=True,
)
@click.argument("message", nargs=-1)
@option(
    "--budget",
    type=click.IntRange(int(_PROMPT_BUDGET.low or 0), int(_PROMPT_BUDGET.high or 0)),
    metavar="N",
    help="Most tokens to return; otherwise prompt.budget.",
)
@option(
    "--files/--no-files", default=None, help="Add AGENTS.md and the like, or not; else prompt.file_names."
)
@option("--session", "session_id", metavar="ID", default="", help="Leave out what this session was given.")
@option("--forget", is_flag=True, help="Forget what the session was given: its conversation was shortened.")
@flags("now")
@option("--json", "as_json", is_flag=True, help="Print block, parts and what was left out as JSON.")
@option("--report", is_flag=True, help="Say on standard error what is in the block and what was left out.")
@option(
    "--instructions",
    type=click.Choice(["auto", "en", "zh"]),
    is_flag=False,
    flag_value="auto",
    help="Print the text for a system prompt instead: when to recall, when to write. auto: as MEMORY.md.",
)
@click.pass_context
def prompt(
    ctx: click.Context,
    message: tuple[str, ...],
    budget: int | None,
    files: bool | None,
    session_id: str,
    forget: bool,
    now: date | None,
    as_json: bool,
    report: bool,
    instructions: Language | None,
) -> None:
    """Compose what goes into a prompt with a message: long-term memory, the last days, and the recall.

    The block goes to standard output as it is, nothing at all if there is nothing (new) to say. A single -
    reads the message from standard input. With --session a small file in the state remembers what was
    given, so that no passage is given to a session twice.
    """
    if instructions is not None:
        session.write(_instructions(ctx, instructions))
        return
    if forget and not session_id:
        raise click.UsageError("--forget needs --session.")
    if not message and not forget:
        raise click.UsageError("Missing argument 'MESSAGE...'.")
    if forget:
        from commonplace.agent.seen import Injected

        Injected(Workspace(session.asking(ctx).reach().home)).forget(session_id)
        if not message:
            return
    text = session.text_argument(message)
    day = None if now is None else now.isoformat()
    request = {"message": text, "session": session_id, "now": day, "files": files, "budget": budget}
    forms = {"as_json": as_json, "report": report}
    printed = session.ask_server("prompt", session.asking(ctx), {**request, **forms})
    if printed is None:
        printed = _compose_prompt(session.open_memories(ctx), {**request, **forms})
    ctx.exit(session.show(printed))


def prompt_answer(service: Service, request: Mapping[str, Any]) -> dict[str, Printed]:
    """Compose the output of `prompt` for a request from another process."""
    return {"printed": _compose_prompt(service.memory, request)}


def _compose_prompt(memory: Memory, request: Mapping[str, Any]) -> Printed:
    """Compose the block, and the notes on it: its size; with `report` its parts and those left out."""
    from datetime import date

    from commonplace.agent.context import ContextBuilder
    from commonplace.agent.seen import Injected

    now = date.fromisoformat(request["now"]) if request["now"] else None
    builder = ContextBuilder(memory, injected=Injected(memory.workspace))
    named = {name: request[name] for name in ("session", "files", "budget")}
    context = builder.build(request["message"], now=now, **named)
    code = 0 if context.text else failures.NOTHING_FOUND
    if request["as_json"]:
        return Printed(context.warnings, to_json(context), (), code)
    notes = []
    if request["report"]:
        for part in context.parts:
            notes.append(f"{part.name:<10} {part.tokens:>6,}  {screen.name(part.citation)}")
        for left in context.left_out[:10]:
            notes.append(f"{'left out':<10} {left.tokens:>6,}  {screen.name(left.what)}: {left.why}")
        if (more := len(context.left_out) - 10) > 0:
            notes.append(f"{'left out':<10} {more:,} more (--json names them)")
    places = count(len(context.parts), "place")
    size = f"{count(context.tokens, 'token')} of {context.budget:,} from {places}"
    notes.append(f"{size if context.text else 'nothing new to say'} · {len(context.left_out)} left out")
    return Printed(context.warnings, context.text, notes, code)


def _instructions(ctx: click.Context, language: Language) -> str:
    """Return the text for a system prompt; `auto` takes the language of long-term memory."""
    from commonplace.agent import instructions

    like = ""
    if language == "auto":
        from commonplace.agent.store import MemoryStore

        with suppress(CommonplaceError):  # no readable workspace: the environment decides
            like = MemoryStore(session.open_memory(ctx)).read_long_term()
    return instructions.text(language, like)
