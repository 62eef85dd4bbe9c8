"""`export`: all own notes as one file."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import cast

import click

from commonplace.cli import failures, session
from commonplace.cli.options import command, completed, option
from commonplace.render import count, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.upkeep.export import Form

_FORMS = ("md", "json", "zip")


def _is_pipe() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:  # no file at all
        return False


@command("export")
@option(
    "--to",
    "target",
    metavar="FILE",
    help="Where to write it, outside the notes; otherwise standard output.",
    shell_complete=completed("files"),
)
@option(
    "--format",
    "form",
    type=click.Choice(_FORMS),
    help="One Markdown file, JSON, or a zip of the files; otherwise as FILE ends, or md.",
)
@option("--private", is_flag=True, help="Keep private parts and secrets in; a zip always has them.")
@option("--force", is_flag=True, help="Replace FILE if it is there.")
@click.pass_context
def export(ctx: click.Context, target: str | None, form: str | None, private: bool, force: bool) -> None:
    """Write all own notes into one file: MEMORY.md, notes without a day, then day by day.

    A zip holds the files as they are, with the settings of the workspace: unpacked, it is the
    workspace again. `commonplace import FILE` brings JSON in. The index, sessions, further collections and
    records are left out. The same notes give the same bytes.
    """
    if force and target is None:
        raise click.UsageError("--force goes with --to", ctx)
    from commonplace.upkeep import export as exporting

    form = form or (exporting.form_of(Path(target)) if target else "md")
    if private and form == "zip":
        raise click.UsageError("--private does not go with a zip, which holds the files as they are", ctx)
    if form == "zip" and target is None and session.is_terminal(sys.stdout):
        raise click.UsageError("a zip is nothing for a terminal; name a file with --to", ctx)
    memory = session.open_memory(ctx)
    exported = exporting.export(memory, cast("Form", form), private=private)
    for failure in exported.failures:
        failures.warn(screen.one_line(f"left out: {failure.path}: {failure.reason}"))
    if target is not None:
        exporting.write(memory, exporting.target_of(target), exported, force=force)
        session.note(screen.one_line(f"{count(exported.files, 'note')} written to {target}"))
    elif session.is_terminal(sys.stdout):
        session.write(exported.data.decode("utf-8", "replace").rstrip("\n"))
    elif form == "md" and _is_pipe():
        # The reader of a pipe may be a model; a file that output is directed to holds the notes as they are.
        session.write_recalled(exported.data.decode("utf-8", "replace").rstrip("\n"), memory.settings)
    else:
        sys.stdout.buffer.write(exported.data)
        sys.stdout.flush()
    if exported.failures:
        ctx.exit(failures.ERROR)
    if not exported.files:
        ctx.exit(failures.NOTHING_FOUND)
