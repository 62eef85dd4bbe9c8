"""`sessions follow|list|show|unfollow`: transcripts, those of other programs as well."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.cli import session
from commonplace.cli.options import Group, command, format_option, option
from commonplace.config.settings import TRANSCRIPTS
from commonplace.render import screen
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from commonplace.transcripts.formats import Place


@command("follow")
@click.argument("place", metavar="PATH")
@option(
    "--format",
    "kind",
    type=click.Choice(TRANSCRIPTS),
    default="auto",
    show_default=True,
    help="Whose transcripts they are; auto: each file tells.",
)
@option("--name", default="", metavar="N", help="Name of the collection; the folder's own unless given.")
@click.pass_context
def follow(ctx: click.Context, place: str, kind: str, name: str) -> None:
    """Make the transcripts of a folder, or one file or archive, searchable where they lie.

    Nothing is copied and nothing of theirs is written to. A search reads a transcript again when it has
    grown by some size or has rested for a while (settings sessions.*), `commonplace sync` always.
    """
    from commonplace.upkeep import following

    added = following.follow(Path(session.workspace_root(ctx)), place, name=name, kind=kind)
    session.write(f"following {added.path} as {added.name}; `commonplace sync` reads it")


@command("list")
@format_option(("text", "json"))
@click.pass_context
def list_(ctx: click.Context, form: str) -> None:
    """List the transcripts, those written to last first: id, format, when, size."""
    from commonplace.upkeep import following

    listed = following.sessions(session.open_memory(ctx))
    times = [datetime.fromtimestamp(one.written).isoformat(timespec="minutes") for one in listed]
    rows = [
        [screen.one_line(one.id), one.format or "unknown", when.replace("T", " "), screen.size(one.size)]
        for one, when in zip(listed, times, strict=True)
    ]
    data = [to_data(one) | {"written": when} for one, when in zip(listed, times, strict=True)]
    session.answer(form, data, lambda: "\n".join(screen.table(rows, right=(3,))) or "no transcripts")


@command("show")
@click.argument("name", metavar="ID")
@option("--last", type=click.IntRange(1), metavar="N", help="Only the last N messages.")
@format_option(("text", "json"))
@click.pass_context
def show(ctx: click.Context, name: str, last: int | None, form: str) -> None:
    """Print the messages of a transcript, private parts and secrets left out."""
    from commonplace.upkeep import following

    messages = following.read(session.open_memory(ctx), name, last)
    data = [{"line": one.line, **to_data(one.turn)} for one in messages]
    session.answer(form, data, lambda: "\n\n".join(map(_text, messages)) or "no messages")


@command("unfollow")
@click.argument("name")
@click.pass_context
def unfollow(ctx: click.Context, name: str) -> None:
    """Search a collection's transcripts no longer; the files are not touched."""
    from commonplace.upkeep import following

    following.unfollow(Path(session.workspace_root(ctx)), name)
    session.write(f"unfollowed {name}; its files are untouched")


def _text(one: Place) -> str:
    who = f"{one.turn.role} {one.turn.tool}".strip()
    calls = [f"  → {call.name} {call.arguments}" for call in one.turn.calls]
    head = " · ".join(filter(None, [f"L{one.line}" if one.line else "", who, one.turn.at]))
    return screen.clean("\n".join(filter(None, [head, one.turn.text, *calls])))


sessions = Group(
    "sessions",
    commands=(follow, list_, show, unfollow),
    help="Transcripts of conversations, searched where they lie.",
)
