"""`timeline`, `ls`, `multi-get`: what surrounds a moment, which notes there are, several of them at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, format_option, option

if TYPE_CHECKING:
    from commonplace.types import Gathered

_NAMED = 5  # notes that do not fit; of more the number is told
_NEIGHBOURS = click.IntRange(0, 1000)


@command("timeline")
@click.argument("anchor")
@option("--before", type=_NEIGHBOURS, default=3, show_default=True, metavar="N", help="Passages before it.")
@option("--after", type=_NEIGHBOURS, default=3, show_default=True, metavar="N", help="Passages after it.")
@format_option(("text", "json"))
@click.pass_context
def timeline(ctx: click.Context, anchor: str, before: int, after: int, form: str) -> None:
    """Show what surrounds an anchor in time: PATH:line, '#docid:line', another REF of `get`, or a day.

    Passages of daily notes and of other dated ones stand in the order of their days, files and lines; what
    was asked about is marked. A note without a date has no place in it.
    """
    memory = session.open_memory(ctx)
    found = memory.timeline(anchor, before=before, after=after)
    if found.stale:
        failures.warn(f"stale: {found.stale} files changed since they were indexed; run `commonplace sync`")
    if form == "json":
        session.write(render.to_json(render.timeline_data(found)))
    else:
        session.write(render.timeline_text(found, session.look(memory.settings)))
        if not any(moment.is_anchor for moment in found.moments):
            session.note(f"nothing was written down for {anchor}")
    if not found.moments:
        ctx.exit(failures.NOTHING_FOUND)


@command("ls")
@click.argument("under", metavar="[PATH|COLLECTION]", default="")
@format_option(("text", "json"))
@click.pass_context
def ls(ctx: click.Context, under: str, form: str) -> None:
    """List notes with date, size and title: all, those of a collection or folder, or that a glob matches."""
    memory = session.open_memory(ctx)
    found = memory.notes(under)
    if form == "json":
        session.write(render.to_json(render.notes_data(found)))
    else:
        session.write(render.notes_text(found, session.look(memory.settings)))
        size = sum(note.size for note in found)
        session.note(f"{render.count(len(found), 'note')} · {render.count(size, 'byte')}")
    if not found:
        ctx.exit(failures.NOTHING_FOUND)


@command("multi-get")
@click.argument("references", metavar="REF...", nargs=-1, required=True)
@option(
    "--max-bytes",
    type=click.IntRange(1),
    default=100_000,
    show_default=True,
    metavar="N",
    help="Most bytes in all; notes that do not fit are named.",
)
@option("--no-numbers", is_flag=True, help="Leave out line numbers.")
@format_option(("text", "json"))
@click.pass_context
def multi_get(
    ctx: click.Context, references: tuple[str, ...], max_bytes: int, no_numbers: bool, form: str
) -> None:
    """Show several notes: references as `get` takes them, lists with commas, and globs in quotation marks.

    What cannot be shown is named on standard error, the first few of what does not fit, and the exit code is
    1.
    """
    memory = session.open_memory(ctx)
    found = memory.get_many(references, max_bytes=max_bytes)
    if form == "json":
        session.write(render.to_json(render.gathered_data(found)))
    else:
        look = session.look(memory.settings)
        session.write(render.gathered_text(found, numbers=not no_numbers, look=look))
    _tell_left_out(found)
    if found.left_out:
        ctx.exit(failures.ERROR)
    if not found.excerpts:
        ctx.exit(failures.NOTHING_FOUND)


def _tell_left_out(found: Gathered) -> None:
    room = _NAMED
    for one in found.left_out:
        if one.path in found.unfit:
            room -= 1
            if room < 0:
                continue
        reason = one.reason if one.reason.startswith(one.path) else f"{one.path}: {one.reason}"
        failures.warn(f"left out: {reason}")
    if room < 0:
        failures.warn(f"… and {-room:,} more {'do' if room < -1 else 'does'} not fit")
