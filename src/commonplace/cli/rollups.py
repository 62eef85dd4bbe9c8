"""`rollup`: old daily notes made monthly ones, and their originals confirmed."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, option
from commonplace.errors import ConfigError

if TYPE_CHECKING:
    from commonplace.lifecycle.originals import Originals
    from commonplace.lifecycle.rollup import Month
    from commonplace.llm.base import Llm
    from commonplace.memory import Memory

_DAYS = re.compile(r"(\d{1,5})d?")


@command("rollup")
@click.argument("month", metavar="[MONTH]", required=False)
@option("--older-than", metavar="DAYS", help="How old all of a month must be, as 60d; otherwise the setting.")
@option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@option("--llm", is_flag=True, help="Let the language model point at what is said twice; code checks it.")
@option("--confirm", is_flag=True, help="Delete the originals of MONTH (YYYY-MM), or of all months.")
@option("--yes", is_flag=True, help="With --confirm: do not ask.")
@click.pass_context
def rollup(
    ctx: click.Context,
    month: str | None,
    older_than: str | None,
    dry_run: bool,
    llm: bool,
    confirm: bool,
    yes: bool,
) -> None:
    """Turn the daily notes of months that are old enough into one note a month.

    Observations, raw errors and repetitions are left out; all else stays in its words, dated by its day. The
    originals are moved to archive/, which is not searched, until --confirm deletes them. `commonplace undo`
    takes either back. Ends with 3 where no month is old enough, or none was rolled up.
    """
    if (month or yes) and not confirm:
        raise click.UsageError("MONTH and --yes go with --confirm", ctx)
    if confirm and (older_than or llm):
        raise click.UsageError("--older-than and --llm do not go with --confirm", ctx)
    memory = session.open_memory(ctx)
    if confirm:
        done = _confirm(memory, month or "", dry_run, yes)
    else:
        done = _roll_up(ctx, memory, _llm(memory) if llm else None, older_than, dry_run)
    if not done:
        ctx.exit(failures.NOTHING_FOUND)


def _llm(memory: Memory) -> Llm:
    from commonplace.embedding import configured
    from commonplace.llm.opening import open_llm
    from commonplace.notes.redact import holds_secret

    llm = open_llm(memory.workspace, memory.settings, breaker=configured.breaker(), holds_secret=holds_secret)
    if llm is None:
        raise ConfigError("--llm", "no language model is set; choose one with `commonplace models use --llm`")
    return llm


def _roll_up(
    ctx: click.Context, memory: Memory, llm: Llm | None, older_than: str | None, dry_run: bool
) -> bool:
    from commonplace.lifecycle import rollup as rolling

    told = rolling.rollup(memory, llm, older_than_days=_days(older_than), dry_run=dry_run)
    for month in told.months:
        for trouble in filter(None, (month.refused, month.trouble)):
            failures.warn(trouble)
        if month.refused:
            continue
        if dry_run:
            session.write(month.diff)
        session.write("\n".join(_lines(month)))
    for warning in told.warnings:
        failures.warn(warning)
    if not told.months:
        session.note("no month is old enough")
    if told.months and all(month.refused for month in told.months):
        ctx.exit(failures.ERROR)  # there was something to do, and none of it could be done
    return bool(told.months)


def _days(told: str | None) -> int | None:
    if told is None:
        return None
    found = _DAYS.fullmatch(told)
    if found is None or int(found[1]) < 1:
        raise ConfigError("--older-than", f"{told!r} is no number of days; write it as 60d")
    return int(found[1])


def _lines(month: Month) -> list[str]:
    run = f" (run {month.run.id})" if month.run else ""
    notes, left = render.count(len(month.notes), "daily note"), render.count(len(month.left), "statement")
    lines = [f"{month.path}: {notes}, {left} left out{run}"]
    for item in month.left:
        same = f", as in {item.instead}" if item.instead else ""
        lines.append(f"  {item.reference} {item.text} ({item.why}{same})")
    return lines


def _confirm(memory: Memory, month: str, dry_run: bool, yes: bool) -> bool:
    from commonplace.lifecycle import originals

    months = originals.found(memory, month)
    for found in months:
        for path in found.changed:
            failures.warn(f"{path}: changed since the rollup, so it stays")
        session.write("\n".join(f"{found.month}: {path}" for path in found.paths))
    months = [found for found in months if found.paths]
    if not months:
        session.note("there are no originals to delete")
        return False
    if dry_run or not _agreed(months, yes):
        return True
    for found in months:
        run = originals.confirm(memory, found)
        if run:
            session.write(
                f"{found.month}: {render.count(len(found.paths), 'original')} deleted (run {run.id})"
            )
    return True


def _agreed(months: Sequence[Originals], yes: bool) -> bool:
    """Whether the owner agrees; asked on a terminal, told by --yes anywhere else."""
    if yes:
        return True
    if not session.is_terminal(sys.stdin):
        raise ConfigError("--confirm", "nothing was deleted; where nobody can be asked, add --yes")
    count = sum(len(found.paths) for found in months)
    return click.confirm(f"Delete {render.count(count, 'original')}?", default=False, err=True)
