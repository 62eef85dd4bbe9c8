"""The stores of a workspace: every kind of file that keeps words of notes, questions or conversations.

A new store is one row here: a function `sweep` (`types.store`) in the module that writes its files.
Entries point into packages above this one: they are imported only where something is forgotten.

After an upgrade with other rules of redaction, the stores are cleaned once of what is redacted now. Notes are
their owner's, and the record of changes keeps their bytes so that `undo` stays exact: both stay as they are.
The index is made anew where it is opened.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from commonplace.base import locks, paths, records
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple
from commonplace.edit.forget.targets import Targets as Chosen
from commonplace.edit.forget.words import MARK, Words
from commonplace.index import rules
from commonplace.redaction.redact import redact
from commonplace.storage import keyvalue, queue, state
from commonplace.transcripts import session as transcript
from commonplace.types.changes import Erased
from commonplace.types.store import Site, Targets

_TEMPORARY = f".?*.{'[0-9a-f]' * 12}.tmp"  # as `storage.files` names them
_OWN_TEMPORARY = ".*.tmp"  # as `base.root` names them, in our own folders
_LARGEST_LOG = 1 << 28
_LOGS = ("server.log", "schedule.log", "set-aside.jsonl")
RULES = "redaction"  # a file with the version of the rules that records were last redacted by
_ESCAPE = re.compile(r"\\+[nrt]")  # of JSON in a text: a token behind one would seem to begin inside a word


class StoreRow(NamedTuple):
    """A store: where its function is; whether new rules redact it once more."""

    entry: str  # module:function
    renewed: bool = False
    after_notes: bool = True  # whether it is cleaned after the notes, in the order of this table


# In the order of the flow of text.
STORES = {
    "spool": StoreRow("commonplace.storage.queue:sweep", renewed=True, after_notes=False),
    "transcripts": StoreRow("commonplace.transcripts.session:sweep", renewed=True),
    "history": StoreRow("commonplace.storage.erasing:sweep"),
    "usage": StoreRow("commonplace.search.journal:sweep", renewed=True),
    "answers": StoreRow("commonplace.providers.cache:sweep_answers", renewed=True),
    "injected": StoreRow("commonplace.edit.forget.stores:sweep_injected"),
    "pending": StoreRow("commonplace.upkeep.watermarks:sweep"),
    "logs": StoreRow("commonplace.edit.forget.stores:sweep_logs", renewed=True),
    "leftovers": StoreRow("commonplace.edit.forget.stores:sweep_leftovers"),
    "requests": StoreRow("commonplace.edit.forget.requests:sweep", renewed=True),
    "copies": StoreRow("commonplace.storage.erasing:sweep_versions", after_notes=False),
    "vectors": StoreRow("commonplace.providers.cache:sweep_vectors", after_notes=False),
}
# No functions: what `erase` itself brings up to the notes, or writes.
MODULES = {"index": "commonplace.index.sqlite.forget", "intents": "commonplace.edit.forget.journal"}


def after_notes() -> list[str]:
    """Return the stores that are cleaned once the notes are, in their order."""
    return [name for name, row in STORES.items() if row.after_notes]


def find(site: Site, name: str, targets: Targets) -> list[Erased]:
    """Return the places of a store with a match, without changing them. Raises NoteUnreadable."""
    return cast(list[Erased], _entry(STORES[name].entry)(site, targets, change=False))


def forget(site: Site, name: str, targets: Targets, **options: Any) -> list[Erased]:  # noqa: ANN401
    """Remove it from a store; return the places that held it. Raises NoteUnreadable."""
    return cast(list[Erased], _entry(STORES[name].entry)(site, targets, change=True, **options))


def _entry(entry: str) -> Any:  # noqa: ANN401
    module, _, function = entry.partition(":")
    return getattr(import_module(module), function)


def sweep_injected(site: Site, targets: Chosen, *, change: bool) -> list[Erased]:
    """Name what forgotten sessions were given (`agent.seen`); remove it to `change`.

    Of all sessions where anything else is forgotten: hashes say whether a session was given a statement.
    """
    own, kind = set(map(keyvalue.of_session, targets.sessions)), "injected"
    every = keyvalue.each(site.workspace, kind)
    gone = [name for name, _ in every if not targets.only_sessions or name in own]
    if change:
        keyvalue.remove(site.workspace, kind, gone, erase=True)
    return [Erased("marks", site.shown(state.path(site.workspace))) for _ in gone]


def sweep_logs(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name logs and entries set aside that hold any of it; to `change` empty a log, and cut out entries."""
    root, erased = site.workspace.kept, []
    for path in (site.workspace.state / name for name in _LOGS):
        with records.translated(path):
            data = root.read(path, limit=_LARGEST_LOG) if root.is_file(path) else b""
            if targets.matches(data.decode("utf-8", "replace")):
                erased.append(Erased("logs", site.shown(path)))
                lines = [] if path.suffix == ".log" else data.splitlines(keepends=True)
                rest = [line for line in lines if not targets.matches(line.decode("utf-8", "replace"))]
                if change:  # in place: those programs have it open, and write at its end
                    with os.fdopen(root.descriptor(path, os.O_RDWR), "r+b") as file:
                        file.writelines(rest)
                        file.truncate()
    return erased


