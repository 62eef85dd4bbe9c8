"""The other stores: ledger, record of use, spool, generated changes, signed records, and caches."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from pathlib import Path

import apsw

from commonplace.base import paths, records, snapshot
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import Root
from commonplace.base.signature import KEY_FILE
from commonplace.changes import runs
from commonplace.diagnosis.examination import Case, listed, size
from commonplace.index.sqlite import schema
from commonplace.providers import costs
from commonplace.render import count
from commonplace.search import journal
from commonplace.types import Finding

CACHES = ("vectors.sqlite", "answers.sqlite")
_ATTEMPTS = 3  # what looks damaged may have been written meanwhile


def ledger(case: Case) -> Iterator[Finding]:
    """See that the record of calls can be read."""
    if case.workspace is None:
        return
    path = costs.place(case.workspace, case.environ)
    if not path.exists() or not path.stat().st_size:  # who made it was killed before the first call
        yield Finding("stores.ledger", "ok", "no ledger yet: no call to a model was recorded")
        return
    told = wrong_with(path, "calls")
    shown = paths.shown(path)
    if told:
        remedy = f"move {shown} away: a new one is begun, and budgets count from zero"
        yield Finding("stores.ledger", "wrong", f"the ledger {shown} {told}", remedy)
    else:
        yield Finding("stores.ledger", "ok", f"the ledger can be read ({size(path.stat().st_size)})")


def usage(case: Case) -> Iterator[Finding]:
    """See that the record of use can be read, and whether everything came into it."""
    if case.workspace is None:
        return
    path = journal.place(case.workspace, case.environ)
    missed, shown = journal.missed(path), paths.shown(path)
    told = wrong_with(path, "questions") if path.exists() else ""
    if told:
        remedy = "`commonplace usage --clear` begins a new one"
        yield Finding("stores.usage", "warning", f"the record of use {shown} {told}", remedy)
    elif missed:
        remedy = "look at disk and permissions; `commonplace usage --clear` begins a new one"
        several = f"{count(missed, 'question')} or openings could not be recorded at once in {shown}"
        yield Finding("stores.usage", "warning", several, remedy)
    elif not path.exists():
        yield Finding("stores.usage", "ok", "no record of use yet" + _off(case))
    else:
        told = f"the record of use can be read ({size(path.stat().st_size)})"
        yield Finding("stores.usage", "ok", told + _off(case))


def _off(case: Case) -> str:
    return "" if case.settings.usage.record else "; usage.record is false"


def spool(case: Case) -> Iterator[Finding]:
    """See whether entries wait to be written into notes, and whether any could not be kept."""
    if case.workspace is None or not case.workspace.files.is_folder(case.workspace.spool):
        return
    folder = case.workspace.spool
    aside, refusals = folder / "damaged.jsonl", folder / "refused"
    root = case.workspace.root
    waiting = sum(_lines(path, root) for path in folder.glob("*.jsonl") if path != aside)
    if waiting:
        yield Finding(
            "stores.spool",
            "warning",
            f"{count(waiting, 'entry', 'entries')} of hooks wait to be written into notes",
            "`commonplace sync` writes them, or says why not",
        )
    else:
        yield Finding("stores.spool", "ok", "no entries wait to be written into notes")
    if damaged := _lines(aside, root):
        told = f"{count(damaged, 'line')} of the spool could not be written into a note"
        yield Finding(
            "stores.spool_damaged", "warning", told, f"look at {paths.shown(aside)}, then delete it"
        )
    if refusals.exists():
        yield Finding(
            "stores.spool_full",
            "warning",
            f"{count(refusals.stat().st_size, 'entry', 'entries')} were not kept: the spool was full",
            "`commonplace sync` makes room; hooks.spool_mb says how much there is",
        )


def _lines(path: Path, root: Path) -> int:
    try:
        return sum(1 for line in paths.read_contained(path, [root]).splitlines() if line.strip())
    except CommonplaceError:
        return 0  # written into a note meanwhile


def caches(case: Case) -> Iterator[Finding]:
    """See that the caches of vectors and answers can be read; they can be deleted at any time."""
    for name in CACHES:
        path = paths.user_cache_dir(case.environ) / name
        if not path.exists():
            continue
        told, shown = wrong_with(path), paths.shown(path)
        check = f"stores.{path.stem}"
        if told:
            yield Finding(check, "warning", f"the cache {shown} {told}", f"delete {shown}*")
        else:
            yield Finding(check, "ok", f"the cache {name} can be read ({size(path.stat().st_size)})")


def wrong_with(path: Path, table: str = "") -> str:
    """Say what is wrong with a database; an empty text for a whole one, or one that is never left alone."""
    if not paths.root_of(path).is_file(path):
        return "is no regular file, or a link leads to it"
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
                    found = snapshot.check(connection, thorough=False).complaints
                    if not found and table:
                        connection.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchall()
            finally:
                connection.close()
    except (CommonplaceError, OSError, apsw.Error) as error:
        return f"cannot be read ({getattr(error, 'reason', error)})"
    return f"is damaged: {listed(found)}" if found else ""


# --- generated changes --------------------------------------------------------------------------------


def history(case: Case) -> Iterator[Finding]:
    """See that every generated change is complete, and that the stored ones can be read."""
    workspace = case.workspace
    if workspace is None or not workspace.files.is_folder(workspace.history):
        return
    changes = runs.listed(workspace)
    # A partial change that was undone, as far as it went, needs no attention any more.
    names: dict[str, list[str]] = {"begun": [], "partial": [], "damaged": runs.damaged(workspace)}
    for run in changes:
        if run.state == "begun" or (run.state == "partial" and not run.undone):
            names[run.state].append(run.id)
    folder = paths.shown(workspace.history)
    rows = {
        "begun": ("", "begun and not done", "`commonplace sync` carries it on, or says why not"),
        "partial": (
            "_partial",
            "done in part",
            "`commonplace log RUN` says what was left, `commonplace undo RUN` takes the rest back",
        ),
        "damaged": (
            "_damaged",
            "cannot be read",
            f"delete it below {folder}; it cannot be undone any more",
        ),
    }
    for state, (suffix, problem, remedy) in rows.items():
        if names[state]:
            message = f"{count(len(names[state]), 'generated change')} {problem}: {listed(names[state])}"
            yield Finding(f"stores.history{suffix}", "warning", message, remedy)
    if not any(names.values()):
        yield Finding("stores.history", "ok", f"{count(len(changes), 'generated change')} can be read")


# --- signed records -----------------------------------------------------------------------------------


def signatures(case: Case) -> Iterator[Finding]:
    """See that records can be signed, and that all that stand here are."""
    folders = (paths.user_config_dir(case.environ), paths.user_cache_dir(case.environ))
    if case.workspace is None:
        return
    has_key = any(Root(folder).is_file(KEY_FILE) for folder in folders)
    if not has_key and not any(map(_can_be_made, folders)):
        yield Finding(
            "stores.key",
            "warning",
            f"no key can be kept in {paths.shown(folders[0])} or {paths.shown(folders[1])}",
            "make one of them writable: until then each program takes the records of others for foreign",
        )
    files = case.workspace.files
    # Without a key nothing can be told apart, and making one would change something.
    aside, unsigned = records.foreign(files), records.unsigned(files) if has_key else []
    if unsigned:
        told = f"{count(len(unsigned), 'record')} not signed by you, and not acted upon: {listed(unsigned)}"
        first = shlex.quote(os.fspath(case.workspace.derived / unsigned[0]))
        remedy = f"{records.SHARE}; if nobody did, delete them: rm -r {first}"
        yield Finding("stores.unsigned", "warning", told, remedy)
    if aside:
        told = f"{count(len(aside), 'record')} set aside, not signed by you: {listed(aside)}"
        folder = shlex.quote(os.fspath(case.workspace.derived / records.FOREIGN_FOLDER))
        remedy = f"`commonplace trust` shows them; {records.SHARE}; rm -r {folder} deletes them all"
        yield Finding("stores.foreign", "warning", told, remedy)
    if not (aside or unsigned):
        yield Finding("stores.foreign", "ok", "all records are signed by you")


def _can_be_made(folder: Path) -> bool:
    place = next(place for place in (folder, *folder.parents) if place.exists())
    return os.access(place, os.W_OK)
