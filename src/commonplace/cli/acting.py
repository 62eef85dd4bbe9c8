"""A command for each action: it shows the outcome, asks, and carries out exactly that."""

from __future__ import annotations

import shlex
import sys
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from commonplace.actions.action import Call
from commonplace.actions.table import every
from commonplace.base.errors import AccessDenied, PreviewOutdated
from commonplace.cli import failures, progress, session
from commonplace.cli.options import TYPED, Command, Option, completed, forms_of
from commonplace.edit.resolve import StatementNotFound
from commonplace.memory import reviewed
from commonplace.providers.llm import schemas
from commonplace.render import reports, screen, to_json
from commonplace.storage.undo import NothingToUndo

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from commonplace.actions.action import Action, Param, Shown
    from commonplace.config.settings import Settings
    from commonplace.types import Cited, Provenance

HELP = {
    "correct": """Strike the statement OLD wherever the notes say it, and put NEW beside it.

    OLD is a place (MEMORY.md#L12, memory/2026-02-13.md:12) or the words of the statement: all of it, or whole
    sentences. Struck text stays in the note and out of what is recalled; `commonplace undo` takes it back.
    A single - reads NEW from standard input.""",
    "confirm": """Let a tentative statement hold from now on: the mark that it is a guess is taken away.

    It is named by its place (memory/2026-02-13.md#L12) or its words. Before that it is found by a search, and
    never recalled; `commonplace search status:tentative` lists all. --all is what waits for you.""",
    "merge": """Merge a conflict copy that a sync program left into its note, entry by entry.

    Entries that only the copy has are put into the note, then the copy is deleted; `commonplace undo` takes
    both back. `sync` does so by itself where every entry of a copy is new, equal or struck. Where both
    machines changed one entry, both versions stand until you delete one.""",
    "undo": """Take back a change: the newest that stands and can be undone, or RUN, by what `log` calls it.

    An entry of `remember` is taken out of its note. What was written after it stays, to the byte. Where that
    cannot be had nothing is changed, and the message says why, and what to undo first. An undo can be undone,
    which does the change again.""",
}


def command(name: str) -> Command | None:
    """Make the command of an action, or None for an unknown name."""
    action = next((one for one in every() if one.name == name and "cli" in one.doors), None)
    if action is None:
        return None
    params = [made for param in action.params for made in _parameters(param)]
    params += [
        Option(["--dry-run"], is_flag=True, help="Show what would change, and change nothing."),
        Option(["--yes"], is_flag=True, help="Do not ask."),
        *forms_of(("text", "json")),
    ]
    if not action.owner:
        asks = "The session of the agent that asks for it."
        params.append(Option(["--session", "of_session"], metavar="ID", default="", help=asks))
    return Command(
        name, params=params, help=HELP.get(name, action.about), excluding=[("--dry-run", "--yes")],
        callback=click.pass_context(partial(_run, action)),
    )  # fmt: skip


def _parameters(param: Param) -> Iterator[click.Parameter]:
    """A parameter as click takes it, and the flag that stands for leaving it out."""
    about, kind = param.schema.get("description", ""), param.schema.get("type")
    if param.metavar:
        yield click.Argument(
            [param.name], metavar=param.metavar if param.required else f"[{param.metavar}]",
            nargs=-1 if param.words else 1, required=param.required,
            **({} if param.required or param.words else {"default": ""}),  # None would count as given
            shell_complete=completed(param.completes) if param.completes else None,
        )  # fmt: skip
    elif kind == "boolean":
        yield Option([f"--{param.name}"], is_flag=True, help=about)
    else:
        of = click.IntRange(param.schema["minimum"], param.schema["maximum"]) if kind == "integer" else None
        metavar = "N" if of else "TEXT"
        yield Option([f"--{param.name}"], type=of, metavar=metavar, help=about, required=param.required)
    if param.without:
        yield Option([f"--{param.without}"], is_flag=True, help=f"Give no {param.metavar or param.name}.")


