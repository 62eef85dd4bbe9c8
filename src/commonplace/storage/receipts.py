"""Keyed hashes of imported items: the record that keeps a second import from writing them twice.

    {"run": "20260213-…", "files": {PATH: [DIGEST, DAY, {KEY: DIGEST}]}, "settings": [HASH]}

Each import has one such value; an undone import is ignored. The record contains no text of notes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress

from commonplace.base import paths, records
from commonplace.base.digests import blake2b, sha256
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.storage import journal, keyvalue
from commonplace.types.imports import ImportedSetting

_KIND, _KEY = "import", "import key"
_EXPORTS = "exports"  # file of digests, a line each


class FileReceipt(NamedTuple):
    """A file as an import left it: hash of its bytes, day of the import, hashes of its items by key.

    `digest` is empty if the file holds more or less than the imported items.
    """

    digest: str
    day: str
    items: Mapping[str, str]


class Receipts:
    """The files and items that imports wrote into a workspace, without undone imports."""

    def __init__(self, workspace: paths.Workspace) -> None:
        """Read the record."""
        self._workspace, kept = workspace, keyvalue.read(workspace, _KEY)
        self._key = bytes.fromhex(kept["key"]) if kept else os.urandom(32)
        self._rows = [row for _, row in keyvalue.each(workspace, _KIND)]
        self._files: dict[str, FileReceipt] = {}
        for row in self._rows:
            run = journal.load(workspace, row["run"]) if row["run"] else None
            if run is None or not run.undone:
                for path, (digest, day, items) in row["files"].items():
                    before = self._files[path].items if path in self._files else {}
                    news = {key: said for key, said in {**before, **items}.items() if said}  # empty: deleted
                    self._files[path] = FileReceipt(digest, day, news)
        self._homes = {key: path for path, known in self._files.items() for key in known.items}

    def hashed(self, data: bytes) -> str:
        """Return the hash of some bytes, under the key of the record."""
        return blake2b(b"imports\0" + data, key=self._key, digest_size=16).hexdigest()[:16]

    def _of_path(self, path: str) -> str:
        return self.hashed(f"path\0{path}".encode("utf-8", "surrogatepass"))

    def _of_setting(self, one: ImportedSetting) -> str:
        return self.hashed(repr((one.kind, one.name, one.value)).encode("utf-8", "surrogateescape"))

    def of_file(self, path: str) -> FileReceipt | None:
        """Return the record of a file; None if no import wrote it."""
        return self._files.get(self._of_path(path))

    def digest(self, key: str) -> str:
        """Return the hash of an item at its last import; empty for a new item."""
        return self._files[self._homes[key]].items[key] if key in self._homes else ""

    def is_elsewhere(self, key: str, path: str) -> bool:
        """Tell whether an item was written to a file other than `path`."""
        return key in self._homes and self._homes[key] != self._of_path(path)

    def save(self, run: str, files: Mapping[str, FileReceipt], added: Iterable[ImportedSetting]) -> None:
        """Record the imported files by path; `run` is empty if no file changed. Raises NoteUnreadable."""
        row = {
            "run": run,
            "files": {self._of_path(path): list(known) for path, known in files.items()},
            "settings": [self._of_setting(one) for one in added],
        }
        key = {"key": self._key.hex()}
        keyvalue.update(self._workspace, _KEY, "", lambda known: known or key)
        keyvalue.write(self._workspace, _KIND, f"{time.time_ns():020}-{run}", row)

    def added(
        self, imports: Iterable[str], settings: Iterable[ImportedSetting]
    ) -> tuple[list[ImportedSetting], int]:
        """Return the given settings that some imports added, and the number of their settings not given.

        A setting that was changed since does not count as given.
        """
        names = set(imports)
        hashes = {one for row in self._rows if row["run"] in names for one in row["settings"]}
        known = [setting for setting in settings if self._of_setting(setting) in hashes]
        return known, len(hashes) - len(known)


def exported(data: bytes) -> bytes:
    """Return an export unchanged; record its SHA-256 in the user's state folder if that is writable."""
    folder = paths.user_state_dir()
    with suppress(OSError, NoteUnreadable):
        Root(folder).make_folder()
        records.rewrite(folder / _EXPORTS, lambda known: known + f"{sha256(data).hexdigest()}\n".encode())
    return data


def is_own_export(data: bytes) -> bool:
    """Tell whether this user made an export on this machine, and it is unchanged."""
    with suppress(OSError):
        return sha256(data).hexdigest().encode() in Root(paths.user_state_dir()).read(_EXPORTS).split()
    return False
