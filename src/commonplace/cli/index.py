"""`sync`, `watch`, `status`, `usage`, `index …`: the index, and what else is kept of a workspace."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import click

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError
from commonplace.cli import failures, progress, session
from commonplace.cli.options import Group, command, format_option, option
from commonplace.render import count, reports, screen
from commonplace.storage.queue import Queue

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SyncReport
    from commonplace.upkeep.activity import Activity

_LONGEST_QUESTION = 60  # cells
_WAIT_S = 10.0  # for another process that writes the same spool down


@command("sync", excluding=[("--estimate", "--every"), ("--estimate", "--no-embed")])
@option("--no-embed", is_flag=True, help="Bring the text up to date, compute no vectors.")
@option("--pull", is_flag=True, help="First run the commands that bring collections up to date.")
@option("--every", type=click.FloatRange(0.01), metavar="MIN", help="Repeat every MIN minutes, until Ctrl-C.")
@option(
    "--estimate", is_flag=True, help="Bring the text up to date, say what the vectors would take, and stop."
)
@option(
    "--drop-missing",
    multiple=True,
    metavar="NAME",
    help="Let go of what is indexed of a collection's folder that is missing or without notes; repeatable.",
)
@format_option(("text", "json"))
@click.pass_context
def sync(
    ctx: click.Context, no_embed: bool, pull: bool, every: float | None, estimate: bool,
    drop_missing: tuple[str, ...], form: str,
) -> None:  # fmt: skip
    """Bring the index up to the files, then compute the vectors that are missing.

    Ctrl-C stops it at any time; the next sync goes on where it stopped.
    """
    if pull and estimate:
        raise click.UsageError("--estimate runs no commands; leave out --pull.")
    memory = session.open_memory(ctx)
    if estimate:
        from commonplace.memory import estimate as estimate_sync

        with progress.shown() as bar:
            expected = estimate_sync(memory, progress=bar)
        for message in expected.warnings:
            failures.warn(message)
        session.answer(form, expected, lambda: reports.estimate_text(expected))
        return
    while True:
        tell(run(memory, embed=not no_embed, pull=pull, drop_missing=drop_missing), form)
        if every is None:
            return
        time.sleep(every * 60)


def run(
    memory: Memory,
    *,
    embed: bool = True,
    pull: bool = False,
    patient: bool = False,
    drop_missing: Sequence[str] = (),
) -> SyncReport:
    """Sync with a bar on the terminal; stopped with Ctrl-C, say what is left.

    Entries that hooks left in the queue are written into notes first.
    """
    try:
        _write_queue_down(memory)
        with progress.shown() as bar:
            return memory.sync(
                embed=embed, pull=pull, patient=patient, progress=bar, drop_missing=drop_missing
            )
    except KeyboardInterrupt:
        state = memory.status()
        left = [
            *([f"{count(state.stale, 'file')} to read"] if state.stale else []),
            *([f"{count(state.pending, 'passage')} without a vector"] if state.pending else []),
        ]
        rest = ", ".join(left) or "nothing left"
        failures.warn(f"interrupted: {rest}; `commonplace sync` goes on from here")
        raise


def tell(report: SyncReport, form: str) -> None:
    """Print what a sync did, and what it could not do."""
    for failure in report.failed:
        failures.warn(f"{failure.path}: {failure.reason}")
    for message in report.warnings:
        failures.warn(message)
    session.answer(form, report, lambda: reports.sync_text(report))


def _write_queue_down(memory: Memory) -> None:
    """Write the queue into notes, and say what could not be."""
    queue = Queue(memory.workspace)
    done = queue.drain(memory.capture, wait_s=_WAIT_S)
    if done.trouble:
        failures.warn(f"entries wait in the queue: {done.trouble}")
    if done.set_aside:
        number = count(done.set_aside, "entry", "entries")
        failures.warn(f"{number} could not be written into a note; see {paths.shown(queue.set_aside)}")


@command("use")
@click.argument("place", metavar="URL|local")
@click.pass_context
def use(ctx: click.Context, place: str) -> None:
    """Keep the index on a server (postgresql://USER@HOST/DB, milvus://HOST:19530/DB) or in a file (local).

    It is built there with the vectors that exist, while the present one answers. Then `index.url` in your
    own config.toml names it, for all your workspaces; one that is left is deleted from its server.
    """
    from commonplace.config import editing

    session.check_owner(ctx)
    url = place if place != "local" else ""
    former, memory = session.open_memory(ctx), session.open_memory(ctx, {"index.url": url})
    memory.store.begin_with(former.store)
    tell(run(memory), "text")
    editing.set_values({"index.url": url or None})
    if former.settings.index.url != url:
        former.store.drop()


@command("watch")
@option("--no-embed", is_flag=True, help="Bring the text up to date, compute no vectors.")
@click.pass_context
def watch(ctx: click.Context, no_embed: bool) -> None:
    """Sync once, then whenever a note changes, until Ctrl-C.

    A search never relies on it: it compares the files itself. `commonplace schedule print --watch` prints a
    service that does it in the background.
    """
    from commonplace.memory import watch as watching

    memory = session.open_memory(ctx)

    def again(*changed: object) -> None:
        try:
            report = run(memory, embed=not no_embed, patient=True)
        except CommonplaceError as error:
            failures.report(error)
            return
        changes = (report.added, report.changed, report.moved, report.removed, report.embedded, report.failed)
        if any(changes):
            tell(report, "text")

    again()
    watching(memory, again, stop=threading.Event(), state=failures.warn)


@command("status")
@option("--paths", "only_paths", is_flag=True, help="Show where notes, state, index and settings are.")
@format_option(("text", "json"))
@click.pass_context
def status(ctx: click.Context, only_paths: bool, form: str) -> None:
    """Show what the index holds, which level answers, and whether files have changed since."""
    if only_paths:
        places = session.workspace_of(ctx).places()
        rows = [(name, paths.shown(place)) for name, place in places.items()]
        session.answer(form, {name: os.fspath(place) for name, place in places.items()},
                       lambda: "\n".join(screen.table(rows)))  # fmt: skip
        return
    memory = session.open_memory(ctx)
    state = memory.status()
    for message in (*state.warnings, *_waiting(memory)):
        failures.warn(message)
    session.answer(form, state, lambda: reports.status_text(state, session.look(memory.settings)))


def _waiting(memory: Memory) -> Iterator[str]:
    """Report overwritten notes, and entries that wait or fit into no note."""
    from commonplace.storage import overwritten

    yield from overwritten.warnings(memory.workspace)

    queue = Queue(memory.workspace)
    held = queue.waiting()
    if held.entries:
        number = count(held.entries, "entry", "entries")
        yield f"{number} wait in the queue; `commonplace sync` writes them into the notes"
    if held.set_aside:
        number = count(held.set_aside, "entry", "entries")
        yield f"{number} could not be written into a note; see {paths.shown(queue.set_aside)}"


@command("usage", excluding=[("--last", "--days"), ("--last", "--never"), ("--last", "--clear")])
@option("--days", type=click.IntRange(1, 10_000), metavar="N", help="The last N days, with today.")
@option("--never", is_flag=True, help="List every note that no question ever found, and nothing else.")
@option(
    "--last",
    type=click.IntRange(1, 500),
    metavar="N",
    help="List the last N questions and openings, newest first: when, who, what was found; nothing else.",
)
@option("--clear", is_flag=True, help="Delete the record.")
@option("--yes", is_flag=True, help="Do not ask before that, which happens on a terminal alone.")
@format_option(("text", "json"))
@click.pass_context
def usage(
    ctx: click.Context, days: int | None, never: bool, last: int | None, clear: bool, yes: bool, form: str
) -> None:
    """Show what was asked, found and opened, what found nothing, and what is never found.

    The record lies in the workspace and is told to nobody: of several workspaces each has its own, so
    name one. Questions are kept without secrets and private parts. `usage.record = false` in your own
    config.toml turns it off. A note counts as opened when `get` reads it within half an hour, for the last
    question that found it, and as never found when no question did since the record began.
    """
    if clear and (days is not None or never):
        raise click.UsageError("--clear deletes the whole record; leave out --days and --never", ctx)
    memory = session.open_memory(ctx)
    if clear:
        from commonplace.memory import clear_usage

        if session.can_ask(yes=yes):
            session.confirm("Delete the record of what was asked and opened?")
        gone = clear_usage(memory)
        deleted = f"deleted the record of {count(gone, 'question')}"
        session.answer(form, {"questions": gone}, lambda: deleted)
        return
    if last:
        _answer_uses(ctx, memory, last, form)
        return
    used = memory.usage(days)
    look = session.look(memory.settings)
    if not never:
        session.answer(form, used, lambda: reports.usage_text(used, look))
        return
    notes = used.never_found
    session.answer(form, notes, lambda: reports.notes_text(notes, look), memory.settings)
    if form == "text":
        session.note(f"{count(len(notes), 'note')} · {count(sum(note.size for note in notes), 'byte')}")
    if not notes:
        ctx.exit(failures.NOTHING_FOUND)


def _answer_uses(ctx: click.Context, memory: Memory, most: int, form: str) -> None:
    """Print the last searches, recalls and reads."""
    from commonplace.upkeep import activity

    uses = activity.lately(memory, most, ("search", "recall", "get"))
    session.answer(form, uses, lambda: _uses_text(uses))
    if not uses:
        ctx.exit(failures.NOTHING_FOUND)


def _uses_text(uses: Sequence[Activity]) -> str:
    rows = [
        (
            one.at[:16].replace("T", " "),
            one.agent or "owner",
            one.kind,
            f"{one.tokens:,}" if one.question else "",
            screen.shorten(screen.one_line(one.question), _LONGEST_QUESTION),
            screen.name((*one.places, "")[0]),
        )
        for one in uses
    ]
    return screen.headed([("when", "who", "did", "tokens", "question", "first"), *rows], (3,))


index_group = Group("index", commands=[use], help="Keep the index on a server or in a local file.")
