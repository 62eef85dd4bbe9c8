"""`correct`, `confirm`: statements of notes struck, replaced, and made firm."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option
from commonplace.errors import PreviewOutdated

if TYPE_CHECKING:
    from collections.abc import Callable

    from commonplace.types import Confirmed, Corrected, Provenance

_Found = TypeVar("_Found", "Corrected", "Confirmed")
_DRY_RUN = option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
_WHY = option("--why", metavar="TEXT", default="", help="The reason, for the record (`commonplace log`).")
_SESSION = option(
    "--session", "of_session", metavar="ID", default="", help="The session of the agent that asks for it."
)
_YES = option("--yes", is_flag=True, help="Do not ask, which happens on a terminal alone.")


@command("correct")
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", default="")
@_WHY
@option("--nothing", is_flag=True, help="Strike OLD and put nothing in its place.")
@_DRY_RUN
@_YES
@_SESSION
@format_option(("text", "json"))
@click.pass_context
def correct(
    ctx: click.Context,
    old: str,
    new: str,
    why: str,
    nothing: bool,
    dry_run: bool,
    yes: bool,
    of_session: str,
    form: str,
) -> None:
    """Strike the statement OLD wherever the notes say it, and put NEW beside it.

    OLD is a place (MEMORY.md#L12, memory/2026-02-13.md:12) or the words of the statement: all of it, or whole
    sentences. Struck text stays in the note and out of what is recalled; `commonplace undo` takes it back.
    A single - reads NEW from standard input.
    """
    if nothing == bool(new):
        raise click.UsageError("give NEW, or --nothing to strike OLD alone", ctx)
    memory = session.open_memory(ctx)
    body = session.words_to_write((new,)) if new else ""
    if new and not body.strip():
        raise click.UsageError("NEW is empty; --nothing strikes OLD alone", ctx)
    provenance = _provenance(ctx, of_session)
    now = datetime.now().astimezone()  # of what is shown and of what is written

    def ask(what: str, look: bool, preview: Corrected | None = None) -> Corrected:
        return memory.correct(
            what, body, why=why, now=now, provenance=provenance, dry_run=look, preview=preview
        )

    terminal = session.is_terminal(sys.stdin)
    asks = terminal and not yes and not dry_run
    what, found = _chosen(old, ask, look=asks or dry_run, asking=terminal)
    if form == "text":
        session.write(render.diff_text(found.diff, session.look(memory.settings)))
    if asks:
        if len(found.struck) > 1:
            click.confirm(f"Strike {render.count(len(found.struck), 'statement')}?", abort=True, err=True)
        found = ask(what, False, found)
    if form == "json":
        session.write(render.to_json(render.corrected_data(found)))
    else:
        _tell(found, dry_run=dry_run)


@command("confirm")
@click.argument("statement", metavar="REF|WORDS", nargs=-1, required=True)
@option("--reject", is_flag=True, help="Strike it instead: it turned out to be wrong.")
@_WHY
@_DRY_RUN
@_SESSION
@format_option(("text", "json"))
@click.pass_context
def confirm(
    ctx: click.Context,
    statement: tuple[str, ...],
    reject: bool,
    why: str,
    dry_run: bool,
    of_session: str,
    form: str,
) -> None:
    """Let a tentative statement hold from now on: the mark that it is a guess is taken away.

    It is named by its place (memory/2026-02-13.md#L12) or its words. Before that it is found by a search, and
    never recalled.
    """
    from commonplace.revision import confirming

    memory = session.open_memory(ctx)
    provenance = _provenance(ctx, of_session)
    who: dict[str, Any] = {}
    if provenance is not None:
        who = {"by": provenance.by, "agent": provenance.agent, "session": provenance.session}

    now = datetime.now().astimezone()  # of what is shown and of what is written

    def ask(what: str, look: bool, preview: Confirmed | None = None) -> Confirmed:
        return confirming.confirm(
            memory.workspace, memory.settings, what, reject=reject, why=why, now=now,
            dry_run=look, preview=preview, **who,
        )  # fmt: skip

    terminal = session.is_terminal(sys.stdin)
    _, found = _chosen(session.text_argument(statement), ask, look=dry_run, asking=terminal)
    if form == "json":
        session.write(render.to_json(render.confirmed_data(found)))
        return
    session.write(render.diff_text(found.diff, session.look(memory.settings)))
    session.note(render.confirmed_text(found) if not dry_run else "nothing is changed yet")


def _provenance(ctx: click.Context, of_session: str) -> Provenance | None:
    """Who asks: the agent that the options or the environment name, or else the owner."""
    import os

    from commonplace import config
    from commonplace.types import Provenance

    agent = session.agent(ctx) or os.environ.get(config.AGENT_VARIABLE, "")
    return Provenance("agent", agent, of_session) if agent or of_session else None


def _chosen(what: str, ask: Callable[..., _Found], *, look: bool, asking: bool) -> tuple[str, _Found]:
    """What is meant, and what becomes of it, or would (`look`); where nothing says that, the owner chooses.

    What is near is offered by its words: where others stand there by now, nothing is changed.
    """
    from commonplace.revision.finding import StatementNotFound

    try:
        return what, ask(what, look)
    except StatementNotFound as error:
        if not error.near:
            raise
        listed = render.cited_text(error.near, numbered=asking)
        sys.stderr.write(f"{listed}\n")
        if not asking:
            raise
        failures.warn(str(error))
        chosen = click.prompt("Which one? (0 for none)", type=click.IntRange(0, len(error.near)), err=True)
        if not chosen:
            raise click.Abort from error
        near = error.near[chosen - 1]
        found = ask(near.citation, True)
        if not any(_same(near.text, said) for said in found.said):  # another line stands there by now
            raise PreviewOutdated([near.citation]) from error
        return near.citation, found if look else ask(near.citation, False, found)


def _same(shown: str, said: str) -> bool:
    """Whether what was shown begins as a statement does; an index shows whole passages, with their marks."""
    letters = ["".join(filter(str.isalnum, text)) for text in (shown, said)]
    return letters[0] == letters[1] or letters[1] in letters[0]


def _tell(found: Corrected, *, dry_run: bool) -> None:
    """Say beside the diff what was done, and what else says nearly the same."""
    for message in found.warnings:
        failures.warn(message)
    if found.redacted:
        failures.warn(f"redacted {', '.join(found.redacted)}")
    session.note(render.corrected_text(found) if not dry_run else "nothing is changed yet")
    if found.similar:
        session.note("still said nearly so:")
        sys.stderr.write(render.cited_text(found.similar) + "\n")
