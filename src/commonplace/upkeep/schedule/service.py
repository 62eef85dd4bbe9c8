"""What watches a workspace all the time, as a service of the user: put in place, told of, and taken away."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.upkeep.schedule import jobs, launchd, systemd
from commonplace.upkeep.schedule.jobs import Job

STARTERS: Mapping[str, ModuleType] = {part.NAME: part for part in (systemd, launchd)}


class Service(NamedTuple):
    """The service of a workspace: its name, who starts it (empty for nobody), and whether it runs."""

    name: str
    by: str
    running: bool


def starter(platform: str = sys.platform) -> ModuleType:
    """Return who starts services of a user on such a machine."""
    return launchd if platform == "darwin" else systemd


def install(workspace: paths.Workspace, *, embed: bool = True, platform: str = sys.platform) -> Service:
    """Put the service in place, or change it, and start it. Raises ConfigError, with nothing half made."""
    job, chosen = jobs.watcher(workspace, embed=embed), starter(platform)
    if why := chosen.trouble():
        raise ConfigError(
            "watch",
            f"no service of yours can be made here ({why}); let whatever starts programs here keep "
            f"`commonplace -w {paths.shown(job.root)} watch` running, or do without: a search looks at the "
            "files itself",
        )
    chosen.install_watch(workspace, job)
    return Service(job.name, chosen.NAME, chosen.is_running(job))


def remove(workspace: paths.Workspace) -> list[str]:
    """Take the service away from whoever has it; return their names. Raises ConfigError where one goes on."""
    job = jobs.watcher(workspace)
    return [name for name, one in STARTERS.items() if one.remove_watch(workspace, job)]


def status(workspace: paths.Workspace) -> Service:
    """Tell of the service of a workspace; nothing is changed."""
    job = jobs.watcher(workspace)
    having = [name for name, one in STARTERS.items() if one.is_watching(job)]
    return Service(job.name, ", ".join(having), any(STARTERS[name].is_running(job) for name in having))


def unit(job: Job, platform: str = sys.platform) -> str:
    """Return what would be put in place for a job."""
    return launchd.watch_list(job).decode() if starter(platform) is launchd else systemd.watch_unit(job)
