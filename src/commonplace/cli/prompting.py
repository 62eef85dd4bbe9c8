"""`prompt`: the block for a message, ready to be put into a prompt, and the text for a system prompt."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, now_option, option
from commonplace.config import keys

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
    reads the message from standard input. With --session a small file below .commonplace/ remembers what was
    given, so that no passage is given to a session twice.
    """
    if instructions is not None:
        session.write(_instructions(ctx, instructions))
        return
    _check(message, session_id, forget)
    from commonplace.agent.context import ContextBuilder
    from commonplace.agent.injected import Injected

    memory = session.open_memory(ctx)
    injected = Injected(memory.workspace) if session_id else None
    if injected and forget:
        injected.forget(session_id)
        if not message:
            return
    builder = ContextBuilder(memory, injected=injected)
    text = session.text_argument(message)
    found = builder.build(text, session=session_id, now=now, files=files, budget=budget)
    _show(found, as_json=as_json, report=report)
    if not found.text:
        ctx.exit(failures.NOTHING_FOUND)


def _check(message: tuple[str, ...], session_id: str, forget: bool) -> None:
    if forget and not session_id:
        raise click.UsageError("--forget needs --session.")
    if not message and not forget:
        raise click.UsageError("Missing argument 'MESSAGE...'.")


def _instructions(ctx: click.Context, language: Language) -> str:
    """The text for a system prompt, in the language of long-term memory where nothing else is said."""
    from commonplace.agent import instructions
    from commonplace.errors import CommonplaceError

    like = ""
    if language == "auto":
        from commonplace.agent.store import MemoryStore

        try:
            like = MemoryStore(session.open_memory(ctx)).read_long_term()
        except CommonplaceError:  # no workspace, or none that can be read: the environment says it
            like = ""
    return instructions.text(language, like)


def _show(found: Context, *, as_json: bool, report: bool) -> None:
    for warning in found.warnings:
        failures.warn(warning)
    session.write(render.to_json(_data(found)) if as_json else found.text)
    sys.stdout.flush()
    if as_json:
        return
    if report:
        for row in _rows(found):
            session.note(row)
    places = render.count(len(found.parts), "place")
    told = f"{render.count(found.tokens, 'token')} of {found.budget:,} from {places}"
    session.note(f"{told if found.text else 'nothing new to say'} · {len(found.left_out)} left out")


def _rows(found: Context) -> list[str]:
    rows = [f"{part.name:<10} {part.tokens:>6,}  {part.citation}" for part in found.parts]
    rows += [f"{'left out':<10} {left.tokens:>6,}  {left.what}: {left.why}" for left in found.left_out]
    return rows


def _data(found: Context) -> dict[str, object]:
    return {
        "text": found.text,
        "tokens": found.tokens,
        "budget": found.budget,
        "session": found.session,
        "level": found.level,
        "stale": found.stale,
        "warnings": list(found.warnings),
        "parts": [
            {"name": part.name, "citation": part.citation, "tokens": part.tokens, "text": part.text}
            for part in found.parts
        ],
        "left_out": [{"what": left.what, "why": left.why, "tokens": left.tokens} for left in found.left_out],
    }
