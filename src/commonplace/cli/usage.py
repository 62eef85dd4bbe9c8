"""`usage`: what was asked, what was opened, and what is never found, from the workspace's own record."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.screen import Look
    from commonplace.types import NoteInfo


@command("usage")
@option("--days", type=click.IntRange(1, 10_000), metavar="N", help="The last N days, with today.")
@option("--never", is_flag=True, help="List every note that no question ever found, and nothing else.")
@option("--clear", is_flag=True, help="Delete the record.")
@option("--yes", is_flag=True, help="Do not ask before that, which happens on a terminal alone.")
@format_option(("text", "json"))
@click.pass_context
def usage(ctx: click.Context, days: int | None, never: bool, clear: bool, yes: bool, form: str) -> None:
    """Show what was asked, found and opened, what found nothing, and what is never found.

    The record lies in the workspace and is told to nobody; questions are kept without secrets and private
    parts. `usage.record = false` in your own config.toml turns it off. A note counts as opened when `get`
    reads it within half an hour, and as never found when it has not changed since the record began.
    """
    if clear and (days is not None or never):
        raise click.UsageError("--clear deletes the whole record; leave out --days and --never", ctx)
    memory = session.open_memory(ctx)
    if clear:
        _clear(memory, form, ask=session.is_terminal(sys.stdin) and not yes)
        return
    found = memory.usage(days)
    look = session.look(memory.settings)
    if never:
        _list(found.never_found, form, look)
        if not found.never_found:
            ctx.exit(failures.NOTHING_FOUND)
    elif form == "json":
        session.write(render.to_json(render.usage_data(found)))
    else:
        session.write(render.usage_text(found, look))


def _list(notes: Sequence[NoteInfo], form: str, look: Look) -> None:
    if form == "json":
        session.write(render.to_json(render.notes_data(notes)))
        return
    session.write(render.notes_text(notes, look))
    size = sum(note.size for note in notes)
    session.note(f"{render.count(len(notes), 'note')} · {render.count(size, 'byte')}")


def _clear(memory: Memory, form: str, *, ask: bool) -> None:
    from commonplace.usage.journal import Journal

    if ask:
        click.confirm("Delete the record of what was asked and opened?", abort=True, err=True)
    gone = Journal(memory.workspace, memory.settings.usage).clear()
    if form == "json":
        session.write(render.to_json({"questions": gone}))
    else:
        session.write(f"deleted the record of {render.count(gone, 'question')}")
