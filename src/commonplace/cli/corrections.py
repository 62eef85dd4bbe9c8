"""`correct`, `confirm`, `log`, `undo`, `restore`: statements struck or made firm, and changes taken back."""

from __future__ import annotations

import sys
from datetime import datetime
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

import click

from commonplace.base.errors import ConfigError, PreviewOutdated
from commonplace.cli import failures, session
from commonplace.cli.options import command, completed, format_option, option
from commonplace.render import count, reports, screen, some, to_json

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from commonplace.base.paths import Workspace
    from commonplace.config.settings import Settings
    from commonplace.memory import Memory
    from commonplace.storage.overwritten import Copy
    from commonplace.types import Confirmed, Corrected, Run, Undone

_Outcome = TypeVar("_Outcome", "Corrected", "Confirmed")
_COPIED_LINES = 3  # of a copy that is listed
_DRY_RUN = option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
_WHY = option("--why", metavar="TEXT", default="", help="The reason, for the record (`commonplace log`).")
_SESSION = option(
    "--session", "of_session", metavar="ID", default="", help="The session of the agent that asks for it."
)


@command("correct", excluding=[("--dry-run", "--yes")])
@click.argument("old", metavar="OLD", shell_complete=completed("notes"))
@click.argument("new", metavar="[NEW]", default="")
@_WHY
@option("--nothing", is_flag=True, help="Strike OLD and put nothing in its place.")
@_DRY_RUN
@option("--yes", is_flag=True, help="Do not ask; a terminal is asked before several statements are struck.")
@_SESSION
@format_option(("text", "json"))
@click.pass_context
def correct(
    ctx: click.Context,
    old: str,
    new: str,
    why: str,
    nothing: bool,
    dry_run: bool,
    yes: bool,
    of_session: str,
    form: str,
) -> None:
    """Strike the statement OLD wherever the notes say it, and put NEW beside it.

    OLD is a place (MEMORY.md#L12, memory/2026-02-13.md:12) or the words of the statement: all of it, or whole
    sentences. Struck text stays in the note and out of what is recalled; `commonplace undo` takes it back.
    A single - reads NEW from standard input.
    """
    if nothing == bool(new):
        raise click.UsageError("give NEW, or --nothing to strike OLD alone", ctx)
    memory = session.open_memory(ctx)
    body = session.words_to_write((new,))
    if new and not body.strip():
        raise click.UsageError("NEW is empty; --nothing strikes OLD alone", ctx)
    provenance = session.provenance(ctx, of_session)
    now = datetime.now().astimezone()  # of what is shown and of what is written

    def ask(what: str, look: bool, preview: Corrected | None = None) -> Corrected:
        return memory.correct(
            what, body, why=why, now=now, provenance=provenance, dry_run=look, preview=preview
        )

    asks = session.can_ask(yes=yes) and not dry_run
    what, outcome = _chosen(old, ask, memory.settings, look=asks or dry_run)
    if form == "text":
        session.write_diff(outcome.diff, memory.settings)
    if asks:
        if len(outcome.struck) > 1:
            session.confirm(f"Strike {count(len(outcome.struck), 'statement')}?")
        outcome = ask(what, False, outcome)
    if form == "json":
        session.write(to_json(outcome))
        return
    _tell_corrected(outcome, memory.settings, dry_run=dry_run)


def _tell_corrected(outcome: Corrected, settings: Settings, *, dry_run: bool) -> None:
    """Say what a correction did, what it left out, and what still says nearly the same."""
    for message in outcome.warnings:
        failures.warn(message)
    if outcome.redacted:
        failures.warn(f"redacted {', '.join(outcome.redacted)}")
    session.note(reports.corrected_text(outcome) if not dry_run else "nothing is changed yet")
    if outcome.similar:
        session.note("still said nearly so:")
        session.note(reports.cited_text(outcome.similar, session.look(stream=sys.stderr)), settings)


