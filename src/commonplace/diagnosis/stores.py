"""The other stores: ledger, record of use, caches, queue, generated changes, the last consolidation."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import apsw

from commonplace.base import paths, snapshot
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.diagnosis.examination import Case, listed
from commonplace.index.sqlite import schema
from commonplace.render import screen
from commonplace.search import journal
from commonplace.storage import journal as runs
from commonplace.storage import keyvalue, overwritten
from commonplace.storage.queue import Queue
from commonplace.storage.state import path as state_file
from commonplace.types import Finding
from commonplace.upkeep.schedule import due, templates

_ATTEMPTS = 3  # what looks damaged may have been written meanwhile
LATE_S = 7 * 86_400.0  # age of a late answer that is still reported


def databases(case: Case) -> Iterator[Finding]:
    """See that the ledger, the record of use and the caches are whole."""
    move = "move {file} away: a new one is begun, and budgets count from zero"
    rows = [(paths.user_cache_dir(case.environ) / f"{name}.sqlite", "") for name in ("vectors", "answers")]
    if case.workspace is not None:
        rows += [(case.workspace.ledger, "calls"), (case.workspace.usage, "questions")]
    for path, table in rows:
        # A file without bytes: who made it was killed before the first write.
        if path.exists() and path.stat().st_size and (what := wrong_with(path, table)):
            shown = paths.shown(path)
            told = message("store.wrong", "{file} {what}", file=shown, what=what)
            remedy = message("cache.delete", "delete {file}*", file=shown)
            if table == "calls":
                remedy = message("ledger.move", move, file=shown)
            elif table == "questions":
                remedy = message("usage.clear", "`commonplace usage --clear` begins a new one")
            yield Finding(f"stores.{path.stem}", "wrong" if table == "calls" else "warning", told, remedy)


def wrong_with(path: Path, table: str = "") -> str:
    """Return what is wrong with a database; an empty text for a whole one, or one that is never at rest."""
    if not paths.root_of(path).is_file(path):
        return message("database.link", "is no regular file, or a link leads to it")
    for _ in range(_ATTEMPTS):
        before, told = snapshot.marks(path), ""
        try:
            with snapshot.standing(path) as copy:
                told = damage(copy, table)
        except (CommonplaceError, OSError) as error:
            told = _unreadable(error)
        if not told or snapshot.marks(path) == before:
            return told
    return ""


def damage(copy: str, table: str = "") -> str:
    """Return what SQLite finds damaged in a database at rest, which may have to hold a table."""
    try:
        with closing(schema.connect(copy, readonly=True)) as connection, schema.translated(copy):
            found = snapshot.check(connection)
            if not found and table:
                connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()
    except (CommonplaceError, OSError, apsw.Error) as error:
        return _unreadable(error)
    return message("database.damaged", "is damaged: {what}", what=listed(found)) if found else ""


def _unreadable(error: Exception) -> str:
    reason = getattr(error, "reason", str(error))
    return message("database.unreadable", "cannot be read ({reason})", reason=reason)


def late_hooks(case: Case) -> Iterator[Finding]:
    """Warn for a week after answers of hooks that came too late."""
    if case.workspace is None:
        return
    late, last_s = journal.late(case.workspace.usage)
    if case.now_s - last_s < LATE_S:
        told = message("usage.late", "{n:answer} of hooks came after their deadline", n=late)
        mend = "`commonplace serve --daemon` keeps a server ready; --deadline waits longer"
        yield Finding("stores.hooks", "warning", told, message("usage.late.mend", mend))


def spool(case: Case) -> Iterator[Finding]:
    """See whether entries wait to be written into notes, and whether any could not be kept."""
    if case.workspace is None or not state_file(case.workspace).exists():
        return
    queue = Queue(case.workspace)
    held = queue.waiting()
    if held.entries:
        wait = "{n:entry|entries} wait to be written into notes"
        remedy = message("spool.sync", "`commonplace sync` writes them, or says why not")
        yield Finding("stores.spool", "warning", message("spool.waiting", wait, n=held.entries), remedy)
    if held.set_aside:
        aside = "{n:entry|entries} could not be written into a note"
        look = message("spool.look", "look at {file}, then delete it", file=paths.shown(queue.set_aside))
        told = message("spool.damaged", aside, n=held.set_aside)
        yield Finding("stores.spool_damaged", "warning", told, look)


def history(case: Case) -> Iterator[Finding]:
    """Name the generated changes that were begun and not done, or done in part; tell their size."""
    workspace = case.workspace
    if workspace is None or not state_file(workspace).exists():
        return
    changes = runs.listed(workspace)
    if begun := [run.id for run in changes if run.state == "begun"]:
        undone = "{n:generated change} begun and not done: {runs}"
        told = message("history.begun", undone, n=len(begun), runs=listed(begun))
        mend = message("history.begun.mend", "`commonplace sync` carries it on, or says why not")
        yield Finding("stores.history", "warning", told, mend)
    # A partial change that was undone, as far as it went, needs no attention any more.
    if partial := [run.id for run in changes if run.state == "partial" and not run.undone]:
        part = "{n:generated change} done in part: {runs}"
        told = message("history.partial", part, n=len(partial), runs=listed(partial))
        back = "`commonplace log RUN` says what was left, `commonplace undo RUN` takes the rest back"
        yield Finding("stores.history_partial", "warning", told, message("history.partial.mend", back))
    if changes and not begun and not partial:
        text = "{n:generated change} can be read; of {most:,} MB (history.keep_mb) they take {size}"
        size, most = screen.size(runs.size(workspace)), case.settings.history.keep_mb
        told = message("history.fine", text, n=len(changes), most=most, size=size)
        yield Finding("stores.history", "ok", told)


def unfinished(case: Case) -> Iterator[Finding]:
    """Name the forgettings that were begun and not done, and the versions that were overwritten."""
    if case.workspace is None:
        return
    if begun := [name for name, _ in keyvalue.each(case.workspace, "erasing")]:
        undone = "{n:forgetting} begun and not done: {places}"
        told = message("erasing", undone, n=len(begun), places=listed(begun))
        yield Finding("stores.erasing", "warning", told, "commonplace forget --resume")
    if copies := [copy.name for copy in overwritten.copies(case.workspace)]:
        over = "{n:version} of ours that other programs overwrote: {places}"
        told = message("overwritten", over, n=len(copies), places=listed(copies))
        shows = "`commonplace restore` shows them and puts them back; with --discard it deletes them"
        yield Finding("stores.overwritten", "warning", told, message("overwritten.restore", shows))


def consolidation(case: Case) -> Iterator[Finding]:
    """See that the last consolidation did not fail."""
    if case.workspace is None:
        return
    known = due.record(case.workspace)
    if known is not None and known.tried > known.at:
        when, why = known.tried[:16].replace("T", " "), screen.one_line(known.result)
        told = message("schedule.failed", "the consolidation of {when} failed: {why}", when=when, why=why)
        log = paths.shown(case.workspace.state / templates.LOG)
        see = "see what `commonplace consolidate` says; {log} holds what the night printed"
        yield Finding("schedule.last", "warning", told, message("schedule.log", see, log=log))
