"""`sync`, `watch`, `status`, `usage`, `index use`: the index, and the record of use."""

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
from commonplace.cli.options import Group, argument, command, flag, option
from commonplace.render import count, reports, screen
from commonplace.storage.queue import Queue

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.types import SyncReport
    from commonplace.upkeep.activity import Activity

_LONGEST_QUESTION = 60  # cells
_WAIT_S = 10.0  # for another process that drains the queue

_no_embed = flag("--no-embed", "Bring the text up to date, compute no vectors.")


@command("sync", excluding=[("--estimate", one) for one in ("--every", "--no-embed", "--pull")], answers=True)
@_no_embed
@flag("--pull", "First run the commands that bring collections up to date.")
@option("--every", type=click.FloatRange(0.01), metavar="MIN", help="Repeat every MIN minutes, until Ctrl-C.")
@flag("--estimate", "Bring the text up to date, show the cost of the vectors, and stop.")
@option(
    "--drop-missing", multiple=True, metavar="NAME",
    help="Drop the index of a collection whose folder is missing or without notes; repeatable.",
)  # fmt: skip
def sync(
    ctx: click.Context, no_embed: bool, pull: bool, every: float | None, estimate: bool,
    drop_missing: tuple[str, ...], form: str,
) -> None:  # fmt: skip
    """Bring the index up to the files, then compute the missing vectors.

    Ctrl-C stops it at any time; the next sync continues from there.
    """
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
    """Sync with a bar on the terminal; after Ctrl-C, say how much is left.

    Entries that hooks left in the queue are written into notes first.
    """
    try:
        queue = Queue(memory.workspace)
        done = queue.drain(memory.capture, wait_s=_WAIT_S)
        if done.trouble:
            failures.warn(f"entries wait in the queue: {done.trouble}")
        if done.set_aside:
            failures.warn(_set_aside(queue, done.set_aside))
        with progress.shown() as bar:
            return memory.sync(
                embed=embed, pull=pull, patient=patient, progress=bar, drop_missing=drop_missing
            )
    except KeyboardInterrupt:
        state = memory.status()
        left = [f"{count(state.stale, 'file')} to read"] * bool(state.stale)
        left += [f"{count(state.pending, 'passage')} without a vector"] * bool(state.pending)
        rest = ", ".join(left) or "nothing left"
        failures.warn(f"interrupted: {rest}; `commonplace sync` goes on from here")
        raise


def tell(report: SyncReport, form: str) -> None:
    """Print the result of a sync, and its failures."""
    for failure in report.failed:
        failures.warn(f"{failure.path}: {failure.reason}")
    for message in report.warnings:
        failures.warn(message)
    session.answer(form, report, lambda: reports.sync_text(report))


def _set_aside(queue: Queue, number: int) -> str:
    entries = count(number, "entry", "entries")
    return f"{entries} could not be written into a note; see {paths.shown(queue.set_aside)}"


@command("use")
@argument("place", "URL|local")
def use(ctx: click.Context, place: str) -> None:
    """Keep the index on a server (postgresql://USER@HOST/DB, milvus://HOST:19530/DB) or in a file (local).

    It is built there with the existing vectors, while the present one answers. Then `index.url` in your own
    config.toml names it, for all your workspaces; the former one is deleted from its server.
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


index_group = Group("index", commands=[use], help="Keep the index on a server or in a local file.")


@command("watch")
@_no_embed
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
    watching(memory, again, stop=threading.Event(), on_state=failures.warn)


@command("status", answers=True)
@flag("--paths", "Show the paths of notes, state, index and settings.", "only_paths")
def status(ctx: click.Context, only_paths: bool, form: str) -> None:
    """Show the size of the index, the level that answers, and whether files have changed since."""
    if only_paths:
        places = session.workspace_of(ctx).places()
        rows = [(name, paths.shown(place)) for name, place in places.items()]
        data = {name: os.fspath(place) for name, place in places.items()}
        session.answer(form, data, lambda: "\n".join(screen.table(rows)))
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
        yield _set_aside(queue, held.set_aside)


_ALONE = [("--last", one) for one in ("--days", "--never", "--clear")]
_ALONE += [("--clear", one) for one in ("--days", "--never")]


@command("usage", excluding=_ALONE, answers=True)
@option("--days", type=click.IntRange(1, 10_000), metavar="N", help="The last N days, with today.")
@flag("--never", "List every note that no question ever found, and nothing else.")
@option(
    "--last", type=click.IntRange(1, 500), metavar="N",
    help="List the last N questions and openings, newest first: when, who, the first note found.",
)  # fmt: skip
@flag("--clear", "Delete the record.")
@flag("--yes", "Do not ask before that; only a terminal is asked.")
def usage(
    ctx: click.Context, days: int | None, never: bool, last: int | None, clear: bool, yes: bool, form: str
) -> None:
    """Show the questions, their notes and openings, those without a hit, and notes that are never found.

    The record stays on this machine; each workspace has its own, so name one. Questions are kept without
    secrets and private parts. `usage.record = false` in your own config.toml turns it off. A note counts as
    opened when `get` reads it within half an hour after the last question that found it, and as never found
    when no question found it since the record began.
    """
    memory = session.open_memory(ctx)
    look = session.look(memory.settings)
    if clear:
        from commonplace.memory import clear_usage

        if session.can_ask(yes=yes):
            session.confirm("Delete the record of questions and openings?")
        gone = clear_usage(memory)
        session.answer(form, {"questions": gone}, lambda: f"deleted the record of {count(gone, 'question')}")
    elif last:
        from commonplace.upkeep import activity

        uses = activity.lately(memory, last, ("search", "recall", "get"))
        session.answer(form, uses, lambda: _uses_text(uses))
        if not uses:
            ctx.exit(failures.NOTHING_FOUND)
    elif never:
        notes = memory.usage(days).never_found
        session.answer(form, notes, lambda: reports.notes_text(notes, look), memory.settings)
        if form == "text":
            session.note(f"{count(len(notes), 'note')} · {count(sum(note.size for note in notes), 'byte')}")
        if not notes:
            ctx.exit(failures.NOTHING_FOUND)
    else:
        used = memory.usage(days)
        session.answer(form, used, lambda: reports.usage_text(used, look))


@command("why", answers=True)
@click.argument("which", metavar="[LAST|SESSION|N]", default="LAST")
def why(ctx: click.Context, which: str, form: str) -> None:
    """Show what prompts were given: the last block, those of a session, or the last N.

    Of each passage its factors (as `search --explain` shows them), its tokens, and whether its words turned
    up in what the model said or did next. The prefix of a prompt is kept where a block stands beside the
    newest message. The record is that of `usage`.
    """
    from commonplace.agent import receipts

    found = receipts.listed(session.open_memory(ctx), which)
    session.answer(form, found, lambda: receipts.text(found))
    if not found:
        ctx.exit(failures.NOTHING_FOUND)


def _uses_text(uses: Sequence[Activity]) -> str:
    rows = [
        (
            one.at[:16].replace("T", " "), one.agent or "owner", one.kind,
            f"{one.tokens:,}" if one.question else "",
            screen.shorten(screen.one_line(one.question), _LONGEST_QUESTION),
            screen.name((*one.places, "")[0]),
        )
        for one in uses
    ]  # fmt: skip
    return screen.headed([("when", "who", "did", "tokens", "question", "first"), *rows], (3,))