@command("confirm")
@click.argument("statement", metavar="REF|WORDS", nargs=-1, required=True, shell_complete=completed("notes"))
@option("--reject", is_flag=True, help="Strike it instead: it turned out to be wrong.")
@_WHY
@_DRY_RUN
@_SESSION
@format_option(("text", "json"))
@click.pass_context
def confirm(
    ctx: click.Context,
    statement: tuple[str, ...],
    reject: bool,
    why: str,
    dry_run: bool,
    of_session: str,
    form: str,
) -> None:
    """Let a tentative statement hold from now on: the mark that it is a guess is taken away.

    It is named by its place (memory/2026-02-13.md#L12) or its words. Before that it is found by a search, and
    never recalled; `commonplace search status:tentative` lists all.
    """
    from commonplace.edit.correct import confirm as confirming

    memory = session.open_memory(ctx)
    by = session.provenance(ctx, of_session)
    who: dict[str, Any] = {"by": by.by, "agent": by.agent, "session": by.session} if by else {}
    now = datetime.now().astimezone()  # of what is shown and of what is written

    def ask(what: str, look: bool, preview: Confirmed | None = None) -> Confirmed:
        return confirming(
            memory.workspace, memory.settings, what, reject=reject, why=why, now=now,
            dry_run=look, preview=preview, **who,
        )  # fmt: skip

    _, outcome = _chosen(session.text_argument(statement), ask, memory.settings, look=dry_run)
    if form == "json":
        session.write(to_json(outcome))
        return
    session.write_diff(outcome.diff, memory.settings)
    session.note(reports.confirmed_text(outcome) if not dry_run else "nothing is changed yet")


def _chosen(
    what: str, ask: Callable[..., _Outcome], settings: Settings, *, look: bool
) -> tuple[str, _Outcome]:
    """What is meant, and what becomes of it, or would (`look`); where nothing says that, the owner chooses.

    What is near is offered by its words: where others stand there by now, nothing is changed.
    """
    from commonplace.edit.resolve import StatementNotFound

    try:
        return what, ask(what, look)
    except StatementNotFound as error:
        asking = session.can_ask()
        if not error.near:
            raise
        if asking:
            failures.warn(str(error))
        session.note("near it:")
        look_at = session.look(stream=sys.stderr)
        session.note(reports.cited_text(error.near, look_at, numbered=asking), settings)
        if not asking:
            raise
        number = click.prompt("Which one? (0 for none)", type=click.IntRange(0, len(error.near)), err=True)
        if not number:
            raise click.Abort from error
        near = error.near[number - 1]
        outcome: _Outcome = ask(near.citation, True)
        # An index shows whole passages with their marks, of which the statement is only a part.
        letters = ["".join(filter(str.isalnum, text)) for text in (near.text, *outcome.said)]
        if not any(said in letters[0] for said in letters[1:]):  # another line stands there by now
            raise PreviewOutdated([near.citation]) from error
        return near.citation, outcome if look else ask(near.citation, False, outcome)