def sweep_leftovers(site: Site, targets: Targets, *, change: bool) -> list[Erased]:
    """Name temporary files of killed writers, and what is left of version 0.1; remove them to `change`."""
    workspace, erased = site.workspace, list[Erased]()
    held = [paths.lock_file(workspace, name) for name in ("notes", "sessions")]
    notes, sessions = [locks.locked(lock) if change else nullcontext() for lock in held]
    with notes, sessions:
        for root, path in _temporaries(workspace):
            if targets.matches(records.load(root, path).decode("utf-8", "replace")):
                erased.append(Erased("leftovers", site.shown(path)))
                if change:
                    with records.translated(path):
                        root.remove(path)
        old, files = workspace.derived / "old", workspace.files
        texts = (
            records.load(files, path).decode("utf-8", "replace")
            for folder in _below(old)
            for path in records.listed(files, folder)
        )
        if any(map(targets.matches, texts)):
            erased.append(Erased("leftovers", site.shown(old)))
            if change:
                with records.translated(old):
                    files.remove(old)
    return erased


def _temporaries(workspace: paths.Workspace) -> Iterator[tuple[Root, Path]]:
    """Yield the temporary files of `storage.files` and `base.root`, with their roots."""
    files, kept = workspace.files, workspace.kept
    notes = [workspace.root, *_below(workspace.memory_dir), *_below(workspace.root / "archive")]
    places = [(files, folder, _TEMPORARY) for folder in notes]
    places.append((files, transcript.folder(workspace), _OWN_TEMPORARY))
    places += [(kept, folder, _OWN_TEMPORARY) for folder in _below(workspace.state)]
    for root, folder, pattern in places:
        with suppress(OSError):
            names = fnmatch.filter(root.names(folder), pattern)
            yield from ((root, folder / name) for name in names if root.is_file(folder / name))


def _below(folder: Path) -> Iterator[Path]:
    """Yield a folder and its subfolders, without following links."""
    return (Path(path) for path, _, _ in os.walk(folder))


# --- redacted by the rules of today ---------------------------------------------------------------------


class Secrets(Words):
    """The secrets that the rules redact, as words of a forgetting."""

    def __init__(self) -> None:
        """Prepare no words of its own."""
        super().__init__(())

    def match(self, text: str) -> bool:
        """Tell whether a text, or what it escapes, holds a secret."""
        return bool(redact(text)[1] or redact(_ESCAPE.sub(" ", text))[1])

    def mask(self, text: str, mark: str = MARK) -> str:
        """Return a text with its secrets redacted."""
        text = redact(text)[0]
        plain, kinds = redact(_ESCAPE.sub(" ", text))
        return plain if kinds else text

    def clean_arguments(self, arguments: str) -> str:
        """Return the arguments of a call without the secrets in them, as JSON if they were."""
        try:
            value = json.loads(arguments)
        except (ValueError, RecursionError):
            return self.mask(arguments)
        return json.dumps(Redaction().clean(value), ensure_ascii=False)


class Redaction(Chosen):
    """Whatever the rules of today redact, as something to be forgotten."""

    @cached_property
    def parts(self) -> Words:
        """The secrets, which are cut out."""
        return Secrets()


def is_due(workspace: paths.Workspace) -> bool:
    """Tell whether records were written by other rules than today's, as far as a mark says."""
    try:
        noted = workspace.kept.read(RULES, limit=1024).decode("ascii", "replace")
        return noted != rules.VERSIONS[rules.REDACTION]
    except OSError:
        return True


def renew(site: Site, *, timeout_s: float = locks.LOCK_WAIT_S) -> list[Erased]:
    """Redact anew what records hold, once for each set of rules; return what changed.

    A process that is killed leaves no mark, and the next sync does it again. Raises NoteUnreadable.
    """
    if not is_due(site.workspace):
        return []
    with locks.locked(paths.lock_file(site.workspace, "erase"), timeout_s):
        if not is_due(site.workspace):
            return []
        secrets, erased = Redaction(), []
        with queue.hold(site.workspace):
            erased += forget(site, "spool", secrets)
        for name, row in STORES.items():
            if row.renewed and name != "spool":
                erased += forget(site, name, secrets)
        with records.translated(site.workspace.state / RULES):
            site.workspace.kept.exchange(RULES, str(rules.VERSIONS[rules.REDACTION]).encode())
    return erased
