"""What imports have written, as keyed hashes: the record that keeps a second import from writing it twice.

    {"imports": [{"run": "20260213-…", "files": {PATH: [DIGEST, DAY, {KEY: DIGEST}]}, "settings": [HASH]}]}

A row is a run; what an undo took back counts as never written. No word of a note stands in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from commonplace.base import atomic, paths, records, signature
from commonplace.base.tuples import NamedTuple
from commonplace.changes import runs
from commonplace.types.imports import ImportedSetting

KIND = "imports"


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
        """Read the record; one that is not ours is not believed."""
        self._workspace, self._key = workspace, paths.signing_key()
        self._files: dict[str, Known] = {}
        for row in _rows(workspace):
            run = runs.load(workspace, row["run"]) if row["run"] else None
            if run is None or not run.undone:
                for path, (digest, day, items) in row["files"].items():
                    before = self._files[path].items if path in self._files else {}
                    news = {key: said for key, said in {**before, **items}.items() if said}  # else deleted
                    self._files[path] = Known(digest, day, news)
        self._homes = {key: path for path, known in self._files.items() for key in known.items}

    def hashed(self, data: bytes) -> str:
        """Return a hash that nobody can look words up by: it takes the user's key."""
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
        return key in self._homes and self._homes[key] != self.hashed(
            f"path\0{path}".encode("utf-8", "surrogatepass")
        )

    def save(self, run: str, files: Mapping[str, Known], added: Iterable[ImportedSetting]) -> None:
        """Remember what a run wrote, by paths; what none wrote, as it stands. Raises NoteUnreadable."""
        workspace = self._workspace
        row = {
            "run": run,
            "files": {self._of_path(path): list(known) for path, known in files.items()},
            "settings": [_of_setting(self._key, one) for one in added],
        }

        def change(value: dict[str, Any] | None) -> Mapping[str, Any]:
            return {"imports": [*(value or {}).get("imports", ()), row]}

        paths.prepare_derived(workspace)
        with atomic.locked(paths.lock_file(workspace, "imports")):
            records.update(workspace.files, workspace.imports, KIND, change)


def added(
    workspace: paths.Workspace, imports: Iterable[str], settings: Iterable[ImportedSetting]
) -> tuple[list[ImportedSetting], int]:
    """Return which of some collections and contexts some runs added, and how many more these added.

    What somebody has changed since is another one.
    """
    names = set(imports)
    hashes = {one for row in _rows(workspace) if row["run"] in names for one in row["settings"]}
    if not hashes:
        return [], 0
    key = paths.signing_key()
    known = [setting for setting in settings if _of_setting(key, setting) in hashes]
    return known, len(hashes) - len(known)


def _of_setting(key: bytes, setting: ImportedSetting) -> str:
    said = repr((setting.kind, setting.name, setting.value))
    return _hashed(key, said.encode("utf-8", "surrogateescape"))


def _hashed(key: bytes, data: bytes) -> str:
    return signature.sign(key, KIND, data)[:16]


def _rows(workspace: paths.Workspace) -> list[dict[str, Any]]:
    with suppress(FileNotFoundError, ValueError, records.Foreign):
        return list(records.read(workspace.files, workspace.imports, KIND).get("imports", ()))
    return []
