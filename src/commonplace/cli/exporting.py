"""`export`: all own notes as one file."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import cast

import click

from commonplace.cli import failures, session
from commonplace.cli.options import command, flag, option
from commonplace.render import count, screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from commonplace.upkeep.export import Form

_FORMS = ("md", "json", "zip")


@command("export")
@option("--to", "target", metavar="FILE", help="The file; else standard output.", completes="files")
@option("--format", "form", type=click.Choice(_FORMS), help="One note, JSON, or a zip; else as FILE ends.")
@flag("--private", "Keep private parts and secrets in; a zip always has them.")
@flag("--force", "Replace FILE if it exists.")
def export(ctx: click.Context, target: str | None, form: str | None, private: bool, force: bool) -> None:
    """Write all own notes into one file: MEMORY.md, notes without a day, then day by day.

    A zip holds the unchanged files, with the settings of the workspace: unpacked, it is the workspace again.
    `commonplace import FILE` brings JSON in. The index, sessions, further collections and records are left
    out. The same notes give the same bytes.
    """
    from commonplace.upkeep import export as exporting

    if force and target is None:
        raise click.UsageError("--force goes with --to", ctx)
    form = form or (exporting.form_of(Path(target)) if target else "md")
    if private and form == "zip":
        raise click.UsageError("--private does not go with a zip, which holds the files as they are", ctx)
    is_terminal = session.is_terminal(sys.stdout)
    if form == "zip" and target is None and is_terminal:
        raise click.UsageError("a zip is not written to a terminal; name a file with --to", ctx)
    memory = session.open_memory(ctx)
    exported = exporting.export(memory, cast("Form", form), private=private)
    for failure in exported.failures:
        failures.warn(screen.one_line(f"left out: {failure.path}: {failure.reason}"))
    if target is not None:
        exporting.write(memory, exporting.target_of(target), exported, force=force)
        session.note(screen.one_line(f"{count(exported.files, 'note')} written to {target}"))
    elif is_terminal or (form == "md" and _is_pipe()):
        # The reader of a pipe may be a model; a file gets the notes unframed.
        text = exported.data.decode("utf-8", "replace").rstrip("\n")
        session.write(text) if is_terminal else session.write_recalled(text, memory.settings)
    else:
        sys.stdout.buffer.write(exported.data)
        sys.stdout.flush()
    if exported.failures:
        ctx.exit(failures.ERROR)
    if not exported.files:
        ctx.exit(failures.NOTHING_FOUND)


def _is_pipe() -> bool:
    try:
        return stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    except OSError:  # no file at all
        return False
