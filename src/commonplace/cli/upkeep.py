"""`summarize`, `consolidate`, `rollup`, `schedule`: the memory refined."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from commonplace.base.paths import root_of
from commonplace.cli import failures, session
from commonplace.cli.options import Group, argument, command, flag, option, span_days
from commonplace.render import count, reports, some
from commonplace.render.screen import one_line, shorten
from commonplace.upkeep.schedule import due, templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.memory import Memory
    from commonplace.upkeep.consolidation import Consolidation
    from commonplace.upkeep.consolidation.checks import Accepted
    from commonplace.upkeep.consolidation.plan import Operation


# --- summarize ------------------------------------------------------------------------------------------


@command("summarize", excluding=[("--pending", "name"), ("--pending", "--dry-run")])
@argument("name", "[SESSION]", "sessions", required=False)
@flag("--pending", "Sum up sessions that ended without a summary.")
@flag("--dry-run", "Show the summary, and write nothing.")
def summarize(ctx: click.Context, name: str | None, pending: bool, dry_run: bool) -> None:
    """Sum up a session in the note of its day: the newest one, unless it is named.

    A session has one summary, which is brought up to date. A language model writes it, if one is set and
    answers; otherwise it quotes decisions and deeds. A dry run asks the model too.
    """
    from commonplace.upkeep.summaries import Summarizer

    memory = session.open_memory(ctx)
    summarizer = Summarizer(memory, session.language_model(memory))
    if pending:
        outcomes = summarizer.run_pending()
        for outcome in outcomes:
            if outcome.error:
                failures.warn(f"session {outcome.session}: {outcome.error}")
            elif outcome.written:
                session.write(f"{outcome.session}: {reports.written_text(outcome.written)}")
        if not outcomes:
            session.note("nothing is pending")
        ctx.exit(0 if any(outcome.written for outcome in outcomes) else failures.NOTHING_FOUND)
    name, text = summarizer.find(name or ""), ""
    if not dry_run:
        written = summarizer.summarize(name, by_hand=True)
        session.write(text := reports.written_text(written) if written else "")
    elif (draft := summarizer.draft(name)) is not None:
        if draft.trouble:
            failures.warn(f"no language model wrote this ({draft.trouble})")
        text = f"- {draft.text}".replace("\n", "\n  ") if draft.text else ""
        session.write_recalled(text, memory.settings)
    if not text:
        session.note(f"session {name}: nothing new that is worth a summary")
        ctx.exit(failures.NOTHING_FOUND)


# --- consolidate ----------------------------------------------------------------------------------------


@command(
    "consolidate",
    excluding=[("--estimate", "--dry-run"), ("--estimate", "--accept"), ("--dry-run", "--accept")],
)
@option("--days", type=click.IntRange(1, 366), help="Days of notes, with today; otherwise consolidate.days.")
@flag("--dry-run", "Show accepted and rejected changes; write nothing.")
@flag("--estimate", "Show the cost of asking the model; ask nothing.")
@flag("--accept", "Write the proposals made without a language model.")
@flag("--if-due", "Only if consolidate.every_hours have passed and notes have changed.")
def consolidate(
    ctx: click.Context, days: int | None, dry_run: bool, estimate: bool, accept: bool, if_due: bool
) -> None:
    """Refine the daily notes into MEMORY.md: add, merge, replace and end entries.

    The language model plans, code checks every step, and a second question asks the model whether the notes
    say it; each entry names its line. Without a model, merges and endings are proposed. `commonplace undo`
    takes it back. Ends with 3 if there is nothing to change, with 4 if statements wait and no language model
    is set; with --if-due, which schedules use, with 0.
    """
    from commonplace.actions.statements import expire
    from commonplace.providers.opening import NONE

    memory, now = session.open_memory(ctx), datetime.now().astimezone()
    if if_due and (struck := expire(memory, now)):
        session.note(struck)
    if if_due and not due.is_due(memory, now):
        session.note("a consolidation is not due yet")
    elif estimate:
        session.write(_estimated(memory, days))
    else:
        try:
            done = _consolidate(memory, days, dry_run=dry_run, accept=accept)
        except due.Running as error:
            session.note(str(error))
            return
        if not (done.diff or if_due):
            waiting = done.candidates and memory.settings.llm.provider == NONE
            ctx.exit(failures.NO_MODEL if waiting else failures.NOTHING_FOUND)


def _consolidate(memory: Memory, days: int | None, *, dry_run: bool, accept: bool) -> Consolidation:
    """Consolidate, ask before proposals are written, and return the outcome."""
    from commonplace.upkeep.consolidation import consolidate, run

    llm = session.language_model(memory)
    done = consolidate(memory, llm, days=days, dry_run=dry_run, accept=accept)
    for warning in done.warnings:
        failures.warn(warning)
    session.write_diff(done.diff, memory.settings)
    if remarks := "\n".join(_remarks(done)):
        session.note(remarks, memory.settings)
    for line in _left(done, planned=llm is not None):
        session.note(line)
    if done.proposals and done.run is None and not dry_run:
        asks = session.can_ask() and session.is_terminal(sys.stderr)
        if not (asks and click.confirm("Write this?", default=False, err=True)):
            session.note("nothing was written; `commonplace consolidate --accept` writes it")
            return done
        done = run.accept(memory, done, range(len(done.accepted)))
    if done.run is not None:
        session.note(f"written as {done.run.id}; `commonplace undo` takes it back")
    return done


def _estimated(memory: Memory, days: int | None) -> str:
    from commonplace.upkeep.consolidation import plan, run

    asked = run.estimate(memory, days=days)
    llm = session.language_model(memory)
    number = len(asked.shown) + asked.left_out
    head = f"{len(asked.shown)} of {number} statements"
    if llm is None or not number:
        return f"{head}; " + ("no language model is set" if llm is None else "nothing would be asked")
    most = llm.estimate(asked.messages, plan.SCHEMA, plan.ANSWER_TOKENS)
    cost = "at no known price" if most.dollars is None else f"at most {most.dollars:.4f} dollars"
    cached = "; answered from the cache" if most.cached else ""
    sizes = f"about {most.tokens_in:,} tokens to {llm.name}, at most {most.tokens_out:,} back"
    return f"{head}; {sizes}, {cost}{cached}"


def _remarks(done: Consolidation) -> Iterator[str]:
    """Yield a line on each change, and on statements that the diff does not show."""
    yield from map(_proposed, done.accepted)
    for rejection in done.rejected:
        yield f"rejected {described(rejection.operation)}: {one_line(rejection.reason)}"
    for conflict in done.contradictions:
        place = f"{conflict.source.label} contradicts {conflict.entry.statement.citation}"
        yield one_line(f"{place}: {conflict.source.text}")
    for orphan in done.orphans:
        yield one_line(f"{orphan.entry.statement.citation}: its source {orphan.reference} {orphan.reason}")


def _left(done: Consolidation, *, planned: bool) -> Iterator[str]:
    """Yield a line on statements left out; `planned` if a language model is set."""
    if done.left_out:
        yield f"{done.left_out} of {done.candidates} statements did not fit into llm.input_tokens"
    if done.candidates and not planned:
        waiting = count(done.candidates, "statement waits", "statements wait")
        set_one = "set one with `commonplace models use --llm PROVIDER/MODEL`"
        yield f"no language model is set, and {waiting} for one; {set_one}"
    elif not done.diff:
        yield "nothing to do"


def _proposed(one: Accepted) -> str:
    """Describe a change and its lines in a sentence."""
    lines = some([entry.statement.citation for entry in one.targets])
    text = f"“{shorten(one_line(one.text), 80)}”" if one.text else ""
    ended = f"“{shorten(one_line(one.targets[0].text), 80)}”" if one.targets else ""
    match one.operation.op:
        case "merge":
            said = f"{count(len(one.targets), 'line')} that say the same become one, {text}: {lines}"
        case "supersede":
            said = f"{lines} is replaced: {ended} by {text}"
        case "expire":
            why = f" ({one.operation.reason})" if one.operation.reason else ""
            said = f"{lines} is over{why}: {ended} is struck"
        case _:
            said = f"new: {text}, from {some([source.label for source in one.sources])}"
    return one_line(said)


def described(operation: Operation) -> str:
    """Return an operation of a plan in short, on one line."""
    quoted = f"“{shorten(one_line(operation.text), 80)}”" if operation.text else ""
    return " ".join(filter(None, [operation.op, *map(one_line, operation.targets), quoted]))


# --- rollup ---------------------------------------------------------------------------------------------


def _age(ctx: click.Context, parameter: click.Parameter, value: str | None) -> int | None:
    """Read 60d, 60 or 8w as days."""
    if value is None:
        return None
    age = span_days(f"{value}d" if value[-1:].isdigit() else value)
    if age is None:
        raise click.BadParameter(f"{value!r} is no number of days; write it as 60d")
    if not age:
        raise click.BadParameter("a month is rolled up a day after its end at the earliest: 1d")
    return age


@command("rollup")
@option("--older-than", metavar="DAYS", callback=_age, help="Least age of a month, as 60d; else the setting.")
@flag("--dry-run", "Show the changes, and change nothing.")
def rollup(ctx: click.Context, older_than: int | None, dry_run: bool) -> None:
    """Turn the daily notes of months that are old enough into one note a month.

    Each day is in it verbatim under its heading, and is found with its day as before. `commonplace undo`
    brings the daily notes back. Ends with 3 if no month is old enough.
    """
    from commonplace.upkeep import rollup as rolling

    memory = session.open_memory(ctx)
    report = rolling.rollup(memory, older_than_days=older_than, dry_run=dry_run)
    for month in report.months:
        if month.refused:
            failures.warn(month.refused)
            continue
        if dry_run:
            session.write_diff(month.diff, memory.settings)
        run = f" (run {month.run.id})" if month.run else ""
        session.write(f"{month.path}: {count(len(month.notes), 'daily note')}{run}")
    for warning in report.warnings:
        failures.warn(warning)
    if not report.months:
        session.note("no month is old enough")
        ctx.exit(failures.NOTHING_FOUND)
    if all(month.refused for month in report.months):
        ctx.exit(failures.ERROR)


# --- schedule -------------------------------------------------------------------------------------------


@command("print", excluding=[("--at", "--watch")])
@option("--at", metavar="HH:MM", default="", help="The time of day, local; otherwise 03:30.")
@flag("--watch", "Sync whenever a note changes, instead.", "watching")
@option("--with", "by", type=click.Choice(templates.NAMES), help="Otherwise systemd, or launchd on a Mac.")
@flag("--write", "Write the files; starting them is left to you.")
def print_(ctx: click.Context, at: str, watching: bool, by: str | None, write: bool) -> None:
    """Print the schedule that starts `consolidate --if-due` every night for this workspace.

    Files of systemd or launchd, or a line for cron, and the commands that start and remove them. They hold no
    secret. A night without a change since the last one is skipped.
    """
    workspace = session.open_memory(ctx).workspace
    job = templates.watcher(workspace) if watching else templates.nightly(workspace, at)
    setup = templates.setup(job, by or "")
    for path, text in setup.files.items():
        if write:
            root_of(path).exchange(path, text.encode())
        session.write(f"wrote {path}" if write else f"# {path}\n{text}")
    session.write(f"# to start it:\n{setup.start}\n# to take it away:\n{setup.stop}")


@command("status", answers=True)
def status(ctx: click.Context, form: str) -> None:
    """Show the result of the last consolidation, and whether one is due."""
    memory = session.open_memory(ctx)
    known = due.record(memory.workspace)
    began, tried = (known.at, known.tried) if known else ("", "")
    result = known.result if known else "the record is damaged"
    is_due = due.is_due(memory, datetime.now().astimezone())
    at, failed = (moment[:16].replace("T", " ") for moment in (began, tried if tried > began else ""))
    told = f"{at or 'never'}{f'; failed {failed}' if failed else ''}{f': {result}' if result else ''}"
    text = f"last      {told}\ndue       {'yes' if is_due else 'no'}"
    session.answer(form, {"last": began, "tried": tried, "result": result, "due": is_due}, lambda: text)


schedule = Group(
    "schedule", commands=[print_, status], help="Start a consolidation every night; show the last result."
)
