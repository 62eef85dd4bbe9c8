"""The case to examine, the table of checks, and how they are run."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from commonplace import config
from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, WorkspaceNotFound
from commonplace.base.messages import Message, message
from commonplace.base.root import Unsafe
from commonplace.render import screen
from commonplace.types import Finding, State

if TYPE_CHECKING:
    from commonplace.config import Settings

# A folder that cannot exist: settings read from there are the defaults.
NOWHERE = Path(os.devnull)
_PLACES = ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")


@dataclass(frozen=True, slots=True)
class Case:
    """A workspace to examine. If it is missing, `root` is None and `missing` is the path of the search.

    `named`: the owner named the path; `around`: the workspace that contains it; `barred`: the folder on the
    way to it that this user may not enter. `settings` are those in force or, if they cannot be read, as many
    as can be. `offline` forbids calls to other machines; `now_s` is the time, in seconds of the epoch.
    """

    root: Path | None
    settings: Settings
    environ: Mapping[str, str]
    missing: str = ""
    named: bool = False
    offline: bool = False
    now_s: float = 0.0
    around: str = ""
    barred: Path | None = None

    @property
    def workspace(self) -> paths.Workspace | None:
        """The paths of the workspace."""
        return paths.Workspace(self.root) if self.root is not None else None

    @property
    def place(self) -> Path:
        """The root of the workspace, or a folder that cannot exist."""
        return NOWHERE if self.root is None else self.root


def present(folder: str | None, environ: Mapping[str, str] | None = None, *, offline: bool = False) -> Case:
    """Find the workspace to examine and read its settings; a fault of either is left to the checks."""
    environ = dict(os.environ if environ is None else environ)
    named = bool(folder or environ.get(paths.WORKSPACE_VARIABLE))
    root, missing, around, barred = None, "", "", None
    try:
        root = paths.resolve_workspace(folder, environ)
    except WorkspaceNotFound as error:
        missing, around = error.start, error.around
    if root is not None and (barred := paths.barrier(root)):
        root = None  # its contents cannot be examined
    settings = settings_as_can_be(NOWHERE if root is None else root, environ)
    return Case(root, settings, environ, missing, named, offline, time.time(), around, barred)


def settings_as_can_be(root: Path, environ: Mapping[str, str]) -> Settings:
    """Read the settings, without the workspace's own, then without any, where they cannot be read."""
    for place, variables in ((root, environ), (NOWHERE, environ), (NOWHERE, only_places(environ))):
        if not trouble(place, variables):
            return config.load(place, variables)
    return config.load(NOWHERE, nowhere())