def _values(ctx: click.Context, action: Action, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the typed values, as the action takes them. Raises click.UsageError."""
    values = {}
    for param in action.params:
        value = given[param.name]
        name = param.metavar or param.name
        if param.without and bool(value) == given[param.without]:
            raise click.UsageError(f"Missing argument {name}; give it or --{param.without}, not both", ctx)
        if param.without and value:
            value = session.words_to_write((value,))  # a single - reads it from standard input
            if not value.strip():
                raise click.UsageError(f"{name} is empty; --{param.without} leaves it out", ctx)
        values[param.name] = session.text_argument(value) if param.words else value
    values = {name: value for name, value in values.items() if value not in (None, "", False)}
    if problem := schemas.problem(values, action.body):
        raise click.UsageError(str(problem).removeprefix("$").lstrip(".: "), ctx)
    return values


def _run(
    action: Action,
    ctx: click.Context,
    *,
    dry_run: bool,
    yes: bool,
    form: str,
    of_session: str = "",
    **given: Any,  # noqa: ANN401 - by the schemas of its parameters
) -> None:
    by = session.provenance(ctx, of_session)
    values = _values(ctx, action, given)
    ctx.exit(carry_out(ctx, action, values, by, dry_run=dry_run, yes=yes, form=form)[0])


def carry_out(
    ctx: click.Context,
    action: Action,
    values: Mapping[str, Any],
    by: Provenance | None = None,
    *,
    dry_run: bool = False,
    yes: bool = False,
    form: str = "text",
) -> tuple[int, Any]:
    """Show the outcome of an action, ask if a person is at a terminal, carry out exactly that.

    Without a terminal, a final action needs `yes`. Return the exit code and the outcome.
    """
    memory, now = session.open_memory(ctx), datetime.now().astimezone()
    if action.owner and by and reviewed(memory, by):
        raise AccessDenied(by.agent, f"does no `{action.name}`, as its entries wait for the owner")
    try:
        shown = _shown(action, Call(memory, values, by, now))
    except NothingToUndo as error:
        session.note(str(error))
        return failures.NOTHING_FOUND, None
    _tell_shown(shown, form, memory.settings, dry_run=dry_run)
    if shown.carry is None:
        session.note(shown.title)
        return failures.NOTHING_FOUND, shown.outcome
    if dry_run:
        return 0, shown.outcome
    if shown.question and session.can_ask(yes=yes):
        session.confirm(shown.question)
    elif action.final and not yes:
        again = shlex.join([*ctx.command_path.split(), "--yes", *ctx.meta[TYPED]])
        failures.warn(f"nothing was changed; to do it: {again}")
        return failures.USAGE, shown.outcome
    with progress.listening():
        done = shown.carry()
    if further := action.beside(done):
        session.note("\n".join(map(screen.one_line, further)), memory.settings)
    if form == "json":
        session.write(to_json(done))
    else:
        session.note(action.text(done), memory.settings)
    return failures.ERROR if action.fails(done) else 0, done


def _tell_shown(shown: Shown, form: str, settings: Settings, *, dry_run: bool) -> None:
    """Print the outcome of an action; as JSON only if it is not carried out.

    A diff is printed if it is the only description, or for a dry run.
    """
    for remark in shown.remarks:
        session.note(screen.one_line(remark))
    if form == "text":
        listing = shown.text(session.look())
        session.write_recalled(listing, settings)
        if dry_run or not listing:
            session.write_diff(shown.diff, settings)
    elif dry_run or shown.carry is None:
        session.write(to_json(shown.outcome))
    if dry_run and shown.carry is not None:
        session.note(f"{shown.title}: nothing is changed yet", settings)


def _shown(action: Action, call: Call) -> Shown:
    """Return the outcome of an action; if its statement is not found, the owner picks one near it.

    A pick is compared by its words: raises PreviewOutdated if its lines hold other ones by now.
    """
    try:
        with progress.listening():
            return action.show(call)
    except StatementNotFound as error:
        near = _picked(error, call)
    shown = action.show(call._replace(values={**call.values, action.params[0].name: near.citation}))
    # An index shows whole passages with their marks, of which the statement is only a part.
    letters = ["".join(filter(str.isalnum, text)) for text in (near.text, *shown.outcome.said)]
    if not any(said in letters[0] for said in letters[1:]):  # the lines hold another statement by now
        raise PreviewOutdated([near.citation])
    return shown


def _picked(error: StatementNotFound, call: Call) -> Cited:
    """Return the near statement that the owner picks. Raises the error without a terminal to ask at."""
    asking = session.can_ask()
    if not error.near:
        raise error
    if asking:
        failures.warn(str(error))
    session.note("near it:")
    look = session.look(stream=sys.stderr)
    session.note(reports.cited_text(error.near, look, numbered=asking), call.memory.settings)
    if not asking:
        raise error
    number = click.prompt("Which one? (0 for none)", type=click.IntRange(0, len(error.near)), err=True)
    if not number:
        raise click.Abort from error
    return error.near[number - 1]
