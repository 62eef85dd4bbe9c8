"""What imports have written, as keyed hashes: the record that keeps a second import from writing it twice.

    {"run": "20260213-…", "files": {PATH: [DIGEST, DAY, {KEY: DIGEST}]}, "settings": [HASH]}

Each import has such a value; one that was undone counts as never written. No word of a note stands in it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from commonplace.base import paths
from commonplace.base.digests import blake2b, sha256
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.storage import journal, keyvalue
from commonplace.storage.queue import append
from commonplace.types.imports import ImportedSetting

_KIND, _KEY = "import", "import key"
_EXPORTS = "exports"  # digests, a line each


class Known(NamedTuple):
    """A file as an import left it: a hash of its bytes, the day of the import, hashes of its items by key.

    The hash is empty for a file that holds more than what was imported, or less.
    """

    digest: str
    day: str
    items: Mapping[str, str]


class Receipts:
    """What imports into a workspace have written, without what was undone since."""

    def __init__(self, workspace: paths.Workspace) -> None:
        """Read the record."""
        self._workspace, (self._key, rows) = workspace, _read(workspace)
        self._files: dict[str, Known] = {}
        for row in rows:
            run = journal.load(workspace, row["run"]) if row["run"] else None
            if run is None or not run.undone:
                for path, (digest, day, items) in row["files"].items():
                    before = self._files[path].items if path in self._files else {}
                    news = {key: said for key, said in {**before, **items}.items() if said}  # else deleted
                    self._files[path] = Known(digest, day, news)
        self._homes = {key: path for path, known in self._files.items() for key in known.items}

    def hashed(self, data: bytes) -> str:
        """Return the hash of some bytes, under the key of the record."""
        return _hashed(self._key, data)

    def _of_path(self, path: str) -> str:
        return self.hashed(f"path\0{path}".encode("utf-8", "surrogatepass"))

    def of_file(self, path: str) -> Known | None:
        """Return what is known of a file; None for one that no import wrote."""
        return self._files.get(self._of_path(path))

    def digest(self, key: str) -> str:
        """Return the hash of what an item said when it was imported last; empty for a new one."""
        return self._files[self._homes[key]].items[key] if key in self._homes else ""

    def is_elsewhere(self, key: str, path: str) -> bool:
        """Whether an item was written, and to another file than this."""
        return key in self._homes and self._homes[key] != self._of_path(path)

    def save(self, run: str, files: Mapping[str, Known], added: Iterable[ImportedSetting]) -> None:
        """Remember what a run wrote, by paths; what none wrote, as it stands. Raises NoteUnreadable."""
        row = {
            "run": run,
            "files": {self._of_path(path): list(known) for path, known in files.items()},
            "settings": [_of_setting(self._key, one) for one in added],
        }
        key = {"key": self._key.hex()}
        keyvalue.update(self._workspace, _KEY, "", lambda known: known or key)
        keyvalue.write(self._workspace, _KIND, f"{time.time_ns():020}-{run}", row)


def added(
    workspace: paths.Workspace, imports: Iterable[str], settings: Iterable[ImportedSetting]
) -> tuple[list[ImportedSetting], int]:
    """Return which of some collections and contexts some runs added, and how many more these added.

    What somebody has changed since is another one.
    """
    names = set(imports)
    key, rows = _read(workspace)
    hashes = {one for row in rows if row["run"] in names for one in row["settings"]}
    known = [setting for setting in settings if _of_setting(key, setting) in hashes]
    return known, len(hashes) - len(known)


def _of_setting(key: bytes, setting: ImportedSetting) -> str:
    return _hashed(key, repr((setting.kind, setting.name, setting.value)).encode("utf-8", "surrogateescape"))


def _hashed(key: bytes, data: bytes) -> str:
    return blake2b(b"imports\0" + data, key=key, digest_size=16).hexdigest()[:16]


def _read(workspace: paths.Workspace) -> tuple[bytes, list[dict[str, Any]]]:
    """Return the key of the record's hashes, and its rows; a new key where there is no record yet."""
    kept, rows = keyvalue.read(workspace, _KEY), keyvalue.each(workspace, _KIND)
    return bytes.fromhex(kept["key"]) if kept else os.urandom(32), [row for _, row in rows]


def exported(data: bytes) -> bytes:
    """Return an export, whose digest is remembered among the user's state where that can be written."""
    root = Root(paths.user_state_dir())
    with suppress(OSError):
        root.make_folder()
        append(root, Path(_EXPORTS), f"{sha256(data).hexdigest()}\n".encode())
    return data


def is_own_export(data: bytes) -> bool:
    """Tell whether an export was made by this user on this machine, and not changed since."""
    with suppress(OSError):
        return sha256(data).hexdigest().encode() in Root(paths.user_state_dir()).read(_EXPORTS).split()
    return False
