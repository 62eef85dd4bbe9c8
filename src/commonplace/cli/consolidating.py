"""`consolidate`: daily notes refined into MEMORY.md, by a plan that code checks."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING

import click

from commonplace import screen
from commonplace.cli import failures, session
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from commonplace.lifecycle.consolidation import Consolidation
    from commonplace.lifecycle.consolidation.plan import Operation
    from commonplace.llm.client import Client
    from commonplace.memory import Memory


@command("consolidate")
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

    The language model plans, and code checks every step: what is added stands in the notes in these words,
    and names its line. Without a model, merges and endings are proposed. `commonplace undo` takes it back.
    Ends with 3 where there is nothing to change, but with --if-due, which schedules use, with 0.
    """
    from commonplace.lifecycle.schedule import due

    if dry_run and accept:
        raise click.UsageError("--accept goes with writing, --dry-run without", ctx)
    memory = session.open_memory(ctx)
    if if_due and not due.is_due(memory, datetime.now().astimezone()):
        session.note("a consolidation is not due yet")
        return
    if estimate:
        _estimate(memory, days)
        return
    try:
        done = _consolidate(memory, days, dry_run=dry_run, accept=accept)
    except due.Running as error:
        session.note(str(error))
        return
    if not (done.diff or if_due):
        ctx.exit(failures.NOTHING_FOUND)


def _consolidate(memory: Memory, days: int | None, *, dry_run: bool, accept: bool) -> Consolidation:
    """Consolidate, write what somebody agrees to, and say so; return what came of it."""
    from commonplace.lifecycle.consolidation import consolidate

    llm = _llm(memory)
    done = consolidate(memory, llm, days=days, dry_run=dry_run, accept=accept)
    _show(done, asked=llm is not None)
    if done.proposals and done.run is None and not dry_run:
        if not _agreed():
            session.note("nothing was written; `commonplace consolidate --accept` writes it")
            return done
        done = consolidate(memory, None, days=days, accept=True, preview=done)
    if done.run is not None:
        session.note(f"written as {done.run.id}; `commonplace undo` takes it back")
    return done


def _agreed() -> bool:
    """Whether somebody at a terminal says yes."""
    if not (sys.stdin is not None and session.is_terminal(sys.stdin) and session.is_terminal(sys.stderr)):
        return False
    return click.confirm("Write this?", default=False, err=True)


def _llm(memory: Memory) -> Client | None:
    from commonplace.embedding import configured
    from commonplace.llm.opening import open_llm
    from commonplace.notes.redact import holds_secret

    return open_llm(
        memory.workspace, memory.settings, breaker=configured.breaker(), holds_secret=holds_secret
    )


def _estimate(memory: Memory, days: int | None) -> None:
    from commonplace.lifecycle.consolidation import plan, running

    asked = running.estimate(memory, days=days)
    llm = _llm(memory)
    found = len(asked.shown) + asked.left_out
    told = f"{len(asked.shown)} of {found} statements"
    if llm is None:
        session.write(f"{told}; no language model is set")
        return
    if not found:
        session.write(f"{told}; nothing would be asked")
        return
    most = llm.estimate(asked.messages, plan.SCHEMA, max_tokens=plan.ANSWER_TOKENS)
    cost = "at no known price" if most.dollars is None else f"at most {most.dollars:.4f} dollars"
    cached = "; answered from the cache" if most.cached else ""
    sizes = f"about {most.tokens_in:,} tokens to {llm.name}, at most {most.tokens_out:,} back"
    session.write(f"{told}; {sizes}, {cost}{cached}")


def _show(done: Consolidation, *, asked: bool) -> None:
    for warning in done.warnings:
        failures.warn(warning)
    session.write(done.diff.rstrip("\n"))
    for line in _remarks(done):
        session.note(line)
    if done.candidates and not asked:
        waiting = "1 statement waits" if done.candidates == 1 else f"{done.candidates} statements wait"
        session.note(
            f"no language model is set, and {waiting} for one; "
            "set one with `commonplace models use --llm PROVIDER/MODEL`"
        )
    elif not done.diff:
        session.note("nothing to do")


def _remarks(done: Consolidation) -> Iterator[str]:
    """What the diff does not say, a line each."""
    for item in done.rejected:
        yield f"rejected {_shown(item.operation)}: {screen.one_line(item.reason)}"
    for found in done.contradictions:
        told = f"{found.candidate.label} contradicts {found.entry.statement.citation}"
        yield screen.one_line(f"{told}: {found.candidate.text}")
    for orphan in done.orphans:
        told = f"{orphan.entry.statement.citation}: its source {orphan.reference} {orphan.reason}"
        yield screen.one_line(told)
    if done.left_out:
        yield f"{done.left_out} of {done.candidates} statements did not fit into consolidate.max_tokens"


def _shown(operation: Operation) -> str:
    """An operation in short, on one line."""
    text = screen.one_line(operation.text)
    quoted = f"“{text[:80]}{'…' if len(text) > 80 else ''}”" if text else ""
    return " ".join(filter(None, [operation.op, *map(screen.one_line, operation.targets), quoted]))
