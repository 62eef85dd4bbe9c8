"""Migration of the state of version 0.1 from `.commonplace/` in the workspace; runs once.

Entries that wait are queued as `untrusted`, since the folder may come from elsewhere; then all of the state
is moved to `.commonplace/old/` unchanged, so after a kill the next process does the rest.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count

from commonplace.base import paths, records
from commonplace.base.errors import CommonplaceError
from commonplace.base.locks import locked
from commonplace.config import files
from commonplace.storage import queue
from commonplace.storage.queue import Queue
from commonplace.types import Entry, Provenance

OLD = "old"
_LARGE = 1 << 30


def is_due(workspace: paths.Workspace) -> bool:
    """Tell whether the workspace has state of version 0.1 that this user may move."""
    try:
        names = workspace.files.names(workspace.derived)
    except OSError:
        return False
    own = workspace.reader is None and os.access(workspace.derived, os.W_OK | os.X_OK)
    return own and not files.STAYS.issuperset(names)


def run(workspace: paths.Workspace) -> str:
    """Migrate the state of version 0.1; return a sentence for the owner. Raises NoteUnreadable."""
    paths.prepare_state(workspace)
    with ExitStack() as held:
        for name in ("drain", "notes"):
            held.enter_context(locked(paths.lock_file(workspace, name)))
        held.enter_context(records.translated(workspace.derived))
        entries = [*_entries(workspace)]
        if entries:
            Queue(workspace).extend(entries)
        _move(workspace)
    aside = f"its history is in {paths.shown(workspace.derived / OLD)}, cannot be undone, and can be deleted"
    return f"the state of version 0.1 was taken over ({len(entries)} waiting entries); {aside}"


def take(workspace: paths.Workspace) -> None:
    """Migrate settings and state if due; log the result, or the reason of a failure, as a warning."""
    try:
        lines = [files.move(workspace), run(workspace) if is_due(workspace) else ""]
    except (CommonplaceError, OSError) as error:
        lines = [f"the state of version 0.1 could not be taken over: {error}"]
    for line in filter(None, lines):
        logging.getLogger("commonplace.state").warning("commonplace: %s", line)


def _entries(workspace: paths.Workspace) -> Iterator[Entry]:
    """Yield the waiting entries as `untrusted`, without damaged ones; links are not followed."""
    root, folder = workspace.files, f"{paths.DERIVED_FOLDER}/spool"
    for name in root.names(folder) if root.is_folder(folder) else ():
        if name.endswith(".jsonl") and name != "damaged.jsonl" and root.is_file(f"{folder}/{name}"):
            for line in root.read(f"{folder}/{name}", limit=_LARGE).splitlines():
                with suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                    entry = queue.decode(line)
                    yield replace(entry, provenance=Provenance("untrusted"), long_term=False, tentative=False)


def _move(workspace: paths.Workspace) -> None:
    """Move all of the old state to `old/`, each file below a name that is free there."""
    for name in workspace.files.names(paths.DERIVED_FOLDER):
        if name not in files.STAYS:
            taken = set(workspace.files.names(f"{paths.DERIVED_FOLDER}/{OLD}"))
            names = (f"{name}~{number}" if number else name for number in count())
            free = next(one for one in names if one not in taken)
            workspace.files.rename(f"{paths.DERIVED_FOLDER}/{name}", f"{paths.DERIVED_FOLDER}/{OLD}/{free}")
