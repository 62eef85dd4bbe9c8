"""Migration of the state of version 0.1 from `.commonplace/` in the workspace; runs once.

Its records are signed with the user's key: a keyed BLAKE2b digest (RFC 7693) of their kind and JSON. Records
without a valid signature came with the folder from elsewhere and are ignored, except waiting entries:
they are written as `untrusted`. Everything is copied first and then moved to `.commonplace/old/` unchanged,
so after a kill the next process does the rest.
"""

from __future__ import annotations

import json
import logging
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from commonplace.base import paths, records
from commonplace.base.digests import blake2b
from commonplace.base.errors import CommonplaceError
from commonplace.base.locks import locked
from commonplace.base.root import Root
from commonplace.config import files
from commonplace.storage import journal, keyvalue, queue, state, writes
from commonplace.storage.queue import Queue
from commonplace.types import Entry, Provenance

OLD = "old"
_KEY_FILE = "signing.key"
_KINDS = {"erasing": "erasing", "requests": "request", "injected": "injected"}  # folders of values
_SIDES = re.compile(r"\d+\.(?:z|before|after)")
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
            entries, runs = old.entries(), old.runs()
            old.records()
            old.overwritten()
            old.move()
    aside = f"the rest is in {paths.shown(workspace.derived / OLD)}, and can be deleted"
    return f"the state of version 0.1 was taken over ({entries} waiting entries, {runs} changes); {aside}"


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
        self.workspace, self.files, self.folder = workspace, workspace.files, paths.DERIVED_FOLDER
        self.keys = _keys((paths.user_config_dir(), paths.user_cache_dir()))

    def names(self, folder: str) -> list[str]:
        """Return the names of the regular files in a folder of the old state."""
        try:
            names = self.files.names(f"{self.folder}/{folder}")
        except OSError:
            return []
        return [name for name in names if self.files.is_file(f"{self.folder}/{folder}/{name}")]

    def read(self, path: str, kind: str) -> dict[str, Any] | None:
        """Return a record with a valid signature; None for any other, or if it cannot be read."""
        with suppress(OSError, ValueError):
            return self.unsealed(kind, self.files.read(f"{self.folder}/{path}", limit=_LARGE))
        return None

    def unsealed(self, kind: str, data: bytes) -> dict[str, Any] | None:
        """Return the record in some bytes, None if it is not signed. Raises ValueError if it is damaged."""
        value = records.decode(data)
        mark = value.pop("signature", "")
        said = json.dumps(value, sort_keys=True, separators=(",", ":")).encode()
        return value if _is_signed(self.keys, kind, said, mark) else None

    def entries(self) -> int:
        """Append the waiting entries to the queue; return their number."""
        found: list[Entry] = []
        for name in self.names("spool"):
            if not name.endswith(".jsonl") or name == "damaged.jsonl":
                continue
            mark = self.read(f"spool/{name.removesuffix('.jsonl')}.done", "claim") or {}
            done = mark["done"] if mark.get("claim") == name and isinstance(mark.get("done"), int) else 0
            data = self.files.read(f"{self.folder}/spool/{name}", limit=_LARGE)[max(0, done) :]
            found += filter(None, map(self.entry, data.splitlines()))
        if found:
            Queue(self.workspace).extend(found)
        return len(found)

    def entry(self, line: bytes) -> Entry | None:
        """Return the entry in a line, `untrusted` if it is not signed; None if it is damaged."""
        try:
            value = self.unsealed("spool", line)
            entry = queue.decode(line)
        except (ValueError, TypeError, OverflowError, RecursionError):
            return None
        if value is None:
            entry = replace(entry, provenance=Provenance("untrusted"), long_term=False, tentative=False)
        return entry

    def runs(self) -> int:
        """Copy the signed changes into the journal; return their number."""
        count, known = 0, set(journal.names(self.workspace))
        with suppress(FileNotFoundError):
            for name in self.files.names(f"{self.folder}/history"):
                place = f"history/{name}"
                if name in known or not re.fullmatch(r"\d{8}-\d{6}-[0-9a-f]{6}", name):
                    continue
                if (record := self.read(f"{place}/run.json", "history")) is None:
                    continue
                with suppress(ValueError, TypeError, KeyError):
                    run = journal.decode(name, record)
                    journal.put(self.workspace, run, [*self.sides(place)])
                    count += 1
        return count

    def sides(self, place: str) -> Iterator[bytes]:
        """Yield the bytes of the files of a change: `0.before`, `0.after`, or both in `0.z`."""
        for name in filter(_SIDES.fullmatch, self.names(place)):
            data = self.files.read(f"{self.folder}/{place}/{name}", limit=_LARGE)
            if not name.endswith(".z"):
                yield data
                continue
            sizes, _, data = records.unpacked(data).partition(b"\n")
            before, _, after = sizes.partition(b" ")
            end = int(before) if before.isdigit() else 0
            yield from [data[:end]] * before.isdigit() + [data[end:]] * after.isdigit()

    def records(self) -> None:
        """Copy all signed records except entries and changes."""
        for folder, kind in _KINDS.items():
            for path, record in self.signed(folder, kind):
                self.put(kind, Path(path).stem, record)
        for _, record in self.signed("pending", "pending"):
            self.put("session", keyvalue.of_session(str(record.get("session"))), record)
        for _, record in self.signed("consolidated.json", "consolidated"):
            self.put("consolidated", "", record)
        for _, record in self.signed("imports.json", "imports"):
            self.put("import key", "", {"key": self.keys[0].hex()})
            for number, row in enumerate(record.get("imports", ())):
                self.put("import", f"{number:020}-{row.get('run')}", row)

    def signed(self, place: str, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the signed records of a file or folder with their paths."""
        named = [place] if place.endswith(".json") else [f"{place}/{name}" for name in self.names(place)]
        for path in named:
            if path.endswith(".json") and (record := self.read(path, kind)) is not None:
                yield path, record

    def put(self, kind: str, name: str, value: dict[str, Any]) -> None:
        """Add a value to the new state, unless it exists."""
        keyvalue.update(self.workspace, kind, name, lambda known: known or value)

    def overwritten(self) -> None:
        """Copy the versions that other programs overwrote."""
        for name in self.names("overwritten"):
            stem, ending = os.path.splitext(name)
            told = self.read(f"overwritten/{stem}.told", "writes")
            about = told or self.read(f"overwritten/{stem}.json", "writes")
            if ending == ".md" and about is not None:
                ours, base = (
                    self.files.read(f"{self.folder}/overwritten/{stem}.{end}", limit=_LARGE)
                    if f"{stem}.{end}" in self.names("overwritten") else b""
                    for end in ("md", "base")
                )  # fmt: skip
                lost = writes.entries(ours).keys() - writes.entries(base).keys()
                is_gone = bool(about.get("gone"))
                with state.writing(self.workspace) as connection:
                    row = connection, stem, str(about["note"]), ours, lost, lost
                    writes.keep(*row, is_gone=is_gone, is_told=told is not None)

    def move(self) -> None:
        """Move all of the old state to `old/`."""
        for name in self.files.names(self.folder):
            if name not in files.STAYS:
                self.files.rename(f"{self.folder}/{name}", f"{self.folder}/{_free(self.files, name)}")


def _free(files: Root, name: str) -> str:
    """Return an unused path in `old/` for a name."""
    place, count = f"{OLD}/{name}", 0
    with suppress(FileNotFoundError):
        while files.stat(f"{paths.DERIVED_FOLDER}/{place}"):
            count += 1
            place = f"{OLD}/{name}~{count}"
    return place


def _keys(folders: Iterable[Path]) -> tuple[bytes, ...]:
    """Return the signing keys of version 0.1: the key of this machine and keys added by hand."""
    for folder in folders:
        with suppress(OSError, ValueError):
            data = Root(folder).read(_KEY_FILE, limit=16_384)
            return tuple(bytes.fromhex(line) for line in data.decode("ascii").split())
    return ()


def _is_signed(keys: Sequence[bytes], kind: str, data: bytes, mark: object) -> bool:
    """Tell whether `mark` (32 hex digits) is the signature of the bytes with one of the keys."""
    return any(
        blake2b(f"{kind}\0".encode() + data, key=key, digest_size=16).hexdigest() == mark for key in keys
    )
