"""What is started at night for a workspace, whoever starts it: a name, a time, a command, its surroundings.

The interpreter is named by its path and takes no module from the current folder, since whoever starts
programs at night has another PATH, and a folder of notes must not bring code of its own.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from commonplace.base import installation, paths
from commonplace.base.errors import ConfigError

DEFAULT_TIME = "03:30"
NICE = 10
LOG = "schedule.log"
# What decides where settings, caches and programs are found. Keys of providers are not among them.
CARRIED = ("PATH", "PYTHONPATH", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
_TIME = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True)
class Job:
    """The nightly consolidation of a workspace; `root` is its real path, `at` HH:MM."""

    name: str
    root: str
    at: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]

    @property
    def hour(self) -> int:
        """The hour it starts at."""
        return int(self.at[:2])

    @property
    def minute(self) -> int:
        """The minute it starts at."""
        return int(self.at[3:])


def of(workspace: paths.Workspace, at: str = DEFAULT_TIME, environ: Mapping[str, str] | None = None) -> Job:
    """Return the job of a workspace, named by its real path.

    Raises ConfigError for what is no time, and for a path that no such program could be told.
    """
    root = os.path.realpath(workspace.root)
    if not root.isprintable():  # control characters, and bytes that are no UTF-8
        raise ConfigError("schedule", f"{paths.shown(root)} holds characters that no schedule can name")
    found = _TIME.fullmatch(at)
    if found is None:
        raise ConfigError("at", f"{at!r} is no time of day; write it as {DEFAULT_TIME}")
    values = installation.environment(environ)
    told = ((name, values.get(name, "")) for name in CARRIED)
    name = f"commonplace-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
    command = tuple(installation.python("-m", "commonplace", "-w", root, "consolidate", "--if-due"))
    carried = tuple((key, value) for key, value in told if value and value.isprintable())
    return Job(name, root, f"{int(found[1]):02}:{found[2]}", command, carried)


def script(job: Job) -> str:
    """Return the job as a line for a shell; what it prints replaces what the night before printed."""
    root, folder = shlex.quote(job.root), shlex.quote(paths.DERIVED_FOLDER)
    carried = "".join(f"{name}={shlex.quote(value)} " for name, value in job.environment)
    return (
        f"cd {root} && {{ [ -d {folder} ] || mkdir {folder}; }} && "
        f"{carried}nice -n {NICE} {shlex.join(job.command)} > {folder}/{LOG} 2>&1"
    )


def following(at: str, now: datetime) -> datetime:
    """Return the next moment that a clock here shows `at`, after `now`."""
    local = now.astimezone()
    clock = time.fromisoformat(at)
    for days in range(2):
        day = local.date() + timedelta(days=days)
        if (moment := datetime.combine(day, clock).astimezone()) > local:
            break
    return moment
