"""`log`, `undo`: what was generated in the notes, and taking it back."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.paths import Workspace
    from commonplace.screen import Look
    from commonplace.types.revisions import Run


@command("log")
@click.argument("run", metavar="[RUN]", default="")
@option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Most changes to list.",
)
@option("--diff", is_flag=True, help="Show the diff of each.")
@format_option(("text", "json"))
@click.pass_context
def log(ctx: click.Context, run: str, limit: int, diff: bool, form: str) -> None:
    """List generated changes of notes, newest first, or show one of them with its diff.

    RUN is the first column of the list, or the beginning of it. Entries that are only appended are not here:
    their notes say who wrote them.
    """
    from itertools import islice

    from commonplace.history import applying, runs, undoing
    from commonplace.paths import closed

    workspace = _workspace(ctx)
    for message in applying.warnings(workspace, looking=True):
        failures.warn(message)
    found = [undoing.find(workspace, run)] if run else [*islice(runs.newest_first(workspace), limit)]
    for name in runs.damaged(workspace):
        failures.warn(f"the record of {name} {runs.trouble(workspace, name)} and cannot be shown")
    if told := closed(workspace):
        failures.warn(told)
    if form == "json":
        session.write(render.to_json([_data(workspace, one, diff or bool(run)) for one in found]))
    else:
        session.write(_text(workspace, found, bool(run), diff, session.look()))
    if not found:
        if form == "text":
            session.note("no generated change is kept here" + (" that can be read" if told else ""))
        ctx.exit(failures.NOTHING_FOUND)


def _data(workspace: Workspace, run: Run, diff: bool) -> dict[str, object]:
    from commonplace.history import diffs

    told: dict[str, object] = render.run_data(run)
    return told | {"diff": diffs.of_run(workspace, run)} if diff else told


def _text(workspace: Workspace, found: list[Run], whole: bool, diff: bool, look: Look) -> str:
    from commonplace.history import diffs

    if not whole and not diff:
        return render.log_text(found, look)
    blocks = []
    for run in found:
        shown = render.diff_text(diffs.of_run(workspace, run), look)
        blocks.append(f"{render.run_text(run, look)}\n\n{shown}".rstrip())
    return "\n\n\n".join(blocks)


@command("undo")
@click.argument("run", metavar="[RUN]", default="")
@option("--since", is_flag=True, help="Take back RUN and all that was generated after it, newest first.")
@option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@option("--yes", is_flag=True, help="Do not ask, which happens on a terminal alone.")
@format_option(("text", "json"))
@click.pass_context
def undo(ctx: click.Context, run: str, since: bool, dry_run: bool, yes: bool, form: str) -> None:
    """Take back a generated change: the newest that stands, or RUN, by what `log` calls it.

    What was written after it stays, to the byte. Where that cannot be had nothing is changed, and the message
    says why, and what to undo first. An undo can be undone, which does the change again.
    """
    from commonplace.history import diffs, undoing

    memory = session.open_memory(ctx)
    workspace = memory.workspace
    if since and not run:
        raise click.UsageError("--since needs the RUN to begin with; `commonplace log` lists them", ctx)
    try:
        planned = undoing.planned(workspace, run, since=since)
    except undoing.NothingToUndo as error:
        session.note(str(error))
        ctx.exit(failures.NOTHING_FOUND)
    diff = diffs.of_changes(undoing.net(planned))
    asks = session.is_terminal(sys.stdin) and not yes and not dry_run
    if dry_run and form == "json":
        session.write(render.to_json({"undoes": [one.run.id for one in planned], "diff": diff}))
    elif dry_run or asks:
        session.write(render.diff_text(diff, session.look(memory.settings)))
    told = render.count(len(planned), "generated change")
    if dry_run:
        session.note(f"would take back {told}: {_titles([one.run for one in planned])}")
        return
    if asks:
        click.confirm(f"Take back {_titles([one.run for one in planned])}?", abort=True, err=True)
    named = planned[-1].run.id if since else planned[0].run.id
    made = undoing.undo(
        workspace,
        named,
        settings=memory.settings.history,
        agent=session.agent(ctx) or "",
        since=since,
        preview=planned if asks else None,
    )
    _tell(made, form)


def _titles(found: list[Run]) -> str:
    from commonplace import screen

    more = f" and {len(found) - 3} more" if len(found) > 3 else ""
    return ", ".join(screen.one_line(run.about.title) for run in found[:3]) + more


def _tell(made: tuple[Run, ...], form: str) -> None:
    """Print what was taken back, and what git could not keep of it."""
    for run in made:
        if run.uncommitted:
            failures.warn(run.uncommitted)
    if form == "json":
        session.write(render.to_json([render.run_data(run) for run in made]))
        return
    for run in made:
        paths = ", ".join(file.path for file in run.files)
        session.write(f"{run.id}: {run.about.title} ({paths})")


def _workspace(ctx: click.Context) -> Workspace:
    from commonplace.paths import Workspace

    return Workspace(Path(session.workspace_root(ctx)))
