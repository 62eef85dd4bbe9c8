"""`restore`: lines that left a note when another program saved it, shown and put back."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace import render, screen
from commonplace.cli import failures, session
from commonplace.cli.options import command, option

if TYPE_CHECKING:
    from commonplace.notes.copies import Copy

_SHOWN = 3  # lines of a copy


@command("restore")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@option("--discard", is_flag=True, help="Delete these copies; without NAME, all of them.")
@click.pass_context
def restore(ctx: click.Context, names: tuple[str, ...], discard: bool) -> None:
    """Put lines back that left a note when another program saved it.

    An editor that read a note before a line was added, and saves it afterwards, saves it without that line. A
    copy of each such line is kept. Without NAME the copies are listed. A line that stands in its note again
    is not written twice.
    """
    from commonplace.errors import ConfigError
    from commonplace.notes import copies
    from commonplace.paths import Workspace

    workspace = Workspace(Path(session.workspace_root(ctx)))
    listed = {copy.name: copy for copy in copies.listed(workspace)}
    if unknown := [name for name in names if name not in listed]:
        told = f"there is no copy {screen.one_line(unknown[0])}; `commonplace restore` lists them"
        raise ConfigError("restore", told)
    if not listed:
        session.note("no lines were overwritten")
        ctx.exit(failures.NOTHING_FOUND)
    if not names and not discard:
        session.write("\n".join(map(_shown, listed.values())))
        return
    for name in names or tuple(listed):
        copy = listed[name]
        if discard:
            copies.discard(workspace, copy)
            session.write(f"deleted {screen.one_line(name)}")
        else:
            number = copies.restore(workspace, copy)
            session.write(f"{screen.one_line(copy.note)}: {render.count(number, 'line')} put back")


def _shown(copy: Copy) -> str:
    how = "taken out, nothing else was changed" if copy.is_taken_out else "overwritten"
    note = copy.note or "a note that is gone"
    lines = [f"{copy.name}: {note}, {render.count(len(copy.lines), 'line')} {how}"]
    lines += copy.lines[:_SHOWN]
    if (more := len(copy.lines) - _SHOWN) > 0:
        lines.append(f"and {more:,} more")
    return "\n  ".join(map(screen.one_line, lines))