@command("log")
@click.argument("run", metavar="[RUN]", default="", shell_complete=completed("runs"))
@option(
    "-n",
    "--limit",
    type=click.IntRange(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Most changes to list.",
)
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
    from commonplace.types.data import to_data

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


@command("undo", excluding=[("--dry-run", "--yes")])
@click.argument("run", metavar="[RUN]", default="", shell_complete=completed("runs"))
@option("--since", is_flag=True, help="Take back RUN and all that was generated after it, newest first.")
@_DRY_RUN
@option("--yes", is_flag=True, help="Do not ask; a terminal is shown the changes and asked.")
@format_option(("text", "json"))
@click.pass_context
def undo(ctx: click.Context, run: str, since: bool, dry_run: bool, yes: bool, form: str) -> None:
    """Take back a change: the newest that stands and can be undone, or RUN, by what `log` calls it.

    An entry of `remember` is taken out of its note. What was written after it stays, to the byte. Where that
    cannot be had nothing is changed, and the message says why, and what to undo first. An undo can be undone,
    which does the change again.
    """
    memory = session.open_memory(ctx)
    planned = _planned(ctx, memory, run, since=since)
    for passed in planned.skipped:
        session.note(screen.one_line(passed))
    titles = some([screen.one_line(one.about.title) for one in planned.runs])
    asks = session.can_ask(yes=yes) and not dry_run
    if dry_run:
        session.write(to_json(planned)) if form == "json" else session.write_diff(
            planned.diff, memory.settings
        )
        told = f"would take back {count(len(planned.runs), 'generated change')}: {titles}"
        session.note(told, memory.settings)
        return
    if asks:
        session.write_diff(planned.diff, memory.settings)
        session.confirm(f"Take back {titles}?")
    done = memory.undo(
        planned.runs[-1].id, since=since, agent=session.agent(ctx) or "", preview=planned if asks else None
    )
    for kind, name in done.withdrawn:
        session.note(screen.one_line(f"{kind} {name or '(all)'} is removed; its files are untouched"))
    if done.lacking:
        what = count(done.lacking, "collection or context", "collections and contexts")
        failures.warn(f"{what} of that import stay away: only notes come back; import it again to add them")
    _tell_undone(done, form, memory.settings)


def _planned(ctx: click.Context, memory: Memory, run: str, *, since: bool) -> Undone:
    """What would be taken back; end where nothing would."""
    from commonplace.storage import undo as undoing

    if since and not run:
        raise click.UsageError("--since needs the RUN to begin with; `commonplace log` lists them", ctx)
    try:
        return memory.undo(run, since=since, dry_run=True)
    except undoing.NothingToUndo as error:
        session.note(str(error))
        ctx.exit(failures.NOTHING_FOUND)


def _tell_undone(done: Undone, form: str, settings: Settings) -> None:
    """Say which changes were taken back, and what git did not take."""
    for warning in filter(None, (one.uncommitted for one in done.runs)):
        failures.warn(warning)
    if form == "json":
        session.write(to_json(done))
        return
    for one in done.runs:
        paths = ", ".join(screen.name(file.path) for file in one.files)
        session.write_recalled(f"{one.id}: {one.about.title}" + (f" ({paths})" if paths else ""), settings)


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
    for said in overwritten(workspace):
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


def overwritten(workspace: Workspace) -> list[str]:
    """Return warnings of notes that other programs overwrote since the last write or sync, each once."""
    from commonplace.storage import overwritten

    return overwritten.warnings(workspace)


def _described(copy: Copy, now: bytes) -> str:
    lines = copy.lines(now)
    again = f", {count(len(copy.restored), 'line')} there again that had gone" if copy.restored else ""
    head = f"{copy.name}: {copy.note or 'an unknown note'}, {count(len(lines), 'line')} overwritten{again}"
    more = len(lines) - _COPIED_LINES
    rest = [f"and {more:,} more"] if more > 0 else []
    return "\n  ".join(map(screen.one_line, [head, *lines[:_COPIED_LINES], *rest]))


@command("merge", excluding=[("--dry-run", "--yes")])
@click.argument("copies", metavar="[COPY]...", nargs=-1, shell_complete=completed("notes"))
@_DRY_RUN
@option("--yes", is_flag=True, help="Do not ask; a terminal is shown the changes and asked.")
@click.pass_context
def merge(ctx: click.Context, copies: tuple[str, ...], dry_run: bool, yes: bool) -> None:
    """Merge the conflict copies that a sync program left into their notes, entry by entry.

    Entries that only the copy has are put into the note, then the copy is deleted; `commonplace undo` takes
    both back. `sync` does so by itself where every entry of a copy is new, equal or struck. Where both
    machines changed one entry, both versions stand until you delete one. Without COPY all are merged.
    """
    from commonplace.edit import merge as merging

    memory = session.open_memory(ctx)
    found = merging.find(memory.workspace, memory.settings)
    if not found:
        session.note("there are no conflict copies")
        ctx.exit(failures.NOTHING_FOUND)
    for copy in copies or tuple(found):
        planned = merging.plan(memory.workspace, memory.settings, copy)
        session.write_diff(planned.diff, memory.settings)
        names = screen.name(copy), screen.name(planned.note)
        told = ", ".join(f"{number:,} {what}" for number, what in planned.told if number)
        session.note(f"{names[0]} into {names[1]}: {told or 'nothing new'}")
        if not dry_run:
            if session.can_ask(yes=yes):
                session.confirm(f"Merge {names[0]} and delete it?")
            merging.apply(memory.workspace, memory.settings, planned)
