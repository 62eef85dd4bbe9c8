"""The other stores: ledger, record of use and spool of the workspace, and the user's caches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import apsw

from commonplace import paths
from commonplace.costs import ledger as costs_ledger
from commonplace.diagnosis import snapshot
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import listed, size
from commonplace.errors import CommonplaceError
from commonplace.index import schema
from commonplace.render import count
from commonplace.types import Finding
from commonplace.usage import journal

CACHES = ("vectors.sqlite", "answers.sqlite")
_ATTEMPTS = 3  # what looks damaged may have been written meanwhile


def ledger(case: Case) -> Iterator[Finding]:
    """See that the record of calls can be read."""
    if case.workspace is None:
        return
    path = costs_ledger.place(case.workspace, case.environ)
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
        told = f"{count(waiting, 'entry', 'entries')} of hooks wait to be written into notes"
        yield Finding("stores.spool", "warning", told, "`commonplace sync` writes them, or says why not")
    else:
        yield Finding("stores.spool", "ok", "no entries wait to be written into notes")
    if damaged := _lines(aside, root):
        told = f"{count(damaged, 'line')} of the spool could not be written into a note"
        yield Finding(
            "stores.spool_damaged", "warning", told, f"look at {paths.shown(aside)}, then delete it"
        )
    if refusals.exists():
        told = f"{count(refusals.stat().st_size, 'entry', 'entries')} were not kept: the spool was full"
        remedy = "`commonplace sync` makes room; hooks.spool_mb says how much there is"
        yield Finding("stores.spool_full", "warning", told, remedy)


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
