"""`trust`: what was set aside because it is not signed by this user, signed and moved back after a yes."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.options import command

_MOST = 4000  # characters of a record that a person reads through before a yes


@command("trust")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@click.pass_context
def trust(ctx: click.Context, names: tuple[str, ...]) -> None:
    """Show records in `.commonplace/foreign/`, and take them back after a yes on a terminal.

    A record that your commonplace has not signed is set aside: one from another machine or another user, from
    a version before records were signed, or one that came with a folder to make the program act. Without NAME
    all of them are shown and asked about, one by one.
    """
    from commonplace import paths, records
    from commonplace.base.signature import KEY_FILE
    from commonplace.errors import ConfigError
    from commonplace.paths import Workspace

    if not paths.keeps_key():
        raise ConfigError("trust", paths.keyless())
    files = Workspace(Path(session.workspace_root(ctx))).files
    listed = records.foreign(files)
    if told := paths.closed(Workspace(Path(files.path))):
        failures.warn(told)
    if unknown := [name for name in names if name not in listed]:
        raise ConfigError("trust", f"nothing is set aside as {screen.one_line(unknown[0])}")
    waiting = list(names) or listed
    if not waiting:
        session.note("no foreign record is set aside")
        ctx.exit(failures.NOTHING_FOUND)
    key = paths.shown(paths.user_config_dir() / KEY_FILE)
    session.note(f"records of yours from another machine are known once its key lies in {key}")
    asks = session.is_terminal(sys.stdin)
    for name in waiting:
        text = screen.one_line(records.describe(files, name))
        session.write(f"{screen.one_line(name)}\n  {text[:_MOST]}")
        if len(text) > _MOST:
            session.note("not taken back: it is longer than what is shown; copy the key it was signed with")
        elif asks and click.confirm("Sign it, and act upon it from now on?", default=False, err=True):
            records.adopt(files, name)
    if not asks:
        told = render.count(len(waiting), "record")
        session.note(f"{told} not taken back: `commonplace trust` asks about each, on a terminal alone")
