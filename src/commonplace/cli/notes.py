"""`init`, `remember`, `ls`, `multi-get`, `timeline`: notes made, written, listed and read."""

from __future__ import annotations

import os
import shlex
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.cli import failures, picks, session
from commonplace.cli.options import argument, command, flag, option
from commonplace.config import workspaces
from commonplace.render import count, reports
from commonplace.render.screen import one_line

_NAMED = 5  # notes that do not fit; of more, only the number is shown
_NEIGHBOURS = click.IntRange(0, 1000)


@command("init")
@argument("folder", "[DIR]", "folders", required=False)
def init(ctx: click.Context, folder: str | None) -> None:
    """Make a workspace of a folder (default: this one); create missing files, touch no other."""
    from commonplace.memory import Memory, create, left_aside

    session.check_owner(ctx)
    root = os.path.abspath(folder or session.workspace(ctx) or ".")
    made = ", ".join(sorted(os.path.relpath(path, root) for path in create(Path(root))))
    try:
        workspaces.note(Path(root))
    except NoteUnreadable as error:
        failures.warn(f"{error}, so --all-workspaces does not find it")
    session.write(f"workspace {root}: " + (f"made {made}" if made else "complete, nothing to make"))
    with suppress(CommonplaceError), Memory.open(root, agent="") as memory:
        for line in left_aside(memory):
            session.note(line)


@command("remember", dashed="words with a dash stand after --: `{0} -- {1} …`")
@argument("text", nargs=-1, required=True)
@option("--section", metavar="S", help="Section of MEMORY.md, with --long-term.", completes="sections")
@option("--heading", metavar="H", help="Heading in today's note.")
@option("--on", metavar="DAY", help="The day it is about: yesterday, 2026-11-03, 昨天.")
@flag("--long-term", "Write to MEMORY.md instead of today's note.")
@flag("--tentative", "Mark it as a guess: searched, but not recalled until confirmed.")
@flag("--no-redact", "Write secrets as they are.")
def remember(
    ctx: click.Context,
    /,
    text: tuple[str, ...],
    no_redact: bool,
    **options: Any,  # noqa: ANN401 - those of `Memory.remember` by the same name
) -> None:
    """Append an entry to today's note, or to MEMORY.md; - reads it from standard input.

    Prints its place. Keys, tokens and passwords are replaced by [REDACTED:kind] before the entry is written;
    private parts are left out.
    """
    if options["section"] and not options["long_term"]:
        raise click.UsageError("--section is for --long-term; today's note takes --heading", ctx)
    memory = session.open_memory(ctx)
    written = memory.remember(
        session.words_to_write(text), redact=False if no_redact else None, provenance=session.provenance(ctx),
        **options,
    )  # fmt: skip
    place = reports.written_text(written)
    try:
        session.write(place)
    except OSError as error:
        where = f"written to {place}, but standard output cannot be written"
        raise NoteUnreadable(where, error.strerror or "closed") from error
    if written.redacted:
        failures.warn(f"redacted {', '.join(written.redacted)}; --no-redact would keep it")
    for warning in written.warnings:
        failures.warn(warning)
    for other in written.near:
        remedy = f"commonplace correct {shlex.quote(other.citation)} NEW"
        near = one_line(f"near {other.citation}: {other.text} (`{remedy}` if it no longer holds)")
        session.note(near, memory.settings)


@command("timeline", several=True, answers=True)
@argument("anchor", nargs=-1, required=True, completes="notes")
@option("--before", type=_NEIGHBOURS, default=3, show_default=True, metavar="N", help="Passages before it.")
@option("--after", type=_NEIGHBOURS, default=3, show_default=True, metavar="N", help="Passages after it.")
def timeline(ctx: click.Context, anchor: tuple[str, ...], before: int, after: int, form: str) -> None:
    """Show the passages around an anchor in time: PATH:line, '#docid:line', another REF of `get`, or a day.

    A day or a longer time is written in any form that `on:` takes: 2026-02-13, last week, 上周三. Next week
    lists the passages that name its days. Passages of dated notes are in the order of their days, files and
    lines; the anchor is marked. At a terminal each has a number, which `get` and `open` take.
    """
    memory = session.open_memories(ctx)
    around = memory.timeline(" ".join(anchor), before=before, after=after)
    if around.stale:
        failures.warn(f"stale: {around.stale} files changed since they were indexed; run `commonplace sync`")
    for message in around.warnings:
        failures.warn(message)
    look = session.look(memory.settings)
    if form == "text" and look.width is not None:
        picks.keep(session.asking(ctx), picks.references(around.moments, memory.others))
    session.answer(form, around, lambda: reports.timeline_text(around, look), memory.settings)
    if not around.moments:
        ctx.exit(failures.NOTHING_FOUND)


@command("ls", several=True, answers=True)
@argument("under", "[PATH|COLLECTION]", "notes", default="")
def ls(ctx: click.Context, under: str, form: str) -> None:
    """List notes with date, size and title: all, those of a collection or folder, or that a glob matches.

    At a terminal each has a number, which `get` and `open` take.
    """
    from commonplace.memory import listing

    memory = session.open_memories(ctx)
    notes, warnings = listing(memory, under)
    for message in warnings:
        failures.warn(message)
    look = session.look(memory.settings)
    session.answer(form, notes, lambda: reports.notes_text(notes, look, numbered=picks.MOST), memory.settings)
    if form == "text":
        if look.width is not None:
            picks.keep(session.asking(ctx), picks.references(notes, memory.others))
        session.note(f"{count(len(notes), 'note')} · {count(sum(note.size for note in notes), 'byte')}")
    if not notes:
        ctx.exit(failures.NOTHING_FOUND)


@command("multi-get", several=True, answers=True)
@argument("references", "REF...", "notes", nargs=-1, required=True)
@option(
    "--max-bytes", type=click.IntRange(1), default=100_000, show_default=True, metavar="N",
    help="Most bytes in all; notes that do not fit are named.",
)  # fmt: skip
@flag("--no-numbers", "Leave out line numbers.")
def multi_get(
    ctx: click.Context, references: tuple[str, ...], max_bytes: int, no_numbers: bool, form: str
) -> None:
    """Show several notes: references as `get` takes them, lists with commas, and globs in quotation marks.

    Notes that cannot be shown are named on standard error, the first few of those that do not fit, and the
    exit code is 1.
    """
    memory = session.open_memories(ctx)
    notes = memory.get_many(references, max_bytes=max_bytes)
    look = session.look(memory.settings)
    text = reports.gathered_text(notes, numbers=not no_numbers, look=look)
    session.answer(form, notes, lambda: text, memory.settings)
    unfit = [one.path for one in notes.left_out if one.path in notes.unfit]
    for one in notes.left_out:
        if one.path not in unfit[_NAMED:]:
            reason = one.reason if one.reason.startswith(one.path) else f"{one.path}: {one.reason}"
            failures.warn(f"left out: {reason}")
    if (more := len(unfit) - _NAMED) > 0:
        failures.warn(f"… and {more:,} more {'do' if more > 1 else 'does'} not fit")
    if notes.left_out:
        ctx.exit(failures.ERROR)
    if not notes.excerpts:
        ctx.exit(failures.NOTHING_FOUND)
