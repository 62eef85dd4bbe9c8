"""`log`, `restore`: the changes of notes, and lines that other programs overwrote."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import ConfigError
from commonplace.cli import failures, session
from commonplace.cli.options import command, completed, format_option, option
from commonplace.render import count, reports, screen, to_json
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from collections.abc import Sequence

    from commonplace.base.paths import Workspace
    from commonplace.config.settings import Settings
    from commonplace.storage.overwritten import Copy
    from commonplace.types import Run

_COPIED_LINES = 3  # of a copy that is listed


@command("log")
@click.argument("run", metavar="[RUN]", default="", shell_complete=completed("runs"))
@option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N",
    help="Most changes to list."
)  # fmt: skip
@option("--diff", is_flag=True, help="Show the diff of each.")
@format_option(("text", "json"))
@click.pass_context
def log(ctx: click.Context, run: str, limit: int, diff: bool, form: str) -> None:
    """List changes of notes, newest first, or show one of them with its diff.

    RUN is the first column of the list, or the beginning of it. Entries that hooks capture are not here:
    their notes say who wrote them.
    """
    from commonplace.storage import journal, transaction
    from commonplace.storage import undo as undoing

    workspace = session.workspace_of(ctx)
    for message in transaction.warnings(workspace):
        failures.warn(message)
    listed = [undoing.find(workspace, run)] if run else [*islice(journal.newest_first(workspace), limit)]
    _show_runs(workspace, listed, form, session.settings_of(ctx), with_diffs=diff or bool(run))
    if not listed:
        if form == "text":
            session.note("no generated change is kept here")
        ctx.exit(failures.NOTHING_FOUND)


def _show_runs(
    workspace: Workspace, listed: Sequence[Run], form: str, settings: Settings, *, with_diffs: bool
) -> None:
    """Print generated changes in short, or each with its diff."""
    from commonplace.storage import journal

    look = session.look()
    diffs = [journal.diff(workspace, run) for run in listed] if with_diffs else []
    if form == "json":
        records = [to_data(run) for run in listed]
        for record, diff in zip(records, diffs, strict=False):
            record["diff"] = diff
        session.write(to_json(records))
    elif diffs:
        pairs = zip(listed, diffs, strict=True)
        blocks = (f"{reports.run_text(run, look)}\n\n{reports.diff_text(diff, look)}" for run, diff in pairs)
        session.write_recalled("\n\n\n".join(map(str.rstrip, blocks)), settings)
    else:
        session.write_recalled(reports.log_text(listed, look), settings)


@command("restore")
@click.argument("names", metavar="[NAME]...", nargs=-1)
@option("--discard", is_flag=True, help="Delete these copies; without NAME, all of them.")
@click.pass_context
def restore(ctx: click.Context, names: tuple[str, ...], discard: bool) -> None:
    """Merge into a note what it lost when another program saved it.

    An editor that read a note before a line was added, and saves it afterwards, saves it without that line;
    so does a checkout of an older version. Our version is kept, and this merges it into the note as it is
    now: both changes stand. NAME is that of a copy, or of a note for its newest copy. Without NAME the copies
    are listed. A line that stands is not written twice.
    """
    from commonplace.storage import overwritten as versions

    workspace = session.workspace_of(ctx)
    for said in versions.warnings(workspace):
        session.note(said)
    listed = {copy.name: copy for copy in versions.copies(workspace)}
    newest = {copy.note: copy.name for copy in listed.values()}
    names = tuple(name if name in listed else newest.get(name, name) for name in names)
    if unknown := set(names).difference(listed):
        problem = f"there is no copy {screen.one_line(min(unknown))}; `commonplace restore` lists them"
        raise ConfigError("restore", problem)
    if not listed:
        session.note("no lines were overwritten")
        ctx.exit(failures.NOTHING_FOUND)
    if not names and not discard:
        texts = (_described(copy, versions.read(workspace, copy)) for copy in listed.values())
        session.write_recalled("\n".join(texts), session.settings_of(ctx))
        return
    for name in names or tuple(listed):
        copy = listed[name]
        if discard:
            versions.discard(workspace, copy.name)
            session.write(f"deleted {screen.one_line(name)}")
        else:
            put, taken = versions.put_back(workspace, copy.note, [copy])
            out = f", {count(taken, 'line')} taken out" if taken else ""
            session.write(f"{screen.one_line(copy.note)}: {count(put, 'line')} put back{out}")


def _described(copy: Copy, now: bytes) -> str:
    lines = copy.lines(now)
    again = f", {count(len(copy.restored), 'line')} there again that had gone" if copy.restored else ""
    head = f"{copy.name}: {copy.note or 'an unknown note'}, {count(len(lines), 'line')} overwritten{again}"
    more = len(lines) - _COPIED_LINES
    rest = [f"and {more:,} more"] if more > 0 else []
    return "\n  ".join(map(screen.one_line, [head, *lines[:_COPIED_LINES], *rest]))