def trouble(root: Path, environ: Mapping[str, str]) -> str:
    """Return why settings do not load; an empty text when they do."""
    try:
        config.load(root, environ)
    except CommonplaceError as error:
        told: str = error.args[0]  # a `Message`, if it is one
        return told
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def only_places(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with the places of files, without those that set a value."""
    return {name: environ[name] for name in _PLACES if name in environ}


def nowhere() -> dict[str, str]:
    """Return variables by which no file of the user is found."""
    return {"HOME": os.devnull}


# --- how a check is run -------------------------------------------------------------------------------

Check = Callable[[], Iterable[Finding]]
LONGEST = 300  # characters of an unexpected error
LISTED = 5  # places that a finding names; further ones are counted


def guarded(name: str, check: Check) -> list[Finding]:
    """Run a check; an error is one more finding, and a check without findings is `ok`."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except Unsafe as error:
        place = screen.one_line(os.fspath(error.filename))
        told = message("unsafe", "{place} is {what}", place=place, what=paths.reason(error))
        delete = "delete {place}: nothing is read or written through it"
        found.append(Finding(name, "wrong", told, message("unsafe.delete", delete, place=place)))
    except Exception as error:  # noqa: BLE001 - an examination must not end at what it is there to find
        if denied := _denied(name, error):
            return [*found, denied]
        what = screen.shorten(screen.one_line(f"{type(error).__name__}: {error}"), LONGEST)
        told = message("check.failed", "the check itself failed ({what})", what=what)
        report = "report it, with this line and the output of `commonplace doctor --json`"
        found.append(Finding(name, "wrong", told, message("check.report", report)))
    return found or [Finding(name, "ok", "")]


def _denied(name: str, error: Exception) -> Finding | None:
    """Return the finding for an unreadable path: skipped if another user owns it, else wrong."""
    if not isinstance(error, PermissionError) or not os.path.isabs(error.filename or ""):
        return None
    with suppress(OSError):
        place = Path(os.fsdecode(error.filename))
        place = paths.barrier(place.parent) or place
        foreign = paths.another_user(os.lstat(place).st_uid)
        return barred(name, place, "skipped" if foreign else "wrong")
    return None


def barred(name: str, place: Path, state: State = "wrong") -> Finding:
    """Return the finding for a file or folder that this user may not read."""
    why, remedy = paths.barred(place)
    told = message("place.told", "{place} {told}", place=paths.shown(place), told=why)
    return Finding(name, state, told, remedy)


def listed(names: Sequence[str]) -> Message:
    """Return a few of some names, and how many more there are."""
    shown, more = tuple(paths.shown(name) for name in names[:LISTED]), len(names) - LISTED
    if more > 0:
        return message("list.more", "{names} and {more:,} more", names=shown, more=more)
    return message("list", "{names}", names=shown)


# Checks by name: module and function. A module is imported when its check runs, so that one which cannot be
# imported is a finding like any other. Checks of one group stand together.
CHECKS: Mapping[str, str] = {
    "versions.libraries": "machine:libraries",
    "sqlite.extension": "machine:extension",
    "model.files": "machine:model_files",
    "settings.files": "settings:files",
    "settings.variables": "settings:variables",
    "settings.left-out": "settings:left_out",
    "settings.agents": "settings:agents",
    "providers.embedding": "providers:embedding",
    "providers.reranking": "providers:reranker",
    "providers.llm": "providers:language",
    "workspace.folder": "workspace:folder",
    "workspace.collections": "workspace:collections",
    "workspace.folders": "workspace:folders",
    "notes.text": "workspace:text",
    "notes.conflicts": "workspace:conflict_copies",
    "notes.long_term": "workspace:long_term",
    "index.file": "index:examine",
    "stores.files": "stores:databases",
    "stores.hooks": "stores:late_hooks",
    "stores.spool": "stores:spool",
    "stores.history": "stores:history",
    "stores.unfinished": "stores:unfinished",
    "schedule.last": "stores:consolidation",
    "disk.space": "machine:space",
    "permissions.settings": "permissions:settings",
    "permissions.keys": "permissions:keys",
    "permissions.folders": "permissions:folders",
}
_AT_ONCE = 4  # most of what takes long waits: for servers, and for other processes


def examine(
    case: Case, more: Mapping[str, Mapping[str, Check]] = MappingProxyType({})
) -> Iterator[tuple[str, list[Finding]]]:
    """Run every check; yield each group with its findings as soon as it and those before it are complete.

    `more` are groups of the caller, checked after our own.
    """
    groups: dict[str, dict[str, Check]] = {}
    for name, entry in CHECKS.items():
        groups.setdefault(name.partition(".")[0], {})[name] = partial(_run, entry, case)
    with ThreadPoolExecutor(_AT_ONCE, "commonplace-doctor") as pool:
        running = {
            group: [pool.submit(guarded, name, check) for name, check in checks.items()]
            for group, checks in {**groups, **more}.items()
        }
        for group, results in running.items():
            yield group, [finding for result in results for finding in result.result()]


def _run(entry: str, case: Case) -> Iterator[Finding]:
    module, _, function = entry.partition(":")
    found: Iterator[Finding] = getattr(import_module(f"commonplace.diagnosis.{module}"), function)(case)
    return found
