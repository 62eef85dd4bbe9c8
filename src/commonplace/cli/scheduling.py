"""`schedule`: consolidation every night, by whoever starts programs here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace.cli import failures, session
from commonplace.cli.groups import Group
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.lifecycle.schedule.installing import Status

_WITH = ("systemd", "launchd", "cron")


@command("install")
@option("--at", metavar="HH:MM", default="", help="When, by the clock here; otherwise as it is, or 03:30.")
@option("--with", "by", type=click.Choice(_WITH), help="Who starts it; otherwise what works.")
@option("--dry-run", is_flag=True, help="Show what would be put in place, and do nothing.")
@click.pass_context
def install(ctx: click.Context, at: str, by: str | None, dry_run: bool) -> None:
    """Start `consolidate --if-due` every night for this workspace; installing again changes the time.

    Nothing secret is written down. A night in which nothing has changed since the last one does nothing.
    """
    from commonplace.lifecycle.schedule import installing, jobs

    workspace = session.open_memory(ctx).workspace
    if dry_run:
        session.write(jobs.script(jobs.of(workspace, at or jobs.DEFAULT_TIME)))
        return
    done = installing.install(workspace, at, by or "")
    for trouble in done.passed_over:
        failures.warn(trouble)
    session.write(f"every night at {done.job.at}, by {done.by} ({done.job.name})")


@command("remove")
@click.pass_context
def remove(ctx: click.Context) -> None:
    """Take the nightly consolidation of this workspace away; nothing else is touched."""
    from commonplace.lifecycle.schedule import installing

    found = installing.remove(session.open_memory(ctx).workspace)
    session.write(f"removed from {', '.join(found)}" if found else "nothing is scheduled")


@command("status")
@format_option(("text", "json"))
@click.pass_context
def status(ctx: click.Context, form: str) -> None:
    """Show who starts it and when, how the last one went, and whether one is due."""
    from dataclasses import asdict
    from datetime import datetime

    from commonplace import render
    from commonplace.lifecycle.schedule import installing

    found = installing.status(session.open_memory(ctx), datetime.now().astimezone())
    session.write(render.to_json(asdict(found)) if form == "json" else _text(found))


def _text(found: Status) -> str:
    started = f"every night at {found.at}, by {found.by} ({found.name})" if found.by else "no"
    last = f"{_minute(found.last)}" if found.last else "never"
    if found.tried and found.tried > found.last:
        last += f"; failed {_minute(found.tried)}"
    if found.result:
        last += f": {found.result}"
    rows = [("scheduled", started), ("next", _minute(found.next)), ("last", last)]
    rows.append(("due", "yes" if found.due else "no"))
    return "\n".join(f"{name:<10}{told}" for name, told in rows if told)


def _minute(moment: str) -> str:
    return moment[:16].replace("T", " ")


schedule = Group(
    "schedule", commands=[install, status, remove], help="Refine the memory every night, or no longer."
)
