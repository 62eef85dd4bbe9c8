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
from commonplace.providers.embedding import builtin, chinese
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
    model_folder: Path = builtin.FOLDER
    chinese_folder: Path = chinese.FOLDER
    around: str = ""
    barred: Path | None = None

    @property
    def workspace(self) -> paths.Workspace | None:
        """Where everything of the workspace lies."""
        return paths.Workspace(self.root) if self.root is not None else None

    @property
    def place(self) -> Path:
        """The root of the workspace, or a folder that cannot exist."""
        return NOWHERE if self.root is None else self.root


def present(folder: str | None, environ: Mapping[str, str] | None = None, *, offline: bool = False) -> Case:
    """Find what is to be examined; never raises for what may be wrong with it."""
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
    return Case(root, settings, environ, missing, named, offline, time.time(), around=around, barred=barred)


def settings_as_can_be(root: Path, environ: Mapping[str, str]) -> Settings:
    """Read the settings, without the workspace's own, then without any, where they cannot be read."""
    for place, variables in ((root, environ), (NOWHERE, environ), (NOWHERE, only_places(environ))):
        try:
            return config.load(place, variables)
        except (CommonplaceError, OSError, ValueError):
            continue
    return config.load(NOWHERE, nowhere())


def trouble(root: Path, environ: Mapping[str, str]) -> str:
    """Say what is wrong with settings; an empty text when they load."""
    try:
        config.load(root, environ)
    except CommonplaceError as error:
        return str(error.args[0]) if not isinstance(error.args[0], Message) else error.args[0]
    except (OSError, ValueError) as error:
        return str(error)
    return ""


def only_places(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say where files lie, without those that set a value."""
    return {name: environ[name] for name in _PLACES if name in environ}


def nowhere() -> dict[str, str]:
    """Return variables by which no file of the user's is found."""
    return {"HOME": os.devnull}


# --- how a check is run -------------------------------------------------------------------------------

Check = Callable[[], Iterable[Finding]]
LONGEST = 300  # characters of an unexpected error
LISTED = 5  # places that a finding names; further ones are counted


def guarded(name: str, check: Check) -> list[Finding]:
    """Run a check, and add what it stumbled over to what it had found before."""
    found: list[Finding] = []
    try:
        found.extend(check())
    except Unsafe as error:
        place = screen.one_line(os.fspath(error.filename))
        told = message("unsafe", "{place} is {what}", place=place, what=paths.reason(error))
        remedy = message(
            "unsafe.delete", "delete {place}: nothing is read or written through it", place=place
        )
        found.append(Finding(name, "wrong", told, remedy))
    except Exception as error:  # noqa: BLE001 - an examination must not end at what it is there to find
        if denied := _denied(name, error):
            return [*found, denied]
        what = screen.shorten(screen.one_line(f"{type(error).__name__}: {error}"), LONGEST)
        told = message("check.failed", "the check itself failed ({what})", what=what)
        report = "report it, with this line and the output of `commonplace doctor --json`"
        found.append(Finding(name, "wrong", told, message("check.report", report)))
    return found


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
    told, remedy = paths.barred(place)
    return Finding(
        name, state, message("place.told", "{place} {told}", place=paths.shown(place), told=told), remedy
    )


def listed(names: Sequence[str]) -> Message:
    """Return a few of some names, and how many more there are."""
    shown, more = tuple(paths.shown(name) for name in names[:LISTED]), len(names) - LISTED
    if more > 0:
        return message("list.more", "{names} and {more:,} more", names=shown, more=more)
    return message("list", "{names}", names=shown)


def size(count: float) -> str:
    """Return bytes as people write them."""
    if count < 1000:
        return message("bytes", "{n:.0f} bytes", n=count)
    units = ["KB", "MB", "GB", "TB"]
    while (count := count / 1000) >= 1000 and len(units) > 1:
        units.pop(0)
    return f"{count:.0f} {units[0]}" if count >= 100 else f"{count:.1f} {units[0]}"


# Group → (check, module:function). A module is imported when its check runs, so that one which cannot be
# imported is a finding like any other.
GROUPS: Mapping[str, Mapping[str, str]] = {
    "versions": {"versions.libraries": "machine:libraries"},
    "sqlite": {
        "sqlite.features": "machine:features",
        "sqlite.extension": "machine:extension",
    },
    "model": {"model.files": "machine:model_files", "model.vectors": "machine:model_vectors"},
    "settings": {
        "settings.files": "settings:files",
        "settings.variables": "settings:variables",
        "settings.origins": "settings:origins",
        "settings.agents": "settings:agents",
    },
    "providers": {
        "providers.embedding": "providers:embedding",
        "providers.reranking": "providers:reranker",
        "providers.llm": "providers:language",
    },
    "workspace": {
        "workspace.folder": "workspace:folder",
        "workspace.tree": "workspace:tree",
    },
    "notes": {
        "notes.text": "workspace:text",
        "notes.names": "workspace:names",
        "notes.long_term": "workspace:long_term",
    },
    "index": {"index.file": "index:examine", "index.leftovers": "workspace:leftovers"},
    "stores": {
        "stores.ledger": "stores:ledger",
        "stores.usage": "stores:usage",
        "stores.spool": "stores:spool",
        "stores.history": "stores:history",
        "stores.caches": "stores:caches",
    },
    "schedule": {"schedule.last": "schedule:last"},
    "disk": {"disk.space": "machine:space"},
    "permissions": {
        "permissions.settings": "permissions:settings",
        "permissions.keys": "permissions:keys",
        "permissions.caches": "permissions:caches",
        "permissions.folders": "permissions:folders",
        "permissions.owners": "permissions:owners",
    },
}
_AT_ONCE = 4  # most of what takes long waits: for servers, and for other processes


def examine(
    case: Case, more: Mapping[str, Mapping[str, Check]] = MappingProxyType({})
) -> Iterator[tuple[str, list[Finding]]]:
    """Run every check; yield each group with its findings as soon as it and those before it are complete.

    `more` are groups of whoever asks, checked after our own.
    """
    groups: dict[str, Mapping[str, Check]] = {
        group: {name: partial(_run, entry, case) for name, entry in checks.items()}
        for group, checks in GROUPS.items()
    }
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
