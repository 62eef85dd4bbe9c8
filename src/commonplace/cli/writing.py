"""`init`, `remember`: what creates and writes notes."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

from commonplace import render
from commonplace.cli import failures, session
from commonplace.cli.options import command, option
from commonplace.errors import NoteUnreadable

if TYPE_CHECKING:
    from commonplace.types import Written


@command("init")
@click.argument("folder", metavar="[DIR]", required=False)
@click.pass_context
def init(ctx: click.Context, folder: str | None) -> None:
    """Make a workspace of a folder (default: this one); create what is missing, touch nothing else."""
    from pathlib import Path

    from commonplace.notes import layout

    root = os.path.abspath(folder or session.workspace(ctx) or ".")
    made = layout.init(Path(root))
    shown = sorted(os.path.relpath(path, root) for path in made)
    session.write(
        f"workspace {root}: " + (f"made {', '.join(shown)}" if shown else "complete, nothing to make")
    )


@command("remember")
@click.argument("text", nargs=-1, required=True)
@option("--section", metavar="S", help="Section of MEMORY.md, with --long-term.")
@option("--heading", metavar="H", help="Heading in today's note.")
@option("--long-term", is_flag=True, help="Write to MEMORY.md instead of today's note.")
@option("--tentative", is_flag=True, help="Mark it as a guess: searched, but not recalled until confirmed.")
@option("--no-redact", is_flag=True, help="Write secrets as they are.")
@click.pass_context
def remember(
    ctx: click.Context,
    text: tuple[str, ...],
    section: str | None,
    heading: str | None,
    long_term: bool,
    tentative: bool,
    no_redact: bool,
) -> None:
    """Append an entry to today's note, or to MEMORY.md; - reads it from standard input.

    Says where it went. Keys, tokens and passwords are replaced by [REDACTED:kind] before anything is
    written; <private> parts are left out.
    """
    if section and not long_term:
        raise click.UsageError("--section is for --long-term; today's note takes --heading", ctx)
    memory = session.open_memory(ctx)
    written = memory.remember(
        session.words_to_write(text),
        section=section,
        heading=heading,
        long_term=long_term,
        redact=False if no_redact else None,
        tentative=tentative,
    )
    try:
        session.write(render.written_text(written))
    except OSError as error:
        told = f"{render.written_text(written)}, but standard output cannot be written"
        raise NoteUnreadable(f"written to {told}", error.strerror or "closed") from error
    if written.redacted:
        failures.warn(f"redacted {', '.join(written.redacted)}; --no-redact would keep it")
    for warning in written.warnings:
        failures.warn(warning)
    _warn_of_contradictions(written)


def _warn_of_contradictions(written: Written) -> None:
    """Say what the notes hold against an entry, and how to settle it; nothing was changed for it."""
    if written.contradicts:
        import shlex
    for other in written.contradicts:
        remedy = f"commonplace correct {shlex.quote(other.citation)} NEW"
        failures.warn(f"{other.citation} says otherwise: {other.text} (`{remedy}` would strike it)")
