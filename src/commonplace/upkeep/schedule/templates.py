"""The files by which systemd, launchd or cron start a job for a workspace; the owner puts them in place.

The interpreter is named by its path and takes no module from the current folder: a scheduler has another
PATH, and a folder of notes must not bring code of its own.
https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html says how values are quoted.
"""

from __future__ import annotations

import hashlib
import os
import plistlib
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import time
from pathlib import Path

from commonplace.base import installation, paths
from commonplace.base.errors import ConfigError

NAMES = ("systemd", "launchd", "cron")
DEFAULT_TIME = "03:30"
NICE = 10
RESTART_S, LOG = 60, "schedule.log"  # after a watcher that failed; in the state
# The variables that decide where settings, caches and programs are found, without keys of providers.
CARRIED = (
    "PATH", "PYTHONPATH", "XDG_CONFIG_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME", paths.STATE_VARIABLE,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Job:
    """A command for a workspace; `root` is its real path, `at` HH:MM, empty for all the time."""

    name: str
    root: str
    at: str
    command: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Setup:
    """Files to put in place, by path, and the lines for a shell that start the job and take it away."""

    files: Mapping[Path, str]
    start: str
    stop: str


def nightly(workspace: paths.Workspace, at: str = "", environ: Mapping[str, str] | None = None) -> Job:
    """Return the nightly consolidation of a workspace. Raises ConfigError for an unfit time or path."""
    clock = at or DEFAULT_TIME
    hour, _, minute = clock.partition(":")
    try:
        told = f"{time.fromisoformat(f'{hour:0>2}:{minute}'):%H:%M}"
    except ValueError:
        raise ConfigError("at", f"{clock!r} is no time of day; write it as {DEFAULT_TIME}") from None
    return _job(workspace, "", told, ("consolidate", "--if-due"), environ)


def watcher(workspace: paths.Workspace, environ: Mapping[str, str] | None = None) -> Job:
    """Return the watcher of a workspace. Raises ConfigError for an unfit path."""
    return _job(workspace, "-watch", "", ("watch",), environ)


def _job(
    workspace: paths.Workspace,
    ending: str,
    at: str,
    words: tuple[str, ...],
    environ: Mapping[str, str] | None,
) -> Job:
    root = os.path.realpath(workspace.root)
    if not root.isprintable():  # control characters, and bytes that are no UTF-8
        raise ConfigError("schedule", f"{paths.shown(root)} holds characters that no schedule can name")
    values = installation.environment(environ)
    if named := values.get(paths.STATE_VARIABLE):
        values = {**values, paths.STATE_VARIABLE: os.path.abspath(named)}
    carried = ((name, values.get(name, "")) for name in CARRIED)
    return Job(
        name=f"commonplace-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}{ending}",
        root=root,
        at=at,
        command=tuple(installation.python("-m", "commonplace", "-w", root, *words)),
        environment=tuple((name, value) for name, value in carried if value and value.isprintable()),
    )


def setup(job: Job, by: str = "", *, platform: str = sys.platform) -> Setup:
    """Return what starts a job, by one of `NAMES` or by the usual one of the platform.

    Raises ConfigError if cron should keep a watcher running.
    """
    by = by or ("launchd" if platform == "darwin" else "systemd")
    if by == "launchd":
        place = Path(os.path.expanduser("~"), "Library", "LaunchAgents", f"{job.name}.plist")
        load = f"launchctl bootstrap gui/$(id -u) {shlex.quote(os.fspath(place))}"
        gone = f"launchctl bootout gui/$(id -u)/{job.name}; rm -f {shlex.quote(os.fspath(place))}"
        return Setup({place: property_list(job)}, load, gone)
    if by == "cron":
        if not job.at:
            raise ConfigError("schedule", "cron keeps nothing running; use systemd or launchd")
        take = f"(crontab -l | grep -v {job.name}) | crontab -"
        return Setup({}, f"(crontab -l; echo {shlex.quote(cron_line(job))}) | crontab -", take)
    config = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(config) if os.path.isabs(config) else Path(os.path.expanduser("~"), ".config")
    unit = f"{job.name}.{'timer' if job.at else 'service'}"
    files = {home / "systemd" / "user" / f"{job.name}.service": service_unit(job)}
    if job.at:
        files[home / "systemd" / "user" / unit] = timer_unit(job)
    start = f"systemctl --user daemon-reload && systemctl --user enable --now {unit}"
    removed = shlex.join(map(os.fspath, files))
    return Setup(files, start, f"systemctl --user disable --now {unit}; rm -f {removed}")


def script(job: Job) -> str:
    """Return the job as a line for a shell; what it prints replaces what the night before printed."""
    root, folder = shlex.quote(job.root), shlex.quote(os.fspath(paths.state_folder(Path(job.root))))
    carried = "".join(f"{name}={shlex.quote(value)} " for name, value in job.environment)
    return (
        f"cd {root} && mkdir -p {folder} && "
        f"{carried}nice -n {NICE} {shlex.join(job.command)} > {folder}/{LOG} 2>&1"
    )


def cron_line(job: Job) -> str:
    """Return the line of a crontab, where a percent sign would end the command."""
    hour, minute = map(int, job.at.split(":"))
    command = f"/bin/sh -c {shlex.quote(script(job))}".replace("%", "\\%")
    return f"{minute} {hour} * * * {command} # {job.name}"


def service_unit(job: Job) -> str:
    """Return the unit that says what is started; a watcher is started again a minute after it fails."""
    about = "Refine the memory of" if job.at else "Watch the notes of"
    nightly = ["Type=oneshot", "IOSchedulingClass=idle"]
    always = ["Restart=on-failure", f"RestartSec={RESTART_S}", "", "[Install]", "WantedBy=default.target"]
    return _lines(
        "[Unit]", f"Description={about} {job.root.replace('%', '%%')}", "", "[Service]",
        f"ExecStart={' '.join(_quoted(part, dollar='$$') for part in job.command)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in job.environment),
        f"Nice={NICE}", *(nightly if job.at else always),
    )  # fmt: skip


def timer_unit(job: Job) -> str:
    """Return the unit that says when; a night that was missed is made up for."""
    about = f"Description=Refine the memory of {job.root.replace('%', '%%')} every night"
    when = ["[Timer]", f"OnCalendar=*-*-* {job.at}:00", "Persistent=true"]
    return _lines("[Unit]", about, "", *when, "", "[Install]", "WantedBy=timers.target")


def property_list(job: Job) -> str:
    """Return the list for launchd. A Mac that sleeps at that time starts a nightly job when it wakes up."""
    told: dict[str, object] = {"Label": job.name, "ProcessType": "Background", "LowPriorityIO": True}
    if job.at:
        hour, minute = map(int, job.at.split(":"))
        told |= {"ProgramArguments": ["/bin/sh", "-c", script(job)]}
        told |= {"StartCalendarInterval": {"Hour": hour, "Minute": minute}}
    else:
        told |= {"ProgramArguments": list(job.command), "EnvironmentVariables": dict(job.environment)}
        told |= {"RunAtLoad": True, "KeepAlive": {"SuccessfulExit": False}, "ThrottleInterval": RESTART_S}
    return plistlib.dumps(told).decode()


def _lines(*lines: str) -> str:
    return "\n".join(["# Made by `commonplace schedule print`.", *lines]) + "\n"


def _quoted(value: str, dollar: str = "$") -> str:
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", dollar)
    return f'"{value}"'
