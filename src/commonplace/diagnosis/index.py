"""The index as it stands: which file, whose, whole, consistent, and as new as the notes."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import apsw

from commonplace import paths
from commonplace.chunking.settings import DEFAULT
from commonplace.diagnosis import consistency, snapshot
from commonplace.diagnosis.case import Case
from commonplace.diagnosis.checks import guarded
from commonplace.errors import CommonplaceError, IndexUnavailable
from commonplace.index import changes, schema
from commonplace.index.sqlite import SqliteIndex
from commonplace.types import Finding

SYNC = "commonplace sync"
_CHECKS: dict[str, Callable[[SqliteIndex, Case], Iterator[Finding]]] = {
    "index.identity": consistency.identity,
    "index.integrity": consistency.integrity,
    "index.rows": consistency.rows,
    "index.vectors": consistency.vectors,
    "index.model": consistency.model,
    "index.fresh": consistency.fresh,
    "index.size": consistency.size,
    "index.scripts": consistency.scripts,
}


def examine(case: Case) -> Iterator[Finding]:
    """Examine the index that a search would use; neither it nor anything beside it is written."""
    if case.workspace is None:
        yield Finding("index.file", "skipped", "no workspace, no index")
        return
    own, other = case.workspace.index, paths.fallback_index(case.place, case.environ)
    path = own if os.path.exists(own) else other
    if not path.exists():
        yield from _placed(case, own, other)
        return
    before = snapshot.marks(path)
    found = list(_opened(path, case))
    stands_in = any(schema.OTHER_KEY in finding.told for finding in found)
    yield from _placed(case, own, other, stands_in=stands_in)
    if snapshot.marks(path) != before and any(finding.state == "wrong" for finding in found):
        told = "the index was written while it was examined"
        yield Finding("index.file", "skipped", told, "run `commonplace doctor` again in a moment")
        return
    yield from found


def _placed(case: Case, own: Path, other: Path, *, stands_in: bool = False) -> Iterator[Finding]:
    writable = os.access(own.parent if own.parent.exists() else case.place, os.W_OK)
    if os.path.exists(own):  # false as well where the folder is another user's
        yield Finding("index.file", "ok", paths.shown(own))
    elif other.exists() and not writable:
        yield Finding("index.file", "ok", f"{paths.shown(other)}, since the workspace cannot be written to")
    elif not other.exists():
        yield Finding("index.file", "warning", "there is no index yet", SYNC)
    if other.exists() and writable and not stands_in:
        told = (
            f"an index of this workspace lies in your folder of caches as well ({paths.shown(other.parent)})"
        )
        remedy = f"delete {paths.shown(other.parent)}: the workspace can be written to again"
        yield Finding("index.elsewhere", "warning", told, remedy)


def _opened(path: Path, case: Case) -> Iterator[Finding]:
    try:
        with snapshot.standing(path) as copy:
            index = _index(copy)
            try:
                yield from _checked(index, case)
            finally:
                index.close()
    except (CommonplaceError, OSError) as error:
        yield _unusable(path, error)


def _checked(index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """Run the checks; of a damaged index, or one whose tables are not known, no more than that is told."""
    for name in _CHECKS:
        found = guarded(name, partial(_asked, name, index, case))
        yield from found
        damaged = name == "index.integrity" and found[0].state == "wrong"
        is_ours = index.unfit not in (schema.FOREIGN, schema.OTHER_KEY)
        unknown = not is_ours or "schema" in (index.rebuild_reason or "")
        if damaged or (name == "index.identity" and unknown):
            return


def _asked(name: str, index: SqliteIndex, case: Case) -> Iterator[Finding]:
    """One check; where the file is too large to be checked as a whole, damage shows here first."""
    try:
        yield from _CHECKS[name](index, case)
    except (apsw.Error, IndexUnavailable) as error:
        yield Finding(name, "wrong", f"the index does not answer ({error})", consistency.anew(case))


def _index(path: str) -> SqliteIndex:
    connection = schema.connect(path, readonly=True)
    try:
        with schema.translated(path):
            if not schema.exists(connection):
                raise IndexUnavailable(path, "empty")
    finally:
        connection.close()
    return SqliteIndex(path, changes.identity(DEFAULT), readonly=True)


def _unusable(path: Path, error: Exception) -> Finding:
    reason = error.reason if isinstance(error, IndexUnavailable) else str(error)
    if reason == snapshot.BUSY:
        return Finding(
            "index.opens", "skipped", f"the index is {reason}", "run `commonplace doctor` again later"
        )
    if reason == "empty":
        return Finding("index.opens", "warning", "the file holds no index yet", SYNC)
    if not os.access(path, os.R_OK):
        told, remedy = "the index cannot be read", f"chmod u+rw {paths.shown(path)}"
    else:
        told, remedy = f"the index cannot be opened ({reason})", f"{SYNC}: it is made anew from the notes"
    return Finding("index.opens", "wrong", told, remedy)
