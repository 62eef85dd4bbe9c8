"""A line in the user's crontab, between two marks; every other byte of it stays."""

from __future__ import annotations

import re
import shlex
from contextlib import suppress
from dataclasses import replace

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job

NAME = "cron"
_LONGEST = 990  # characters of a command; some crons cut off what is longer, some refuse it
_ABSENT = ("no crontab", "no such file")


def trouble() -> str:
    """Return why no line can be added here; empty if one can."""
    try:
        _read()
    except ConfigError as error:
        return str(error)
    return ""


def installed(job: Job) -> str:
    """Return the time that a line of this workspace is set to, empty where there is none."""
    try:
        block = _block(job).search(_read())
    except ConfigError:
        return ""
    told = re.search(rb"(?m)^(\d+) (\d+) \* \* \* ", block[0]) if block else None
    return f"{int(told[2]):02}:{int(told[1]):02}" if told else ""


def install(workspace: paths.Workspace, job: Job) -> None:
    """Add the line, or change it where it stands. Raises ConfigError, with all as it was before."""
    before = _read()
    found = _block(job).search(before)
    if found:
        told = marked(job, joined=b" (joined)\n" in found[0])
        after = before[: found.start()] + told + before[found.end() :]
    else:
        # A last line without an end gets one, which is part of what is taken away again.
        joined = b"\n" if before and not before.endswith(b"\n") else b""
        after = before + joined + marked(job, joined=bool(joined))
    if after != before:
        _write(after)


def remove(workspace: paths.Workspace, job: Job) -> bool:
    """Take the line away; false where there is none. Raises ConfigError."""
    try:
        before = _read()
    except ConfigError:
        return False  # who has no crontab has no line in it
    found = _block(job).search(before)
    if not found:
        return False
    kept, rest = before[: found.start()], before[found.end() :]
    if b" (joined)\n" in found[0] and not rest:
        with suppress(ConfigError):  # one that takes no last line without an end keeps ours
            _write(kept.removesuffix(b"\n"))
            return True
    _write(kept + rest)
    return True


def marked(job: Job, *, joined: bool = False) -> bytes:
    """Return the line between its marks."""
    first = f"# >>> {job.name}: made by `commonplace schedule install`{' (joined)' if joined else ''}"
    return f"{first}\n{line(job)}\n# <<< {job.name}\n".encode()


def line(job: Job) -> str:
    """Return the line of a crontab. Raises ConfigError where the paths are too long for one."""
    command = _command(job)
    if len(command.encode()) > _LONGEST:  # the programs of the system are found without it
        command = _command(replace(job, environment=tuple(e for e in job.environment if e[0] != "PATH")))
    if len(command.encode()) > _LONGEST:
        raise ConfigError(NAME, f"the path of the workspace is too long for a crontab ({len(command)})")
    return f"{job.minute} {job.hour} * * * {command}"


def _command(job: Job) -> str:
    """The command as cron reads it.

    A per cent sign would end it, and what a backslash does before another one differs between crons: none
    stands before another, nor before a per cent sign of ours. Both only ever stand in single quotes.
    """
    told = f"/bin/sh -c {shlex.quote(jobs.script(job))}"
    return told.replace("\\", "\\''").replace("%", "\\%")


def _block(job: Job) -> re.Pattern[bytes]:
    name = re.escape(job.name.encode())
    return re.compile(rb"# >>> %b:[^\n]*\n.*?# <<< %b\n?" % (name, name), re.DOTALL)


def _read() -> bytes:
    """The crontab as it is, empty for none; what cannot be read is never taken for empty."""
    done = jobs.call("crontab", "-l")
    if done.code == 0:
        return done.out
    if done.code < 126 and any(words in done.said.lower() for words in _ABSENT):
        return b""
    raise ConfigError(NAME, f"the crontab cannot be read ({done.said})")


def _write(data: bytes) -> None:
    done = jobs.call("crontab", "-", given=data) if data else jobs.call("crontab", "-r")
    if done.code:
        raise ConfigError(NAME, f"the crontab could not be written ({done.said})")
