"""`sync`, `watch`, `status`: keeping the index up to the files."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING

import click

from commonplace import records, render
from commonplace.cli import failures, progress, session, spooled
from commonplace.cli.options import command, format_option, option
from commonplace.errors import CommonplaceError

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SyncReport


@command("sync")
@option("--no-embed", is_flag=True, help="Bring the text up to date, compute no vectors.")
@option("--pull", is_flag=True, help="First run the commands that bring collections up to date.")
@option("--every", type=click.FloatRange(0.01), metavar="MIN", help="Repeat every MIN minutes, until Ctrl-C.")
@option(
    "--estimate", is_flag=True, help="Bring the text up to date, say what the vectors would take, and stop."
)
@format_option(("text", "json"))
@click.pass_context
def sync(
    ctx: click.Context, no_embed: bool, pull: bool, every: float | None, estimate: bool, form: str
) -> None:
    """Bring the index up to the files, then compute the vectors that are missing.

    Ctrl-C stops it at any time; the next sync goes on where it stopped.
    """
    if pull and estimate:
        raise click.UsageError("--estimate runs no commands; leave out --pull.")
    memory = session.open_memory(ctx)
    if estimate:
        _estimate(memory, form)
        return
    while True:
        tell(run(memory, embed=not no_embed, pull=pull), form)
        if every is None:
            return
        time.sleep(every * 60)


def _estimate(memory: Memory, form: str) -> None:
    from commonplace.memory import estimate

    with progress.shown() as told:
        found = estimate(memory, progress=told)
    for message in found.warnings:
        failures.warn(message)
    if form == "json":
        session.write(render.to_json(render.estimate_data(found)))
    else:
        session.write(render.estimate_text(found))


def run(memory: Memory, *, embed: bool = True, pull: bool = False, patient: bool = False) -> SyncReport:
    """Sync with a bar on the terminal; stopped with Ctrl-C, say what is left.

    Records that are not signed are set aside first, and what hooks left in the spool is written into notes.
    """
    try:
        records.set_unsigned_aside(memory.workspace.files)
        spooled.write_down(memory)
        with progress.shown() as told:
            return memory.sync(embed=embed, pull=pull, patient=patient, progress=told)
    except KeyboardInterrupt:
        _say_what_is_left(memory)
        raise


def _say_what_is_left(memory: Memory) -> None:
    """Say what an interrupted sync leaves to do, from the index itself."""
    state = memory.status()
    left = [
        *([f"{render.count(state.stale, 'file')} to read"] if state.stale else []),
        *([f"{render.count(state.pending, 'passage')} without a vector"] if state.pending else []),
    ]
    failures.warn(f"interrupted: {', '.join(left) or 'nothing left'}; `commonplace sync` goes on from here")


def tell(report: SyncReport, form: str) -> None:
    """Print what a sync did, and what it could not do."""
    for failure in report.failed:
        failures.warn(f"{failure.path}: {failure.reason}")
    for message in report.warnings:
        failures.warn(message)
    session.write(render.sync_text(report) if form == "text" else render.to_json(render.sync_data(report)))
    sys.stdout.flush()


def _did_something(report: SyncReport) -> bool:
    counts = (report.added, report.changed, report.moved, report.removed, report.embedded, report.failed)
    return any(counts)


@command("watch")
@option("--no-embed", is_flag=True, help="Bring the text up to date, compute no vectors.")
@click.pass_context
def watch(ctx: click.Context, no_embed: bool) -> None:
    """Sync once, then whenever a note changes, until Ctrl-C.

    A search never relies on it: it compares the files itself.
    """
    import threading
    from pathlib import Path

    from commonplace.memory import sources
    from commonplace.notes import watch as watching

    memory = session.open_memory(ctx)
    settings = memory.settings.watch

    def again(*changed: object) -> None:
        try:
            report = run(memory, embed=not no_embed, patient=True)
        except CommonplaceError as error:
            failures.report(error)
        else:
            if _did_something(report):
                tell(report, "text")

    again()
    watching.watch(
        [Path(source.root) for source in sources(memory)],
        again,
        debounce_s=settings.debounce_s,
        interval_s=settings.interval_s,
        stop=threading.Event(),
        on_state=failures.warn,
    )


@command("status")
@format_option(("text", "json"))
@click.pass_context
def status(ctx: click.Context, form: str) -> None:
    """Show what the index holds, which level answers, and whether files have changed since."""
    memory = session.open_memory(ctx)
    state = memory.status()
    for message in (*state.warnings, *spooled.waiting(memory)):
        failures.warn(message)
    if form == "json":
        session.write(render.to_json(render.status_data(state)))
    else:
        session.write(render.status_text(state, session.look(memory.settings)))
