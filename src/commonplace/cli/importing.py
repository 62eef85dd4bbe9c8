"""`import`: what another memory holds, brought into this one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import ConfigError
from commonplace.cli import failures, progress, session
from commonplace.cli.options import command, completed, option
from commonplace.render import reports, screen, to_json
from commonplace.types.progress import listening

if TYPE_CHECKING:
    from commonplace.imports.kinds import Kind
    from commonplace.types.imports import Import

_TOLD = 20  # of what is left out


@command("import")
@click.argument("words", metavar="[KIND] [PATH]...", nargs=-1, shell_complete=completed("imports"))
@option("--dry-run", is_flag=True, help="Show what would be written and where, and write nothing.")
@option("--diff", "show", is_flag=True, help="Show every line that is written, too.")
@option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def import_(ctx: click.Context, words: tuple[str, ...], dry_run: bool, show: bool, as_json: bool) -> None:
    """Bring in what another memory holds, once; a second time only what is new or has changed there.

    KIND is openclaw, nanobot, claude-mem, basic-memory, mem0, chats (the exports of ChatGPT and Claude),
    obsidian, logseq, qmd or commonplace (its own JSON export), or is recognised by the PATH. Without a PATH
    it is looked for where it usually lies. Memories go to the notes of their days; folders of notes and
    transcripts are searched where they lie. Secrets and private parts stay
    out, and `commonplace undo` takes the notes back.
    """
    from commonplace.upkeep import intake

    chosen = _chosen(words)
    memory = session.open_memory(ctx)
    with progress.shown() as bar, listening(bar, lambda: True):
        done = [
            intake.carry_out(memory, kind.name, os.fspath(path), kind.read(path), dry_run=dry_run, show=show)
            for kind, path in chosen
        ]
    if as_json:
        session.write(to_json(done[0] if len(done) == 1 else done))
    look = session.look(memory.settings)
    for one, (kind, path) in zip(done, chosen, strict=True):
        if show and not as_json:
            session.write_diff(one.diff, memory.settings)
        if not as_json:
            session.write(reports.import_text(one, look))
        _tell(one, kind, path)
    if any(one.left_out for one in done):
        ctx.exit(failures.ERROR)
    if all(one.is_empty for one in done):
        ctx.exit(failures.NOTHING_FOUND)


def _tell(done: Import, kind: Kind, path: Path) -> None:
    """Report to standard error the files left out, the remarks, and the totals."""
    for left in done.left_out[:_TOLD]:
        failures.warn(screen.one_line(f"left out: {left.path}: {left.reason}"))
    if (more := len(done.left_out) - _TOLD) > 0:
        failures.warn(f"left out: {more:,} more (--json names them)")
    for remark in done.remarks:
        session.note(screen.one_line(remark))
    if done.redacted:
        failures.warn(f"redacted {', '.join(done.redacted)}")
    if done.is_empty and not done.left_out:
        held = f"nothing to import was found in {path}; looked for was {kind.what}"
        session.note(screen.one_line(f"{done.source}: {held}"))
    else:
        session.note(_footer(done))


def _chosen(words: tuple[str, ...]) -> list[tuple[Kind, Path]]:
    """Each path with its kind. Raises click.UsageError without any word, ConfigError."""
    from commonplace.imports import kinds

    kind, places = (kinds.find(words[0]), words[1:]) if words else (None, ())
    if kind is None:
        if not words:
            names = ", ".join(one.name for one in kinds.KINDS)
            raise click.UsageError(f"Missing argument 'KIND' or 'PATH'; kinds are {names}.")
        if not (os.sep in words[0] or os.path.lexists(words[0]) or words[0].startswith("~")):
            names = ", ".join(one.name for one in kinds.KINDS)
            raise ConfigError("kind", f"{words[0]!r} is neither a kind nor a path; there are {names}")
        return [kinds.chosen("", path) for path in words]
    return [kinds.chosen(kind.name, path) for path in places or ("",)]


def _footer(done: Import) -> str:
    """Say in one line what an import came to, and how it is taken back."""
    if done.dry_run:
        return f"{reports.import_outcome(done)}; nothing is written yet"
    return reports.import_outcome(done) + ("; `commonplace undo` takes it back" if done.run else "")
