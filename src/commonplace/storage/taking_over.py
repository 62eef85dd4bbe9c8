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
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from itertools import count
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
        held.enter_context(records.translated(workspace.derived))
        old = _Old(workspace)
        entries, marks = [*old.entries()], [*old.marks()]
        if entries:
            Queue(workspace).extend(entries)
        for mark in marks:
            _put(workspace, "session", keyvalue.of_session(str(mark.get("session"))), mark)
        for number, row in enumerate(old.signed("imports", "imports.json").get("imports", ())):
            _put(workspace, "import key", "", {"key": old.keys[0].hex()})
            _put(workspace, "import", f"{number:020}-{row.get('run')}", row)
        old.move()
    aside = f"its history is in {paths.shown(workspace.derived / OLD)}, cannot be undone, and can be deleted"
    counts = f"{len(entries)} waiting entries, {len(marks)} sessions"
    return f"the state of version 0.1 was taken over ({counts}); {aside}"


def take(workspace: paths.Workspace) -> None:
    """Migrate settings and state if due; log the result, or the reason of a failure, as a warning."""
    try:
        lines = [files.move(workspace), run(workspace) if is_due(workspace) else ""]
    except (CommonplaceError, OSError) as error:
        lines = [f"the state of version 0.1 could not be taken over: {error}"]
    for line in filter(None, lines):
        logging.getLogger("commonplace.state").warning("commonplace: %s", line)


def _put(workspace: paths.Workspace, kind: str, name: str, value: dict[str, Any]) -> None:
    """Add a value to the new state, unless it exists."""
    keyvalue.update(workspace, kind, name, lambda known: known or value)


class _Old:
    """The old state of a workspace, read below its root without following links."""

    def __init__(self, workspace: paths.Workspace) -> None:
        self.files, self.keys = workspace.files, list[bytes]()
        with suppress(OSError, ValueError):  # of this machine, and added by hand
            lines = Root(paths.user_config_dir()).read("signing.key", limit=16_384).decode("ascii").split()
            self.keys = [*map(bytes.fromhex, lines)]

    def regular(self, folder: str) -> list[str]:
        """Return the paths of the regular files in a folder; [] if it is missing or a link."""
        with suppress(OSError):
            listed = [f"{folder}/{name}" for name in self.files.names(f"{paths.DERIVED_FOLDER}/{folder}")]
            return [path for path in listed if self.files.is_file(f"{paths.DERIVED_FOLDER}/{path}")]
        return []

    def load(self, path: str) -> bytes:
        return self.files.read(f"{paths.DERIVED_FOLDER}/{path}", limit=_LARGE)

    def unsealed(self, kind: str, data: bytes) -> dict[str, Any] | None:
        """Return the record in some bytes, None if it is not signed. Raises ValueError if it is damaged."""
        value = json.loads(data)
        mark = value.pop("signature", "")
        said = kind.encode() + b"\0" + json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        signatures = (blake2b(said, key=key, digest_size=16).hexdigest() for key in self.keys)
        return value if mark in signatures else None

    def signed(self, kind: str, path: str) -> dict[str, Any]:
        """Return a record with a valid signature; {} for any other, or if it cannot be read."""
        with suppress(OSError, ValueError, AttributeError, RecursionError):
            return self.unsealed(kind, self.load(path)) or {}
        return {}

    def marks(self) -> Iterator[dict[str, Any]]:
        """Yield the signed marks of sessions."""
        yield from filter(None, (self.signed("pending", path) for path in self.regular("pending")))

    def entries(self) -> Iterator[Entry]:
        """Yield the waiting entries, `untrusted` if they are not signed, without damaged ones."""
        for path in self.regular("spool"):
            stem, ending = os.path.splitext(path)
            if ending != ".jsonl" or stem == "spool/damaged":
                continue
            mark = self.signed("claim", f"{stem}.done")
            done = mark["done"] if f"spool/{mark.get('claim')}" == path else 0
            for line in self.load(path)[done:].splitlines():
                with suppress(ValueError, TypeError, AttributeError, OverflowError, RecursionError):
                    value, entry = self.unsealed("spool", line), queue.decode(line)
                    stranger = Provenance("untrusted")
                    yield (
                        entry
                        if value
                        else replace(entry, provenance=stranger, long_term=False, tentative=False)
                    )

    def move(self) -> None:
        """Move all of the old state to `old/`, each file below a name that is free there."""
        for name in self.files.names(paths.DERIVED_FOLDER):
            if name not in files.STAYS:
                taken = set(self.files.names(f"{paths.DERIVED_FOLDER}/{OLD}"))
                names = (f"{name}~{number}" if number else name for number in count())
                free = next(one for one in names if one not in taken)
                self.files.rename(f"{paths.DERIVED_FOLDER}/{name}", f"{paths.DERIVED_FOLDER}/{OLD}/{free}")
