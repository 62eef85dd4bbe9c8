"""The other stores: ledger, record of use, spool, generated changes, and caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from commonplace.base import paths, snapshot
from commonplace.base.errors import CommonplaceError, NoteUnreadable
from commonplace.base.messages import Message, message
from commonplace.diagnosis.examination import Case, listed, size
from commonplace.index.sqlite import schema
from commonplace.search import journal
from commonplace.storage import journal as runs
from commonplace.storage.queue import Queue
from commonplace.storage.state import path as state_file
from commonplace.types import Finding

CACHES = ("vectors.sqlite", "answers.sqlite")
_ATTEMPTS = 3  # what looks damaged may have been written meanwhile

LATE_S = 7 * 86_400.0  # since an answer that came too late, for which it is worth a word


def ledger(case: Case) -> Iterator[Finding]:
    """See that the record of calls can be read."""
    if case.workspace is None:
        return
    path = case.workspace.ledger
    if not path.exists() or not path.stat().st_size:  # who made it was killed before the first call
        none = "no ledger yet: no call to a model was recorded"
        yield Finding("stores.ledger", "ok", message("ledger.none", none))
        return
    told = wrong_with(path, "calls")
    shown = paths.shown(path)
    if told:
        remedy = message(
            "ledger.move", "move {file} away: a new one is begun, and budgets count from zero", file=shown
        )
        wrong = message("ledger.wrong", "the ledger {file} {what}", file=shown, what=told)
        yield Finding("stores.ledger", "wrong", wrong, remedy)
    else:
        fine = message("ledger.fine", "the ledger can be read ({size})", size=size(path.stat().st_size))
        yield Finding("stores.ledger", "ok", fine)


def usage(case: Case) -> Iterator[Finding]:
    """See that the record of use can be read, and that hooks were in time."""
    if case.workspace is None:
        return
    path = case.workspace.usage
    late, last_s = journal.late(path)
    if case.now_s - last_s < LATE_S:
        too_late = message("usage.late", "{n:answer} of hooks came after their deadline", n=late)
        remedy = message(
            "usage.late.mend", "`commonplace serve --daemon` keeps a server ready; --deadline waits longer"
        )
        yield Finding("stores.hooks", "warning", too_late, remedy)
    shown = paths.shown(path)
    told = wrong_with(path, "questions") if path.exists() else ""
    if told:
        remedy = message("usage.clear", "`commonplace usage --clear` begins a new one")
        wrong = message("usage.wrong", "the record of use {file} {what}", file=shown, what=told)
        yield Finding("stores.usage", "warning", wrong, remedy)
    elif not path.exists():
        yield Finding("stores.usage", "ok", _or_off(message("usage.none", "no record of use yet"), case))
    else:
        fine = message("usage.fine", "the record of use can be read ({size})", size=size(path.stat().st_size))
        yield Finding("stores.usage", "ok", _or_off(fine, case))


def _or_off(told: Message, case: Case) -> Message:
    if case.settings.usage.record:
        return told
    return message("usage.off", "{told}; usage.record is false", told=told)


def spool(case: Case) -> Iterator[Finding]:
    """See whether entries wait to be written into notes, and whether any could not be kept."""
    if case.workspace is None or not state_file(case.workspace).exists():
        return
    queue = Queue(case.workspace)
    try:
        held = queue.waiting()
    except NoteUnreadable as error:
        yield Finding("stores.spool", "warning", str(error))
        return
    if held.entries:
        yield Finding(
            "stores.spool",
            "warning",
            message("spool.waiting", "{n:entry|entries} wait to be written into notes", n=held.entries),
            message("spool.sync", "`commonplace sync` writes them, or says why not"),
        )
    else:
        yield Finding("stores.spool", "ok", message("spool.none", "no entries wait to be written into notes"))
    if held.set_aside:
        told = message(
            "spool.damaged", "{n:entry|entries} could not be written into a note", n=held.set_aside
        )
        look = message("spool.look", "look at {file}, then delete it", file=paths.shown(queue.set_aside))
        yield Finding("stores.spool_damaged", "warning", told, look)


def caches(case: Case) -> Iterator[Finding]:
    """See that the caches of vectors and answers can be read; they can be deleted at any time."""
    for name in CACHES:
        path = paths.user_cache_dir(case.environ) / name
        if not path.exists():
            continue
        told, shown = wrong_with(path), paths.shown(path)
        check = f"stores.{path.stem}"
        if told:
            wrong = message("cache.wrong", "the cache {file} {what}", file=shown, what=told)
            delete = message("cache.delete", "delete {file}*", file=shown)
            yield Finding(check, "warning", wrong, delete)
        else:
            fine = message(
                "cache.fine",
                "the cache {name} can be read ({size})",
                name=name,
                size=size(path.stat().st_size),
            )
            yield Finding(check, "ok", fine)


def wrong_with(path: Path, table: str = "") -> str:
    """Say what is wrong with a database; an empty text for a whole one, or one that is never left alone."""
    if not paths.root_of(path).is_file(path):
        return message("database.link", "is no regular file, or a link leads to it")
    for _ in range(_ATTEMPTS):
        before = snapshot.marks(path)
        told = _wrong_with(path, table)
        if not told or snapshot.marks(path) == before:
            return told
    return ""


def _wrong_with(path: Path, table: str) -> str:
    try:
        with snapshot.standing(path) as copy:
            connection = schema.connect(copy, readonly=True)
            try:
                with schema.translated(copy):
                    found = snapshot.check(connection)
                    if not found and table:
                        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()
            finally:
                connection.close()
    except (CommonplaceError, OSError, apsw.Error) as error:
        reason = getattr(error, "reason", str(error))
        return message("database.unreadable", "cannot be read ({reason})", reason=reason)
    return message("database.damaged", "is damaged: {what}", what=listed(found)) if found else ""


# --- generated changes --------------------------------------------------------------------------------


def history(case: Case) -> Iterator[Finding]:
    """See that every generated change is complete."""
    workspace = case.workspace
    if workspace is None or not state_file(workspace).exists():
        return
    try:
        changes, taken = runs.listed(workspace), size(runs.size(workspace))
    except NoteUnreadable as error:
        yield Finding("stores.history", "warning", str(error))
        return
    if not changes:
        return
    # A partial change that was undone, as far as it went, needs no attention any more.
    names: dict[str, list[str]] = {"begun": [], "partial": []}
    for run in changes:
        if run.state == "begun" or (run.state == "partial" and not run.undone):
            names[run.state].append(run.id)
    rows = {
        "begun": ("", "begun and not done", "`commonplace sync` carries it on, or says why not"),
        "partial": (
            "_partial",
            "done in part",
            "`commonplace log RUN` says what was left, `commonplace undo RUN` takes the rest back",
        ),
    }
    for state, (suffix, problem, remedy) in rows.items():
        if found := names[state]:
            told = message(f"history.{state}", f"{{n:generated change}} {problem}: {{runs}}",
                           n=len(found), runs=listed(found))  # fmt: skip
            yield Finding(
                f"stores.history{suffix}", "warning", told, message(f"history.{state}.mend", remedy)
            )
    if not any(names.values()):
        text = "{n:generated change} can be read; of {most:,} MB (history.keep_mb) they take {size}"
        fine = message("history.fine", text, n=len(changes), most=case.settings.history.keep_mb, size=taken)
        yield Finding("stores.history", "ok", fine)
