"""When a consolidation is due, the result of the last one, and the lock that prevents a second one.

The state records the last one even if it changed no note. Any doubt (no record, a clock set back) makes the
next one due: an extra one does no harm.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.markdown import metadata
from commonplace.notes import scan
from commonplace.storage import keyvalue

if TYPE_CHECKING:
    from commonplace.memory import Memory

LOCK = "consolidate"
# A night is not always 24 hours long, nor does a timer start to the second: a run that was a bit late must
# not make the next one wait for a night more.
EARLY = 0.1
_LONGEST_RESULT = 300  # characters
_KIND = "consolidated"


class Running(CommonplaceError):
    """Another process consolidates this workspace, or rolls it up; the call had no effect."""

    def __init__(self) -> None:
        running = "another process is consolidating this workspace; try again when it is done"
        super().__init__(message("consolidation.running", running))


@dataclass(frozen=True, slots=True)
class Record:
    """The last consolidation: `at` it began, and its result in one line.

    `seen` is a digest of the daily notes as it found them; `tried` and `result` may be of a later one that
    failed. Times are ISO 8601, empty if missing.
    """

    at: str = ""
    result: str = ""
    seen: str = ""
    tried: str = ""


@contextmanager
def held(workspace: paths.Workspace) -> Iterator[str]:
    """Be the only one that consolidates, without waiting; yields a digest of the daily notes as they are.

    Raises Running, NoteUnreadable.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(locks.locked(paths.lock_file(workspace, LOCK), timeout_s=0))
        except locks.LockTimeout as error:
            raise Running from error
        yield digest(workspace)


def is_due(memory: Memory, now: datetime) -> bool:
    """Return True if the last one is `consolidate.every_hours` ago and daily notes have changed since."""
    workspace = memory.workspace
    found = digest(workspace)
    if not found:
        return False
    known = record(workspace)
    last = moment(known.at) if known else None
    if known is None or last is None or last > now.astimezone():
        return True
    wait = timedelta(hours=memory.settings.consolidate.every_hours * (1 - EARLY))
    return now.astimezone() - last >= wait and found != known.seen


def note_run(memory: Memory, now: datetime, result: str, *, seen: str = "", failed: bool = False) -> None:
    """Record the result of a consolidation that began at `now`; `seen` is the value that `held` gave.

    After a failure the next one stays due. Secrets are left out. Raises NoteUnreadable.
    """
    from commonplace.redaction.redact import redact

    workspace = memory.workspace
    at = now.astimezone().isoformat(timespec="seconds")
    told = redact(" ".join(result.split()))[0][:_LONGEST_RESULT]
    known = replace(record(workspace) or Record(), result=told, tried=at)
    if not failed:
        known = replace(known, at=at, seen=seen or digest(workspace))
    keyvalue.write(workspace, _KIND, "", asdict(known))


def record(workspace: paths.Workspace) -> Record | None:
    """Return the record of the last one; empty before the first, None if it cannot be read."""
    try:
        value = keyvalue.read(workspace, _KIND) or {}
        return Record(**{name: value[name] for name in Record.__slots__ if name in value})
    except CommonplaceError:
        return None


def moment(text: str) -> datetime | None:
    """Return an ISO 8601 time with its zone, None if malformed."""
    try:
        return datetime.fromisoformat(text).astimezone()
    except (ValueError, OverflowError, OSError):
        return None


def digest(workspace: paths.Workspace) -> str:
    """Return a digest of the paths, sizes and times of the daily notes; empty without daily notes."""
    source = scan.CollectionFiles("workspace", os.fspath(workspace.root), (f"{paths.MEMORY_FOLDER}/**/*.md",))
    found = sorted(
        (state.path, state.size, state.mtime_ns)
        for state in scan.scan([source])
        if metadata.kind_of(state.path) == "daily"
    )
    return hashlib.sha256(repr(found).encode("utf-8", "surrogateescape")).hexdigest()[:20] if found else ""
