"""What is examined: a workspace and settings as far as they can be had, whatever else is broken."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from commonplace import config, paths
from commonplace.embedding import builtin
from commonplace.errors import CommonplaceError, WorkspaceNotFound

if TYPE_CHECKING:
    from commonplace.config import Settings

# A folder that cannot exist: settings read from there are those that nobody set.
NOWHERE = Path(os.devnull)
_PLACES = ("HOME", "USERPROFILE", "APPDATA", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "LOCALAPPDATA")


@dataclass(frozen=True, slots=True)
class Case:
    """A workspace to examine. Where there is none `root` is None, and `missing` says where it was sought.

    `named` says that the owner named the place. `settings` are those in force or, where they cannot be
    read, as many of them as can. `offline` keeps everything on this machine; `now_s` is the time, in seconds
    of the epoch.
    """

    root: Path | None
    settings: Settings
    environ: Mapping[str, str]
    missing: str = ""
    named: bool = False
    offline: bool = False
    now_s: float = 0.0
    model_folder: Path = builtin.FOLDER

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
    root, missing = None, ""
    try:
        root = paths.resolve_workspace(folder, environ)
    except WorkspaceNotFound as error:
        missing = error.start
    settings = settings_as_can_be(NOWHERE if root is None else root, environ)
    return Case(root, settings, environ, missing, named, offline, time.time())


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
    except (CommonplaceError, OSError, ValueError) as error:
        return str(error)
    return ""


def only_places(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that say where files lie, and none that set a value."""
    return {name: environ[name] for name in _PLACES if name in environ}


def nowhere() -> dict[str, str]:
    """Return variables by which no file of the user's is found."""
    return dict.fromkeys(("HOME", "USERPROFILE", "APPDATA"), os.devnull)
