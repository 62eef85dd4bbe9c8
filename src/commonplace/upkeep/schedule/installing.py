"""A nightly consolidation put in place by whoever starts programs here, told of, and taken away."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import ModuleType
from typing import TYPE_CHECKING

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import cron, due, jobs, launchd, service, systemd
from commonplace.upkeep.schedule.jobs import Job

if TYPE_CHECKING:
    from commonplace.memory import Memory

STARTERS: Mapping[str, ModuleType] = {part.NAME: part for part in (systemd, launchd, cron)}


@dataclass(frozen=True, slots=True)
class Installed:
    """Who starts the job of a workspace now, and what was tried before."""

    job: Job
    by: str
    passed_over: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Status:
    """The schedule of a workspace: who starts it (empty for nobody), when, and how the last one went.

    `next` and `last` are ISO 8601 or empty; `result` is of the last one that was tried. `watched_by` is who
    starts the service that watches the notes, empty for nobody, and `watching` whether it runs.
    """

    name: str
    by: str
    at: str
    next: str
    last: str
    tried: str
    result: str
    due: bool
    watched_by: str = ""
    watching: bool = False


def install(
    workspace: paths.Workspace, at: str = "", by: str = "", *, platform: str = sys.platform
) -> Installed:
    """Put a job in place, or change its time, by `by` or the first that works here.

    Without `at` a job that is there keeps its time, and without `by` who starts it, if that still works.
    Afterwards nobody else starts it. Raises ConfigError, with nothing half made.
    """
    standing = _standing(workspace)
    job = jobs.of(workspace, at or next(iter(standing.values()), jobs.DEFAULT_TIME))
    usual = [launchd.NAME, cron.NAME] if platform == "darwin" else [systemd.NAME, cron.NAME]
    names = [by] if by else [*standing, *(name for name in usual if name not in standing)]
    troubles: list[str] = []
    for name in names:
        try:
            if why := STARTERS[name].trouble():
                raise ConfigError(name, why.removeprefix(f"{name}: "))
            STARTERS[name].install(workspace, job)
        except ConfigError as error:
            troubles.append(str(error))
            continue
        for other in standing.keys() - {name}:
            STARTERS[other].remove(workspace, job)
        return Installed(job, name, tuple(troubles))
    raise ConfigError(
        "schedule",
        f"nobody here can start it ({'; '.join(troubles)}); let whatever starts programs at night run "
        f"`commonplace -w {paths.shown(job.root)} consolidate --if-due`",
    )


def remove(workspace: paths.Workspace) -> list[str]:
    """Take the job away from whoever has it; return their names. Raises ConfigError where one goes on."""
    job = jobs.of(workspace)
    return [name for name, starter in STARTERS.items() if starter.remove(workspace, job)]


def _standing(workspace: paths.Workspace) -> dict[str, str]:
    """The time that each who has the job is set to."""
    job = jobs.of(workspace)
    found = {name: starter.installed(job) for name, starter in STARTERS.items()}
    return {name: at for name, at in found.items() if at}


def status(memory: Memory, now: datetime) -> Status:
    """Tell of the schedule of a workspace; nothing is changed."""
    workspace = memory.workspace
    standing = _standing(workspace)
    at = next(iter(standing.values()), "")
    known = due.record(workspace)
    last = due.last_at(workspace, known)
    watcher = service.status(workspace)
    return Status(
        name=jobs.of(workspace).name,
        by=", ".join(standing),
        at=at,
        next=jobs.following(at, now).isoformat(timespec="minutes") if at else "",
        last=last.isoformat(timespec="seconds") if last else "",
        tried=known.tried if known else "",
        result=known.result if known else "the record is damaged",
        due=due.is_due(memory, now),
        watched_by=watcher.by,
        watching=watcher.running,
    )
