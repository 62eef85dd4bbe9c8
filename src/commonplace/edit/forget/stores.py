"""The stores of a workspace: every kind of file that keeps words of notes, questions or conversations.

A new store is one row here. `base.records.PLACES` names for each file below `.commonplace/` the row that
forgets it, and a test compares the two. Entries point into packages above this one, which know the format of
their files: a store is made only where something is forgotten.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from importlib import import_module
from pathlib import Path
from typing import NamedTuple, cast

from commonplace.base import atomic, paths, records
from commonplace.base.root import Root
from commonplace.transcripts import session as transcript
from commonplace.types.changes import Erased
from commonplace.types.store import Queue, Site, Store, Targets

_TEMPORARY = re.compile(r"\..{1,40}\.[0-9a-f]{12}\.tmp")  # as `atomic` names them
_OWN_TEMPORARY = re.compile(r"\..*\.tmp", re.DOTALL)  # as `base.root` does, where nobody else has files
_LARGEST_LOG = 1 << 28
_LOGS = ("server.log", "schedule.log")


class Row(NamedTuple):
    """A store: where its class is, which takes a `Site`; whether new rules redact it once more."""

    entry: str  # module:class
    renewed: bool = False
    after_notes: bool = True  # whether it is cleaned after the notes, in the order of this table


# In the order of the flow of text.
STORES = {
    "spool": Row("commonplace.upkeep.spool:SpoolStore", renewed=True, after_notes=False),
    "transcripts": Row("commonplace.transcripts.session:TranscriptStore", renewed=True),
    "history": Row("commonplace.changes.store:HistoryStore"),
    "usage": Row("commonplace.search.journal:UsageStore", renewed=True),
    "answers": Row("commonplace.providers.cache:AnswerStore", renewed=True),
    "injected": Row("commonplace.agent.seen:SeenStore"),
    "pending": Row("commonplace.upkeep.watermarks:MarkStore"),
    "logs": Row("commonplace.edit.forget.stores:LogStore", renewed=True),
    "leftovers": Row("commonplace.edit.forget.stores:LeftoverStore"),
    "requests": Row("commonplace.edit.forget.requests:RequestStore", renewed=True),
    "copies": Row("commonplace.notes.writes:CopyStore", renewed=True, after_notes=False),
    "vectors": Row("commonplace.providers.cache:VectorStore", after_notes=False),
}
# No classes: what `erase` itself brings up to the notes, or writes.
MODULES = {"index": "commonplace.index.forget", "intents": "commonplace.edit.forget.journal"}


def load(site: Site, name: str) -> Store:
    """Make a store by its name."""
    module, _, kind = STORES[name].entry.partition(":")
    return cast(Store, getattr(import_module(module), kind)(site))


def spool(site: Site) -> Queue:
    """Make the store of entries that wait to be written into notes."""
    return cast(Queue, load(site, "spool"))


def after_notes(site: Site) -> list[Store]:
    """Make the stores that are cleaned once the notes are, in their order."""
    return [load(site, name) for name, row in STORES.items() if row.after_notes]


def renewed(site: Site) -> list[Store]:
    """Make the stores, but for the spool, that are redacted by new rules."""
    return [load(site, name) for name, row in STORES.items() if row.renewed and name != "spool"]


class LogStore:
    """Forgets in the logs of servers and of the schedule, which go on writing: their length stays."""

    def __init__(self, site: Site) -> None:
        self._site = site

    def find(self, targets: Targets) -> list[Erased]:
        """Return how many lines of each log hold any of it."""
        return self._sweep(targets, change=False)

    def forget(self, targets: Targets) -> list[Erased]:
        """Blank these lines."""
        return self._sweep(targets, change=True)

    def _sweep(self, targets: Targets, *, change: bool) -> list[Erased]:
        workspace = self._site.workspace
        erased = []
        folders = (workspace.derived, paths.fallback_index(workspace.root).parent)
        for path in (folder / name for folder in folders for name in _LOGS):
            root = paths.root_of(path)
            if not root.is_file(path):
                continue
            with records.translated(path):
                data = root.read(path, limit=_LARGEST_LOG)
            spans, at = [], 0
            for line in records.lines(data):
                if targets.matches(line.decode("utf-8", "replace")):
                    spans.append((at, line))
                at += len(line)
            if spans:
                erased.append(Erased("logs", self._site.shown(path), count=len(spans)))
            if spans and change:
                with records.translated(path), os.fdopen(root.descriptor(path, os.O_RDWR), "r+b") as file:
                    for at, line in spans:
                        file.seek(at)
                        file.write(b" " * len(line.rstrip(b"\r\n")))
                    file.flush()
                    os.fsync(file.fileno())
        return erased


class LeftoverStore:
    """Forgets temporary files of writers that were killed, and records that were set aside."""

    def __init__(self, site: Site) -> None:
        self._site, self._root = site, site.workspace.files

    def find(self, targets: Targets) -> list[Erased]:
        """Return those that hold any of it."""
        return self._sweep(targets, change=False)

    def forget(self, targets: Targets) -> list[Erased]:
        """Remove these."""
        return self._sweep(targets, change=True)

    def _sweep(self, targets: Targets, *, change: bool) -> list[Erased]:
        workspace, root = self._site.workspace, self._root
        open_to_all = [
            workspace.root, *self._below(workspace.memory_dir), *self._below(workspace.root / "archive"),
        ]  # fmt: skip
        own = [transcript.folder(workspace), *self._below(workspace.derived)]
        erased: list[Erased] = []
        locks = [paths.lock_file(workspace, name) for name in ("notes", "sessions")]
        notes, sessions = [atomic.locked(lock) if change else nullcontext() for lock in locks]
        with notes, sessions:
            places = [path for folder in open_to_all for path in self._named(folder, _TEMPORARY)]
            places += [path for folder in own for path in self._named(folder, _OWN_TEMPORARY)]
            aside = [workspace.derived / records.FOREIGN_FOLDER / name for name in records.foreign(root)]
            for path in dict.fromkeys([*places, *aside]):
                inside = [folder / name for folder in self._below(path) for name in _names(root, folder)]
                files = [file for file in (path, *inside) if root.is_file(file)]
                texts = (records.load(root, file).decode("utf-8", "replace") for file in files)
                if any(map(targets.matches, texts)):
                    shown = self._site.shown(path)
                    erased.append(Erased("foreign" if path in aside else "leftovers", shown))
                    if change:
                        with records.translated(path):
                            root.remove(path)
        return erased

    def _below(self, folder: Path) -> Iterator[Path]:
        """A folder and those below it, but none that a link leads to."""
        if self._root.is_folder(folder):
            yield folder
            for name in _names(self._root, folder):
                yield from self._below(folder / name)

    def _named(self, folder: Path, pattern: re.Pattern[str]) -> list[Path]:
        named = [folder / name for name in _names(self._root, folder) if pattern.fullmatch(name)]
        return [path for path in named if self._root.is_file(path)]


def _names(root: Root, folder: Path) -> list[str]:
    with suppress(OSError):
        return root.names(folder)
    return []
