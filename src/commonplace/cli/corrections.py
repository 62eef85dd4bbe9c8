"""`log`, `restore`: the changes of notes, and lines that other programs overwrote."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import click

from commonplace.base.errors import ConfigError
from commonplace.cli import failures, session
from commonplace.cli.options import argument, command, flag, option
from commonplace.render import count, reports, screen, to_json
from commonplace.types.data import to_data

if TYPE_CHECKING:
    from commonplace.storage.overwritten import Copy

_COPIED_LINES = 3  # of a copy that is listed


@command("log", answers=True)
@argument("run", "[RUN]", "runs", default="")
@option(
    "-n", "--limit", type=click.IntRange(1), default=20, show_default=True, metavar="N", help="Most rows."
)
@flag("--diff", "Show the diff of each.", "with_diffs")
def log(ctx: click.Context, run: str, limit: int, with_diffs: bool, form: str) -> None:
    """List changes of notes, newest first, or show one of them with its diff.

    RUN is the first column of the list, or the beginning of it. Entries that hooks capture are not listed:
    their notes name the writer.
    """
    from commonplace.storage import journal, transaction
    from commonplace.storage import undo as undoing

    workspace = session.workspace_of(ctx)
    for message in transaction.warnings(workspace):
        failures.warn(message)
    listed = [undoing.find(workspace, run)] if run else [*islice(journal.newest_first(workspace), limit)]
    look, settings = session.look(), session.settings_of(ctx)
    diffs = [journal.diff(workspace, one) for one in listed] if with_diffs or run else []
    if form == "json":
        records = [to_data(one) for one in listed]
        for record, diff in zip(records, diffs, strict=False):
            record["diff"] = diff
        session.write(to_json(records))
    elif diffs:
        pairs = zip(listed, diffs, strict=True)
        blocks = [f"{reports.run_text(one, look)}\n\n{reports.diff_text(diff, look)}" for one, diff in pairs]
        session.write_recalled("\n\n\n".join(map(str.rstrip, blocks)), settings)
    else:
        session.write_recalled(reports.log_text(listed, look), settings)
    if not listed:
        if form == "text":
            session.note("no generated change is kept here")
        ctx.exit(failures.NOTHING_FOUND)


@command("restore")
@argument("names", "[NAME]...", nargs=-1)
@flag("--discard", "Delete these copies; without NAME, all of them.")
def restore(ctx: click.Context, names: tuple[str, ...], discard: bool) -> None:
    """Merge into a note the lines that it lost when another program saved it.

    An editor that read a note before a line was added, and saves it afterwards, saves it without that line;
    so does a checkout of an older version. Our version is kept, and this merges it into the present note:
    both changes stand. NAME is that of a copy, or of a note for its newest copy. Without NAME the copies are
    listed. A present line is not written twice.
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
    for copy in (listed[name] for name in names or listed):
        if discard:
            versions.discard(workspace, copy.name)
            session.write(f"deleted {screen.one_line(copy.name)}")
        else:
            put, taken = versions.put_back(workspace, copy.note, [copy])
            out = f", {count(taken, 'line')} taken out" if taken else ""
            session.write(f"{screen.one_line(copy.note)}: {count(put, 'line')} put back{out}")


def _described(copy: Copy, now: bytes) -> str:
    lines = copy.lines(now)
    again = f", {count(len(copy.restored), 'line')} there again that had gone" if copy.restored else ""
    head = f"{copy.name}: {copy.note or 'an unknown note'}, {count(len(lines), 'line')} overwritten{again}"
    more = len(lines) - _COPIED_LINES
    rest = [f"and {more:,} more"] * (more > 0)
    return "\n  ".join(map(screen.one_line, [head, *lines[:_COPIED_LINES], *rest]))
