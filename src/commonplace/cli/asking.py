"""`search`, `recall`, `ask`, `prompt`, `get`: the questions of agents and people."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import click

from commonplace.base.errors import CommonplaceError
from commonplace.base.paths import Workspace
from commonplace.cli import failures, picks, searching, session
from commonplace.cli.flags import EXCLUDING, State
from commonplace.cli.options import Decorated, argument, command, flag, flags, option
from commonplace.cli.session import Printed
from commonplace.config import keys
from commonplace.render import count, reports, screen, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import date

    from commonplace.agent.instructions import Language
    from commonplace.config import Settings
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service

_DASHED = "`{0} -- WORDS {1}` leaves that word out, `{0} -- {2}` looks for it"
_NO_NOTES = "the memory holds nothing about it"
_UNSAID = "the notes that come nearest do not say it"
_MESSAGE_DASHED = "words with a dash stand after --: `{0} -- {1} …`"


def budget(name: str, help: str) -> Callable[[Decorated], Decorated]:
    """Declare `--budget`, within the bounds of a setting."""
    key = keys.find(name, "as a flag")
    bounds = click.IntRange(int(key.low or 0), int(key.high or 0))
    return option("--budget", type=bounds, metavar="N", help=help)


@command("search", several=True, excluding=[*EXCLUDING, ("--lexical", "--semantic")], dashed=_DASHED)
@argument("query", nargs=-1, required=True, completes="filters")
@flags()
def search(ctx: click.Context, /, query: tuple[str, ...], **options: Any) -> None:  # noqa: ANN401 - those of `searching.search`
    """Find the passages that answer a question, best first.

    Plain words are alternatives; "phrases" must be found; after --, -word must not. `word*` matches
    beginnings; AND and OR are operators, AND before OR. in:, path:, type:, after:, before:, on:, as-of: and
    keys of front matter are filters; status:tentative lists the guesses. A single - reads the question from
    standard input.
    """
    state = ctx.ensure_object(State)
    ctx.exit(searching.search(query, state.workspace, state.agent, state.everything, **options))


@command("recall", several=True, dashed=_MESSAGE_DASHED, answers=True)
@argument("message", nargs=-1, required=True)
@budget("recall.budget", "Most tokens to return.")
@flags("collections", "strict", "now", "as_of", "rerank", "expand")
def recall(
    ctx: click.Context,
    /,
    message: tuple[str, ...],
    form: str,
    **options: Any,  # noqa: ANN401 - those of `Memory.recall` by the same name
) -> None:
    """Compose the block for a prompt: the best passages, dated and cited, inside a token budget.

    A message is words: it has no operators, filters or exclusions. The block goes to standard output as it
    is, notes about it go to standard error.
    """
    memory = session.open_memories(ctx)
    recalled = memory.recall(session.text_argument(message), **options)
    for warning in recalled.warnings:
        failures.warn(warning)
    if form == "json":
        session.write(to_json(reports.recall_data(recalled)))
    else:
        block, width = recalled.text, session.screen_of(sys.stdout).width
        if width is not None:  # a person reads it
            picks.keep(session.asking(ctx), picks.references(recalled.hits, memory.others))
            block = "\n".join(row for _, row in screen.laid_out(block.split("\n"), width))
        session.write(block)
        session.note(reports.recall_footer(recalled))
        if recalled.tentative:
            guesses = count(recalled.tentative, "tentative passage")
            session.note(f"{guesses} left out (`commonplace search` shows all, recall.tentative lets all in)")
    if not recalled.hits:
        ctx.exit(failures.NOTHING_FOUND)


@command("get", several=True, answers=True)
@argument("reference", "REF", "notes")
@flag("--no-numbers", "Leave out line numbers.")
def get(ctx: click.Context, reference: str, no_numbers: bool, form: str) -> None:
    """Show lines of a note: PATH, PATH:from, PATH:from-to, PATH:from:count, PATH#L12-L18 or '#docid'.

    A part of its name is enough, and links of a wiki work: "[[Note]]", "[[Note#Heading]]", "Note#Heading",
    "Note#^block". At a terminal a number is that row of the last search or `ls`; a note called 2 is ./2.
    """
    memory = session.open_memories(ctx)
    excerpt = picks.read(session.asking(ctx), memory, reference)
    if form == "json":
        session.write(to_json(excerpt))
        return
    look = session.look(memory.settings)
    if text := reports.excerpt_text(excerpt, numbers=not no_numbers, look=look):
        session.write_recalled(text, memory.settings)
    elif excerpt.lines:
        click.echo()  # a blank line is one too
    if len(excerpt.lines) < excerpt.total_lines:
        session.note(f"lines {excerpt.start_line}-{excerpt.end_line} of {excerpt.total_lines}")


@command("ask", several=True, answers=True)
@argument("query", nargs=-1, required=True, completes="filters")
@option("--model", metavar="M", help="The language model, as MODEL or PROVIDER/MODEL.")
@option("--base-url", metavar="URL", help="Where it is, for a server that speaks OpenAI's chat completions.")
@budget("recall.budget", "Most tokens of notes that the model reads.")
@flags("collections", "strict", "now", "as_of")
def ask(
    ctx: click.Context,
    /,
    query: tuple[str, ...],
    model: str | None,
    base_url: str | None,
    form: str,
    **options: Any,  # noqa: ANN401 - those of `Memory.ask` by the same name
) -> None:
    """Answer a question from the notes: the language model reads recalled passages, and cites them.

    [1] in the answer is the first place listed below it. The question and the recalled passages alone are
    sent to the model; without a passage, nothing is sent. A single - reads the question from standard input.
    Ends with 3 if the notes do not answer it, with 4 if no language model is set.
    """

    def change(settings: Settings) -> Mapping[str, object]:
        from commonplace.providers import selection

        return selection.llm_overrides(settings.llm, model, base_url)

    memory = session.open_memories(ctx, change)
    answer = memory.ask(session.text_argument(query), **options)
    for message in answer.warnings:
        failures.warn(message)
    if form == "json":
        session.write(to_json(reports.answer_data(answer)))
    elif answer.text:
        out = session.screen_of(sys.stdout)
        look = session.look_at(out, memory.settings)
        text = reports.answer_text(answer, look, session.locator(memory) if look.links else None)
        session.write(session.recalled(text, out, memory.settings))
    if form == "text":
        if not answer.text:
            session.note(_UNSAID if answer.given else _NO_NOTES)
        if answer.given:
            session.note(reports.answer_footer(answer))
    if not answer.text:
        ctx.exit(failures.NOTHING_FOUND)


# The text for a system prompt uses no other option.
_OTHERS = ("message", "--budget", "--files", "--session", "--forget", "--now", "--json", "--report")
_EXCLUDING = [("--json", "--report"), *(("--instructions", one) for one in _OTHERS)]


@command("prompt", several=True, dashed=_MESSAGE_DASHED, excluding=_EXCLUDING, answers=True)
@argument("message", nargs=-1)
@budget("prompt.budget", "Most tokens to return; otherwise prompt.budget.")
@option("--files/--no-files", default=None, help="Add files such as AGENTS.md; else prompt.file_names.")
@option("--session", "session_id", metavar="ID", default="", help="Leave out what this session was given.")
@flag("--forget", "Forget what the session was given: its conversation was shortened.")
@flags("now")
@flag("--report", "List the parts of the block, and those left out, on standard error.")
@option(
    "--instructions", type=click.Choice(["auto", "en", "zh"]), is_flag=False, flag_value="auto",
    help="Print the text for a system prompt instead: when to recall, when to write. auto: as MEMORY.md.",
)  # fmt: skip
def prompt(
    ctx: click.Context, /, message: tuple[str, ...], session_id: str, forget: bool, now: date | None,
    instructions: Language | None, **request: Any,  # noqa: ANN401 - of `_compose_prompt`
) -> None:  # fmt: skip
    """Compose the memory for a prompt with a message: long-term memory, the last days, and the recall.

    The block goes to standard output as it is; it is empty if there is nothing new to say. A single - reads
    the message from standard input. With --session a small file in the state remembers the passages given,
    so that each is given to a session once.
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
    request |= {"message": session.text_argument(message), "session": session_id}
    request["now"] = None if now is None else now.isoformat()
    printed = session.ask_server("prompt", session.asking(ctx), request)
    ctx.exit(session.show(printed or _compose_prompt(session.open_memories(ctx), request)))


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
    if request["form"] == "json":
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
