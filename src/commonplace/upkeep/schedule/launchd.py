"""An agent of launchd on macOS: a property list, and `launchctl`."""

from __future__ import annotations

import os
import plistlib
import re
import shlex
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job, Standing

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


def standing() -> list[Standing]:
    """Return what is in place, of all workspaces. Raises NoteUnreadable."""
    folder = _folder()
    return [
        Standing(NAME, name, _command(jobs.read(folder / f"{name}.plist") or b""))
        for name in jobs.names(folder, ".plist")
    ]


def trouble_with(one: Standing) -> tuple[str, str]:
    """Return why an agent does not run, or did not end well, and what says more; both empty where it does."""
    more = f"launchctl print {_domain()}/{one.name}"
    if why := trouble():
        return f"is in place, and {why}", more
    done = jobs.call(*more.split())
    if done.code:
        return "is not loaded", more
    ended = re.search(rb"last exit code = ([1-9]\d*)", done.out)
    return (f"ended with {ended[1].decode()} when it was started last", more) if ended else ("", "")


def removal(one: Standing) -> str:
    """Return the line by which it is taken away where its workspace is gone."""
    file = shlex.quote(os.fspath(_folder() / f"{one.name}.plist"))
    return f"launchctl bootout {_domain()}/{one.name}; rm -f {file}"


def _command(told: bytes) -> tuple[str, ...]:
    """What an agent starts."""
    try:
        words = [str(word) for word in plistlib.loads(told)["ProgramArguments"]]
    except (plistlib.InvalidFileException, ValueError, TypeError, LookupError):
        return ()
    return jobs.command_in(words[2]) if words[:2] == ["/bin/sh", "-c"] and words[2:] else tuple(words)


def install(workspace: paths.Workspace, job: Job) -> None:
    """Make the agent, or change it. Raises ConfigError, with all as it was before."""
    _bootstrap(workspace, job, property_list(job))


def install_watch(workspace: paths.Workspace, job: Job) -> None:
    """Make the agent that watches, or change it, and start it. Raises ConfigError, as `install` does."""
    _bootstrap(workspace, job, watch_list(job))


def _bootstrap(workspace: paths.Workspace, job: Job, told: bytes) -> None:
    file = _file(job)
    before = jobs.put(workspace, {file: told})
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
    if done.code and is_running(job):
        raise ConfigError(NAME, f"the agent could not be stopped: {done.said}")
    jobs.put(workspace, {file: None})
    return True


remove_watch = remove  # an agent is one file, whatever it starts


def is_watching(job: Job) -> bool:
    """Whether there is an agent that watches this workspace."""
    return jobs.read(_file(job)) is not None


def is_running(job: Job) -> bool:
    """Whether launchd has the agent of a job."""
    return jobs.call("launchctl", "print", f"{_domain()}/{job.name}").code == 0


def watch_list(job: Job) -> bytes:
    """Return what launchd is told of an agent that watches all the time, and is started again if it fails."""
    return plistlib.dumps(
        {
            "Label": job.name,
            "ProgramArguments": list(job.command),
            "EnvironmentVariables": dict(job.environment),
            "RunAtLoad": True,
            "KeepAlive": {"SuccessfulExit": False},
            "ThrottleInterval": jobs.RESTART_S,
            "ProcessType": "Background",
            "LowPriorityIO": True,
        }
    )


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
    return _folder() / f"{job.name}.plist"


def _folder() -> Path:
    return Path(os.path.expanduser("~"), "Library", "LaunchAgents")
