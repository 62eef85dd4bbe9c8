"""Migration of the state of version 0.1 from `.commonplace/` in the workspace; runs once.

Entries that wait, marks of sessions and receipts of imports are copied; then all of it is moved to
`.commonplace/old/` unchanged, so after a kill the next process does the rest. The records are signed with
the user's key: a keyed BLAKE2b digest (RFC 7693) of their kind and JSON. Records without a valid signature
came with the folder from elsewhere and are ignored, except waiting entries: they are written as `untrusted`.
"""

from __future__ import annotations

import json
import logging
import os
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from commonplace.base import paths, records
from commonplace.base.digests import blake2b
from commonplace.base.errors import CommonplaceError
from commonplace.base.locks import locked
from commonplace.base.root import Root
from commonplace.config import files
from commonplace.storage import keyvalue, queue
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
        old = _Old(workspace)
        with records.translated(workspace.derived):
            entries, marks = old.entries(), old.records()
            old.move()
    aside = f"its history is in {paths.shown(workspace.derived / OLD)}, cannot be undone, and can be deleted"
    return f"the state of version 0.1 was taken over ({entries} waiting entries, {marks} sessions); {aside}"


def take(workspace: paths.Workspace) -> None:
    """Migrate settings and state if due; log the result, or the reason of a failure, as a warning."""
    try:
        lines = [files.move(workspace), run(workspace) if is_due(workspace) else ""]
    except (CommonplaceError, OSError) as error:
        lines = [f"the state of version 0.1 could not be taken over: {error}"]
    for line in filter(None, lines):
        logging.getLogger("commonplace.state").warning("commonplace: %s", line)


class _Old:
    """The old state of a workspace, read below its root without following links."""

    def __init__(self, workspace: paths.Workspace) -> None:
        self.workspace, self.files = workspace, workspace.files
        self.keys = next(filter(None, map(_keys, (paths.user_config_dir(), paths.user_cache_dir()))), ())

    def names(self, folder: str = "") -> list[str]:
        """Return the names in a folder of the old state; [] if it is missing or a link."""
        with suppress(OSError):
            return self.files.names(f"{paths.DERIVED_FOLDER}/{folder}")
        return []

    def regular(self, folder: str) -> list[str]:
        """Return the paths of the regular files in a folder of the old state."""
        listed = [f"{folder}/{name}" for name in self.names(folder)]
        return [path for path in listed if self.files.is_file(f"{paths.DERIVED_FOLDER}/{path}")]

    def load(self, path: str) -> bytes:
        return self.files.read(f"{paths.DERIVED_FOLDER}/{path}", limit=_LARGE)

    def unsealed(self, kind: str, data: bytes) -> dict[str, Any] | None:
        """Return the record in some bytes, None if it is not signed. Raises ValueError if it is damaged."""
        value = records.decode(data)
        mark = value.pop("signature", "")
        said = kind.encode() + b"\0" + json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        signatures = (blake2b(said, key=key, digest_size=16).hexdigest() for key in self.keys)
        return value if mark in signatures else None

    def read(self, path: str, kind: str) -> dict[str, Any]:
        """Return a record with a valid signature; {} for any other, or if it cannot be read."""
        with suppress(OSError, ValueError):
            return self.unsealed(kind, self.load(path)) or {}
        return {}

    def entries(self) -> int:
        """Append the waiting entries to the queue; return their number."""
        found: list[Entry] = []
        for path in self.regular("spool"):
            stem, ending = os.path.splitext(path)
            if ending == ".jsonl" and stem != "spool/damaged":
                mark = self.read(f"{stem}.done", "claim")
                done = mark["done"] if f"spool/{mark.get('claim')}" == path else 0
                found += filter(None, map(self.entry, self.load(path)[done:].splitlines()))
        if found:
            Queue(self.workspace).extend(found)
        return len(found)

    def entry(self, line: bytes) -> Entry | None:
        """Return the entry in a line, `untrusted` if it is not signed; None if it is damaged."""
        try:
            value, entry = self.unsealed("spool", line), queue.decode(line)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        if value is None:
            entry = replace(entry, provenance=Provenance("untrusted"), long_term=False, tentative=False)
        return entry

    def records(self) -> int:
        """Copy the signed marks of sessions and receipts of imports; return the number of sessions."""
        marks = [record for path in self.regular("pending") if (record := self.read(path, "pending"))]
        for mark in marks:
            self.put("session", keyvalue.of_session(str(mark.get("session"))), mark)
        for number, row in enumerate(self.read("imports.json", "imports").get("imports", ())):
            self.put("import key", "", {"key": self.keys[0].hex()})
            self.put("import", f"{number:020}-{row.get('run')}", row)
        return len(marks)

    def put(self, kind: str, name: str, value: dict[str, Any]) -> None:
        """Add a value to the new state, unless it exists."""
        keyvalue.update(self.workspace, kind, name, lambda known: known or value)

    def move(self) -> None:
        """Move all of the old state to `old/`, each file below a name that is free there."""
        for name in self.names():
            if name not in files.STAYS:
                taken = set(self.names(OLD))
                names = (f"{name}~{number}" if number else name for number in count())
                free = next(one for one in names if one not in taken)
                self.files.rename(f"{paths.DERIVED_FOLDER}/{name}", f"{paths.DERIVED_FOLDER}/{OLD}/{free}")


def _keys(folder: Path) -> tuple[bytes, ...]:
    """Return the signing keys of version 0.1 in a folder: the key of this machine and keys added by hand."""
    with suppress(OSError, ValueError):
        lines = Root(folder).read("signing.key", limit=16_384).decode("ascii").split()
        return tuple(map(bytes.fromhex, lines))
    return ()
