"""`summarize`, `consolidate`, `rollup`, `schedule`: the memory refined."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from commonplace.base.paths import root_of
from commonplace.cli import failures, session
from commonplace.cli.options import Group, command, completed, format_option, option, span_days
from commonplace.render import count, reports, some
from commonplace.render.screen import one_line, shorten
from commonplace.upkeep.schedule import due, templates

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.memory import Memory
    from commonplace.upkeep.consolidation import Consolidation
    from commonplace.upkeep.consolidation.checks import Accepted
    from commonplace.upkeep.consolidation.plan import Operation
    from commonplace.upkeep.summaries import Summarizer


# --- summarize ------------------------------------------------------------------------------------------


@command("summarize")
@click.argument("name", metavar="[SESSION]", required=False, shell_complete=completed("sessions"))
@option("--pending", is_flag=True, help="Sum up what sessions that are over left behind.")
@option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@click.pass_context
def summarize(ctx: click.Context, name: str | None, pending: bool, dry_run: bool) -> None:
    """Sum up a session in the note of its day: the newest one, unless it is named.

    A session has one summary, which is brought up to date. The language model writes it, where one is set and
    answers; otherwise it quotes what was decided or done. A dry run asks the model too.
    """
    from commonplace.upkeep.summaries import Summarizer

    if pending and (name or dry_run):
        raise click.UsageError("--pending goes with neither a session nor --dry-run", ctx)
    memory = session.open_memory(ctx)
    summarizer = Summarizer(memory, session.language_model(memory))
    if not (_summarize_pending(summarizer) if pending else _summarize_one(summarizer, name, dry_run=dry_run)):
        ctx.exit(failures.NOTHING_FOUND)


def _summarize_one(summarizer: Summarizer, name: str | None, *, dry_run: bool) -> bool:
    """Sum up one session; return false if it has no new turns. Raises NoteNotFound."""
    name = summarizer.find(name or "")
    if dry_run:
        text = _draft(summarizer, name)
    else:
        written = summarizer.summarize(name, by_hand=True)
        text = reports.written_text(written) if written else ""
    session.write_recalled(text, summarizer.memory.settings) if dry_run else session.write(text)
    if not text:
        session.note(f"session {name}: nothing new that is worth a summary")
    return bool(text)


def _draft(summarizer: Summarizer, name: str) -> str:
    """Return a session's summary as its note would have it; warn if no model wrote it."""
    draft = summarizer.draft(name)
    if draft is None:
        return ""
    if draft.trouble:
        failures.warn(f"no language model wrote this ({draft.trouble})")
    return f"- {draft.text}".replace("\n", "\n  ") if draft.text else ""


def _summarize_pending(summarizer: Summarizer) -> bool:
    outcomes = summarizer.run_pending()
    for outcome in outcomes:
        if outcome.error:
            failures.warn(f"session {outcome.session}: {outcome.error}")
        elif outcome.written:
            session.write(f"{outcome.session}: {reports.written_text(outcome.written)}")
    if not outcomes:
        session.note("nothing is pending")
    return any(outcome.written for outcome in outcomes)


# --- consolidate ----------------------------------------------------------------------------------------


@command("consolidate", excluding=[("--estimate", "--dry-run"), ("--estimate", "--accept")])
@option(
    "--days", type=click.IntRange(1, 366), help="Days of notes, today included; otherwise consolidate.days."
)
@option("--dry-run", is_flag=True, help="Show what would be written and what is rejected; write nothing.")
@option("--estimate", is_flag=True, help="Say what asking the model would take; ask nothing.")
@option("--accept", is_flag=True, help="Write what is proposed where no language model plans.")
@option("--if-due", is_flag=True, help="Only if consolidate.every_hours have passed and notes have changed.")
@click.pass_context
def consolidate(
    ctx: click.Context, days: int | None, dry_run: bool, estimate: bool, accept: bool, if_due: bool
) -> None:
    """Refine the daily notes into MEMORY.md: add, merge, replace and end entries.

    The language model plans, code checks every step, and a second look asks the model whether the notes say
    it; each entry names its line. Without a model, merges and endings are proposed. `commonplace undo` takes
    it back.
    Ends with 3 where there is nothing to change, with 4 where statements wait and no language model is set;
    with --if-due, which schedules use, with 0.
    """
    from commonplace.actions.statements import expire
    from commonplace.providers.opening import NONE

    if dry_run and accept:
        raise click.UsageError("--accept goes with writing, --dry-run without", ctx)
    memory = session.open_memory(ctx)
    if if_due and (struck := expire(memory, datetime.now().astimezone())):
        session.note(struck)
    if if_due and not due.is_due(memory, datetime.now().astimezone()):
        session.note("a consolidation is not due yet")
        return
    if estimate:
        session.write(_estimated(memory, days))
        return
    try:
        done = _consolidate(memory, days, dry_run=dry_run, accept=accept)
    except due.Running as error:
        session.note(str(error))
        return
    if not (done.diff or if_due):
        waiting = done.candidates and memory.settings.llm.provider == NONE
        ctx.exit(failures.NO_MODEL if waiting else failures.NOTHING_FOUND)


