"""An agent of launchd on macOS: a property list, and `launchctl`."""

from __future__ import annotations

import os
import plistlib
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job

NAME = "launchd"


def trouble() -> str:
    """Return why no agent can be made here; empty if one can."""
    done = jobs.call("launchctl", "print", _domain())
    return "" if done.code == 0 else f"launchctl does not work ({done.said})"


def installed(job: Job) -> str:
    """Return the time that an agent of this workspace is set to, empty where there is none."""
    try:
        told = plistlib.loads(jobs.read(_file(job)) or b"")["StartCalendarInterval"]
        return f"{int(told['Hour']):02}:{int(told['Minute']):02}"
    except (plistlib.InvalidFileException, ValueError, TypeError, LookupError):
        return ""


def install(workspace: paths.Workspace, job: Job) -> None:
    """Make the agent, or change it. Raises ConfigError, with all as it was before."""
    file = _file(job)
    before = jobs.put(workspace, {file: property_list(job)})
    if before[file] is not None:
        jobs.call("launchctl", "bootout", f"{_domain()}/{job.name}")
    done = jobs.call("launchctl", "bootstrap", _domain(), os.fspath(file))
    if done.code:
        jobs.put(workspace, before)
        if before[file] is not None:
            jobs.call("launchctl", "bootstrap", _domain(), os.fspath(file))
        raise ConfigError(NAME, f"the agent could not be made: {done.said}")


def remove(workspace: paths.Workspace, job: Job) -> bool:
    """Take the agent away; false where there is none. Raises ConfigError where it goes on."""
    file = _file(job)
    if jobs.read(file) is None:
        return False
    done = jobs.call("launchctl", "bootout", f"{_domain()}/{job.name}")
    if done.code and jobs.call("launchctl", "print", f"{_domain()}/{job.name}").code == 0:
        raise ConfigError(NAME, f"the agent could not be stopped: {done.said}")
    jobs.put(workspace, {file: None})
    return True


def property_list(job: Job) -> bytes:
    """Return what launchd is told. A Mac that sleeps at that time starts it when it wakes up."""
    return plistlib.dumps(
        {
            "Label": job.name,
            "ProgramArguments": ["/bin/sh", "-c", jobs.script(job)],
            "StartCalendarInterval": {"Hour": job.hour, "Minute": job.minute},
            "ProcessType": "Background",
            "LowPriorityIO": True,
        }
    )


def _domain() -> str:
    return f"gui/{getattr(os, 'getuid', int)()}"  # there are no such numbers on Windows


def _file(job: Job) -> Path:
    return Path(os.path.expanduser("~"), "Library", "LaunchAgents", f"{job.name}.plist")
