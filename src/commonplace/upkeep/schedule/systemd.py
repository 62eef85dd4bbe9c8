"""A timer of systemd for the user: two unit files, and `systemctl --user`.

https://www.freedesktop.org/software/systemd/man/latest/systemd.syntax.html says how values are quoted.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.root import Root
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job, Standing

NAME = "systemd"
_MADE = "# Made by `commonplace schedule install`; `commonplace schedule remove` takes it away."
_MADE_TO_WATCH = "# Made by `commonplace watch --install`; `commonplace watch --uninstall` takes it away."
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


def standing() -> list[Standing]:
    """Return what is in place, of all workspaces. Raises NoteUnreadable."""
    folder = _folder()
    found = ((name, jobs.read(folder / f"{name}.service") or b"") for name in jobs.names(folder, ".service"))
    return [Standing(NAME, name, _command(unit.decode("utf-8", "replace"))) for name, unit in found]


def trouble_with(one: Standing) -> tuple[str, str]:
    """Return why a unit does not run, or did not end well, and what says more; both empty where it does."""
    unit = f"{one.name}.{'service' if one.watches else 'timer'}"
    if why := trouble():
        return f"is in place, and {why}", "systemctl --user status"
    if jobs.call("systemctl", "--user", "is-failed", f"{one.name}.service").code == 0:
        return "has failed", f"journalctl --user -u {one.name}"
    is_active = jobs.call("systemctl", "--user", "is-active", unit).code == 0
    return ("", "") if is_active else ("does not run", f"systemctl --user status {unit}")


def removal(one: Standing) -> str:
    """Return the line by which it is taken away where its workspace is gone."""
    unit = f"{one.name}.{'service' if one.watches else 'timer'}"
    files = shlex.join(
        [os.fspath(_folder() / f"{one.name}.service"), os.fspath(_folder() / f"{one.name}.timer")]
    )
    return f"systemctl --user disable --now {unit}; rm -f {files}"


def _command(unit: str) -> tuple[str, ...]:
    """What a unit starts."""
    line = next((line for line in unit.split("\n") if line.startswith("ExecStart=")), "")
    words = re.findall(r'"((?:[^"\\]|\\.)*)"', line)
    return tuple(re.sub(r"\\(.)", r"\1", word).replace("%%", "%").replace("$$", "$") for word in words)


def install(workspace: paths.Workspace, job: Job) -> None:
    """Make the timer, or change it. Raises ConfigError, with all as it was before."""
    service, timer = _files(job)
    units = {service: service_unit(job).encode(), timer: timer_unit(job).encode()}
    _enable(workspace, units, timer, "the timer")


def remove(workspace: paths.Workspace, job: Job) -> bool:
    """Take the timer away; false where there is none. Raises ConfigError where it goes on."""
    service, timer = _files(job)
    return _disable(workspace, (timer, service), timer, "timers.target", "the timer")


def is_watching(job: Job) -> bool:
    """Whether there is a service that watches this workspace."""
    return jobs.read(_files(job)[0]) is not None


def is_running(job: Job) -> bool:
    """Whether the service that watches this workspace runs."""
    return jobs.call("systemctl", "--user", "is-active", _files(job)[0].name).code == 0


def install_watch(workspace: paths.Workspace, job: Job) -> None:
    """Make the service that watches, or change it, and start it. Raises ConfigError, as `install` does."""
    service = _files(job)[0]
    _enable(workspace, {service: watch_unit(job).encode()}, service, "the service")


def remove_watch(workspace: paths.Workspace, job: Job) -> bool:
    """Stop the service and take it away; false where there is none. Raises ConfigError where it goes on."""
    service = _files(job)[0]
    return _disable(workspace, (service,), service, "default.target", "the service")


def _enable(workspace: paths.Workspace, units: dict[Path, bytes], unit: Path, what: str) -> None:
    before = jobs.put(workspace, {**units})
    done = jobs.call("systemctl", "--user", "daemon-reload")
    if done.code == 0:
        done = jobs.call("systemctl", "--user", "enable", unit.name)
    if done.code == 0:
        done = jobs.call("systemctl", "--user", "restart", unit.name)  # what was changed counts at once
    if done.code:
        if before[unit] is None:
            jobs.call("systemctl", "--user", "disable", "--now", unit.name)
        jobs.put(workspace, before)
        jobs.call("systemctl", "--user", "daemon-reload")
        raise ConfigError(NAME, f"{what} could not be made: {done.said}")


def _disable(workspace: paths.Workspace, units: Sequence[Path], unit: Path, target: str, what: str) -> bool:
    if all(jobs.read(one) is None for one in units):
        return False
    done = jobs.call("systemctl", "--user", "disable", "--now", unit.name)
    if done.code and not trouble():
        raise ConfigError(NAME, f"{what} could not be stopped: {done.said}")
    if done.code:  # nobody to ask: what `enable` made is a link, and without it nothing starts
        Root(unit.parent).unlink(f"{target}.wants/{unit.name}", missing_ok=True)
    jobs.put(workspace, dict.fromkeys(units))
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


def watch_unit(job: Job) -> str:
    """Return the unit that watches all the time, and is started again a minute after it fails."""
    lines = [
        _MADE_TO_WATCH, "[Unit]", f"Description=Watch the notes of {job.root.replace('%', '%%')}", "",
        "[Service]",
        f"ExecStart={' '.join(_quoted(part, dollar='$$') for part in job.command)}",
        *(f"Environment={_quoted(f'{name}={value}')}" for name, value in job.environment),
        f"Nice={jobs.NICE}", "Restart=on-failure", f"RestartSec={jobs.RESTART_S}", "",
        "[Install]", "WantedBy=default.target",
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
    return _folder() / f"{job.name}.service", _folder() / f"{job.name}.timer"


def _folder() -> Path:
    base = os.environ.get("XDG_CONFIG_HOME", "")
    home = Path(base) if os.path.isabs(base) else Path(os.path.expanduser("~"), ".config")
    return home / "systemd" / "user"