def _consolidate(memory: Memory, days: int | None, *, dry_run: bool, accept: bool) -> Consolidation:
    """Consolidate, write what somebody agrees to, and say so; return what came of it."""
    from commonplace.upkeep.consolidation import consolidate

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
        done = consolidate(memory, None, days=days, accept=True, preview=done)
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
    """Yield the remarks on statements that the diff does not show, a line each."""
    yield from map(_proposed, done.accepted)
    for rejection in done.rejected:
        yield f"rejected {described(rejection.operation)}: {one_line(rejection.reason)}"
    for conflict in done.contradictions:
        place = f"{conflict.source.label} contradicts {conflict.entry.statement.citation}"
        yield one_line(f"{place}: {conflict.source.text}")
    for orphan in done.orphans:
        yield one_line(f"{orphan.entry.statement.citation}: its source {orphan.reference} {orphan.reason}")


def _left(done: Consolidation, *, planned: bool) -> Iterator[str]:
    """Yield what was left out, and why, a line each; `planned` if a language model is set."""
    from commonplace.upkeep.consolidation.run import UNCHANGED

    if done.left_out:
        yield f"{done.left_out} of {done.candidates} statements did not fit into llm.input_tokens"
    if done.candidates and not planned:
        waiting = count(done.candidates, "statement waits", "statements wait")
        set_one = "set one with `commonplace models use --llm PROVIDER/MODEL`"
        yield f"no language model is set, and {waiting} for one; {set_one}"
    elif not done.diff:
        yield UNCHANGED if done.unchanged else "nothing to do"


def _proposed(one: Accepted) -> str:
    """Say in a sentence what a proposal does to which lines."""
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
    text = one_line(operation.text)
    quoted = f"“{text[:80]}{'…' if len(text) > 80 else ''}”" if text else ""
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
@option(
    "--older-than",
    metavar="DAYS",
    callback=_age,
    help="How old all of a month must be, as 60d; otherwise the setting.",
)
@option("--dry-run", is_flag=True, help="Show what would be changed, and change nothing.")
@click.pass_context
def rollup(ctx: click.Context, older_than: int | None, dry_run: bool) -> None:
    """Turn the daily notes of months that are old enough into one note a month.

    Each day stands there verbatim under its heading, and is found with its day as before. `commonplace undo`
    brings the daily notes back. Ends with 3 where no month is old enough, or none was rolled up.
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
        ctx.exit(failures.ERROR)  # there was work, and all of it was refused


# --- schedule -------------------------------------------------------------------------------------------


@command("print")
@option("--at", metavar="HH:MM", default="", help="When, by the clock here; otherwise 03:30.")
@option("--watch", "watching", is_flag=True, help="Sync whenever a note changes, in its place.")
@option("--with", "by", type=click.Choice(templates.NAMES), help="Otherwise systemd, or launchd on a Mac.")
@option("--write", is_flag=True, help="Put the files in place; starting them is left to you.")
@click.pass_context
def print_(ctx: click.Context, at: str, watching: bool, by: str | None, write: bool) -> None:
    """Print what lets the system start `consolidate --if-due` every night for this workspace.

    Files of systemd or launchd, or a line for cron, and the commands that start and remove them. Nothing
    secret is in them. A night in which nothing has changed since the last one does nothing.
    """
    if watching and at:
        raise click.UsageError("--at does not go with --watch", ctx)
    workspace = session.open_memory(ctx).workspace
    job = templates.watcher(workspace) if watching else templates.nightly(workspace, at)
    setup = templates.setup(job, by or "")
    for path, text in setup.files.items():
        if write:
            root_of(path).exchange(path, text.encode())
            session.write(f"wrote {path}")
        else:
            session.write(f"# {path}\n{text}")
    session.write(f"# to start it:\n{setup.start}\n# to take it away:\n{setup.stop}")


@command("status")
@format_option(("text", "json"))
@click.pass_context
def status(ctx: click.Context, form: str) -> None:
    """Show how the last consolidation went, and whether one is due."""
    memory = session.open_memory(ctx)
    known = due.record(memory.workspace)
    last = due.last_at(memory.workspace, known)
    began, tried = last.isoformat(timespec="seconds") if last else "", known.tried if known else ""
    result = known.result if known else "the record is damaged"
    is_due = due.is_due(memory, datetime.now().astimezone())
    state = {"last": began, "tried": tried, "result": result, "due": is_due}
    session.answer(form, state, lambda: _status_text(began, tried, result, is_due))


def _status_text(last: str, tried: str, result: str, is_due: bool) -> str:
    at, failed = (moment[:16].replace("T", " ") for moment in (last, tried if tried > last else ""))
    told = f"{at or 'never'}{f'; failed {failed}' if failed else ''}{f': {result}' if result else ''}"
    return f"last      {told}\ndue       {'yes' if is_due else 'no'}"


schedule = Group(
    "schedule", commands=[print_, status], help="Let the system refine the memory every night; how it went."
)
