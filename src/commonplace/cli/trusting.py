"""`trust`: what was set aside because it is not signed by this user, signed and moved back after a yes."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.options import command
from commonplace.errors import NoteUnreadable

if TYPE_CHECKING:
    from commonplace.paths import Workspace


@command("trust")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def trust(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show records in `.commonplace/foreign/`, and take them back after a yes on a terminal.

    A record that your commonplace has not signed is set aside: one from another machine or another user, from
    a version before records were signed, or one that came with a folder to make the program act. Without NAME
    all of them are shown and asked about, one by one. What cannot be shown whole is never signed.

    Two machines that write one folder must know each other's keys: add the line of the other machine's
    `signing.key` to yours, below your own, in `~/.config/commonplace/`, and yours to the other's. What that
    machine wrote then stays where it is, and `trust` moves back what was set aside, without asking.

    Ends with 1 where a record could not be shown or taken back.
    """
    from commonplace import paths, records
    from commonplace.errors import ConfigError
    from commonplace.paths import Workspace

    if not paths.keeps_key():
        raise ConfigError("trust", paths.keyless())
    workspace = Workspace(Path(session.workspace_root(ctx)))
    listed = records.foreign(workspace.files)
    if told := paths.closed(workspace):
        failures.warn(told)
    if unknown := [name for name in names if name not in listed]:
        raise ConfigError("trust", f"nothing is set aside as {screen.one_line(unknown[0])}")
    if standing := records.unsigned(workspace.files):
        count = render.count(len(standing), "record")
        session.note(f"{count} not signed by you, and not set aside yet: `commonplace sync` does it")
    if not listed:
        session.note("no foreign record is set aside")
        ctx.exit(failures.NOTHING_FOUND)
    left, failed = _settle_each(workspace, names or listed)
    if left and not session.is_terminal(sys.stdin):
        count = render.count(left, "record")
        session.note(f"{count} not taken back: `commonplace trust` asks about each, on a terminal alone")
    if left or failed:
        session.note("`commonplace trust --help` says how the key of another machine of yours is added")
    if failed:
        ctx.exit(failures.ERROR)


def _settle_each(workspace: Workspace, names: Sequence[str]) -> tuple[int, int]:
    """Settle records one by one; return how many were left, and how many could not be shown or taken back."""
    left, failed = 0, 0
    for name in names:
        try:
            left += not _settle(workspace, name)
        except NoteUnreadable as error:
            failures.warn(str(error))
            failed += 1
    return left, failed


def _settle(workspace: Workspace, name: str) -> bool:
    """Show a record, and sign it after a yes; whether it was. Raises NoteUnreadable."""
    from commonplace import records
    from commonplace.history import adoption
    from commonplace.notes import folded

    aside = records.inspect(workspace.files, name)
    shown = screen.one_line(folded.visible(name))
    if aside.is_signed:
        records.adopt(workspace.files, aside)
        session.note(f"{shown}: signed by a machine of yours, and moved back")
        return True
    lines = adoption.described(workspace, aside).split("\n")
    session.write("\n".join([shown, *(f"  {line}" for line in lines)]))
    if not session.is_terminal(sys.stdin):
        return False
    if not click.confirm("Sign it, and act upon it from now on?", default=False, err=True):
        return False
    records.adopt(workspace.files, aside)
    return True
