"""`prompt`: the block for a message, ready to be put into a prompt, and the text for a system prompt."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import CommonplaceError
from commonplace.cli import failures, session
from commonplace.cli.options import command, now_option, option
from commonplace.config import keys
from commonplace.render import count, to_json

if TYPE_CHECKING:
    from datetime import date

    from commonplace.agent.context import Context
    from commonplace.agent.instructions import Language

_BUDGET = keys.find("prompt.budget", "as a flag")


@command("prompt")
@click.argument("message", nargs=-1)
@option(
    "--budget",
    type=click.IntRange(int(_BUDGET.low or 0), int(_BUDGET.high or 0)),
    metavar="N",
    help="Most tokens to return; otherwise prompt.budget.",
)
@option(
    "--files/--no-files", default=None, help="Add AGENTS.md and the like, or not; otherwise prompt.files."
)
@option("--session", "session_id", metavar="ID", default="", help="Leave out what this session was given.")
@option("--forget", is_flag=True, help="Forget what the session was given: its conversation was shortened.")
@now_option()
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
def prompt(  # noqa: C901 - one command, from its options to its end
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
    reads the message from standard input. With --session a small file below .commonplace/ remembers what was
    given, so that no passage is given to a session twice.
    """
    if instructions is not None:
        session.write(_instructions(ctx, instructions))
        return
    if forget and not session_id:
        raise click.UsageError("--forget needs --session.")
    if not message and not forget:
        raise click.UsageError("Missing argument 'MESSAGE...'.")
    from commonplace.agent.context import ContextBuilder
    from commonplace.agent.seen import Injected

    memory = session.open_memory(ctx)
    injected = Injected(memory.workspace) if session_id else None
    if injected and forget:
        injected.forget(session_id)
        if not message:
            return
    builder = ContextBuilder(memory, injected=injected)
    text = session.text_argument(message)
    context = builder.build(text, session=session_id, now=now, files=files, budget=budget)
    for warning in context.warnings:
        failures.warn(warning)
    if as_json:
        session.write(to_json(_data(context)))
    else:
        session.write(context.text)
        for part in context.parts if report else ():
            session.note(f"{part.name:<10} {part.tokens:>6,}  {part.citation}")
        for left in context.left_out if report else ():
            session.note(f"{'left out':<10} {left.tokens:>6,}  {left.what}: {left.why}")
        places = count(len(context.parts), "place")
        size = f"{count(context.tokens, 'token')} of {context.budget:,} from {places}"
        session.note(f"{size if context.text else 'nothing new to say'} · {len(context.left_out)} left out")
    if not context.text:
        ctx.exit(failures.NOTHING_FOUND)


def _instructions(ctx: click.Context, language: Language) -> str:
    """The text for a system prompt, in the language of long-term memory where nothing else is said."""
    from commonplace.agent import instructions

    like = ""
    if language == "auto":
        from commonplace.agent.store import MemoryStore

        with suppress(CommonplaceError):  # no workspace, or none that can be read: the environment says it
            like = MemoryStore(session.open_memory(ctx)).read_long_term()
    return instructions.text(language, like)


def _data(context: Context) -> dict[str, object]:
    names = ("text", "tokens", "budget", "session", "level", "stale", "warnings")
    return {name: getattr(context, name) for name in names} | {
        "parts": [
            {"name": part.name, "citation": part.citation, "tokens": part.tokens, "text": part.text}
            for part in context.parts
        ],
        "left_out": [
            {"what": left.what, "why": left.why, "tokens": left.tokens} for left in context.left_out
        ],
    }
