"""`import`: the notes of another memory brought into this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.actions.incoming import IMPORT
from commonplace.base.errors import ConfigError
from commonplace.cli import acting, failures, session
from commonplace.cli.options import argument, command, flag

if TYPE_CHECKING:
    from commonplace.imports.kinds import Kind


@command("import", excluding=[("--dry-run", "--yes")], answers=True)
@argument("words", "[KIND] [PATH]...", nargs=-1, completes="imports")
@flag("--dry-run", "Show places and lines that would be written, and write nothing.")
@flag("--yes", "Do not ask.")
def import_(ctx: click.Context, words: tuple[str, ...], dry_run: bool, yes: bool, form: str) -> None:
    """Bring in the notes of another memory, once; a second time only new and changed ones.

    KIND is openclaw, nanobot, claude-mem, basic-memory, mem0, chats (the exports of ChatGPT and Claude),
    obsidian, logseq, qmd or commonplace (its own JSON export), or is recognised by the PATH. Without a PATH
    its usual place is read. Memories go to the notes of their days; folders of notes and transcripts are
    searched in their place. Secrets and private parts stay out, and `commonplace undo` takes the notes back.
    """
    codes = []
    for kind, path in _chosen(words):
        values, by = {"kind": kind.name, "path": os.fspath(path)}, session.provenance(ctx)
        code, done = acting.carry_out(ctx, IMPORT, values, by, dry_run=dry_run, yes=yes, form=form)
        if code == failures.NOTHING_FOUND and not done.is_empty:
            code = 0  # all of it is known already
        codes.append(failures.ERROR if done.left_out else code)
    ctx.exit(failures.ERROR if failures.ERROR in codes else min(codes))


def _chosen(words: tuple[str, ...]) -> list[tuple[Kind, Path]]:
    """Return each path with its kind. Raises click.UsageError without any word, ConfigError."""
    from commonplace.imports import kinds

    names = ", ".join(one.name for one in kinds.KINDS)
    if not words:
        raise click.UsageError(f"Missing argument 'KIND' or 'PATH'; kinds are {names}.")
    if (kind := kinds.find(words[0])) is not None:
        return [kinds.chosen(kind.name, path) for path in words[1:] or ("",)]
    if not (os.sep in words[0] or os.path.lexists(words[0]) or words[0].startswith("~")):
        raise ConfigError("kind", f"{words[0]!r} is neither a kind nor a path; there are {names}")
    return [kinds.chosen("", path) for path in words]
