"""A timer of systemd for the user: two unit files, and `systemctl --user`.

https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html says how values are quoted.
"""

from __future__ import annotations

import os
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.root import Root
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job

NAME = "systemd"
_MADE = "# Made by `commonplace schedule install`; `commonplace schedule remove` takes it away."
_DAILY = "OnCalendar=*-*-* "


def trouble() -> str:
    """Return why no timer can be made here; empty if one can."""
    done = jobs.call("systemctl", "--user", "show", "--property=Version")
    return "" if done.code == 0 else f"systemctl --user does not work ({done.said})"


def installed(job: Job) -> str:
    """Return the time that a timer of this workspace is set to, empty where there is none."""
    service, timer = _files(job)
    lines = (jobs.read(timer) or b"").decode("utf-8", "replace").split("\n")
    line = next((line for line in lines if line.startswith(_DAILY)), "")
    at = line.removeprefix(_DAILY).removesuffix(":00")
    return at if jobs.clock(at) and jobs.read(service) is not None else ""


def install(workspace: paths.Workspace, job: Job) -> None:
    """Make the timer, or change it. Raises ConfigError, with all as it was before."""
    service, timer = _files(job)
    before = jobs.put(workspace, {service: service_unit(job).encode(), timer: timer_unit(job).encode()})
    done = jobs.call("systemctl", "--user", "daemon-reload")
    if done.code == 0:
        done = jobs.call("systemctl", "--user", "enable", timer.name)
    if done.code == 0:
        done = jobs.call("systemctl", "--user", "restart", timer.name)  # a changed time counts at once
    if done.code:
        if before[timer] is None:
            jobs.call("systemctl", "--user", "disable", "--now", timer.name)
        jobs.put(workspace, before)
        jobs.call("systemctl", "--user", "daemon-reload")
        raise ConfigError(NAME, f"the timer could not be made: {done.said}")


def remove(workspace: paths.Workspace, job: Job) -> bool:
    """Take the timer away; false where there is none. Raises ConfigError where it goes on."""
    service, timer = _files(job)
    if jobs.read(service) is None and jobs.read(timer) is None:
        return False
    done = jobs.call("systemctl", "--user", "disable", "--now", timer.name)
    if done.code and not trouble():
        raise ConfigError(NAME, f"the timer could not be stopped: {done.said}")
    if done.code:  # nobody to ask: what `enable` made is a link, and without it nothing starts
        Root(timer.parent).unlink(f"timers.target.wants/{timer.name}", missing_ok=True)
    jobs.put(workspace, {timer: None, service: None})
    jobs.call("systemctl", "--user", "daemon-reload")
    return True


def service_unit(job: Job) -> str:
    """Return the unit that says what is started."""
    lines = [
        _MADE, "[Unit]", f"Description=Refine the memory of {job.root.replace('%', '%%')}", "",
        "[Service]", "Type=oneshot",
        f"ExecStart={' '.join(_quoted(part, dollar='$$') for part in job.command)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in job.environment),
        f"Nice={jobs.NICE}", "IOSchedulingClass=idle",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def timer_unit(job: Job) -> str:
    """Return the unit that says when; a night that was missed is made up for."""
    lines = [
        _MADE, "[Unit]", f"Description=Refine the memory of {job.root.replace('%', '%%')} every night", "",
        "[Timer]", f"{_DAILY}{job.at}:00", "Persistent=true", "",
        "[Install]", "WantedBy=timers.target",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def _quoted(value: str, dollar: str = "$") -> str:
    value = value.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", dollar)
    return f'"{value}"'


def _files(job: Job) -> tuple[Path, Path]:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~"), ".config")
    folder = home / "systemd" / "user"
    return folder / f"{job.name}.service", folder / f"{job.name}.timer"
