"""A line in the user's crontab, between two marks; every other byte of it stays."""

from __future__ import annotations

import re
import shlex
import shutil
from contextlib import suppress
from dataclasses import replace

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.upkeep.schedule import jobs
from commonplace.upkeep.schedule.jobs import Job, Standing

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
        _, block, _ = _split(job, _read())
    except ConfigError:
        return ""
    for minute, hour, *rest in (line.split(b" ") for line in block.split(b"\n")[1:] if b" " in line):
        if minute.isdigit() and hour.isdigit() and rest[:3] == [b"*"] * 3:
            return f"{int(hour):02}:{int(minute):02}"
    return ""


def standing() -> list[Standing]:
    """Return what is in place, of all workspaces. Raises ConfigError where the crontab cannot be read."""
    if shutil.which("crontab") is None:
        return []
    found = re.findall(rf"# >>> ({jobs.NAMED}):[^\n]*\n([^\n]*)\n", _read().decode("utf-8", "replace"))
    return [Standing(NAME, name, _started(line)) for name, line in found]


def trouble_with(one: Standing) -> tuple[str, str]:
    """Return nothing: whether cron runs cannot be told."""
    return "", ""


def removal(one: Standing) -> str:
    """Return how it is taken away where its workspace is gone."""
    return f"crontab -e, and delete the lines between the marks of {one.name}"


def _started(line: str) -> tuple[str, ...]:
    """What a line of a crontab starts."""
    command = line.split(" ", 5)[-1].replace("\\%", "%")
    try:
        words = shlex.split(command)
    except ValueError:
        return ()
    return jobs.command_in(words[2]) if words[:2] == ["/bin/sh", "-c"] and words[2:] else ()


def install(workspace: paths.Workspace, job: Job) -> None:
    """Add the line, or change it where it is. Raises ConfigError, with all as it was before."""
    crontab = _read()
    before, block, after = _split(job, crontab)
    # A last line without an end gets one, which is part of what is taken away again.
    joined = _is_joined(block) if block else bool(before) and not before.endswith(b"\n")
    end = b"\n" if joined and not block else b""
    changed = before + end + marked(job, joined=joined) + after
    if changed != crontab:
        _write(changed)


def remove(workspace: paths.Workspace, job: Job) -> bool:
    """Take the line away; false where there is none. Raises ConfigError."""
    try:
        before, block, after = _split(job, _read())
    except ConfigError:
        return False  # who has no crontab has no line in it
    if block and _is_joined(block) and not after:
        with suppress(ConfigError):  # one that takes no last line without an end keeps ours
            _write(before.removesuffix(b"\n"))
            return True
    if block:
        _write(before + after)
    return bool(block)


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


def _split(job: Job, crontab: bytes) -> tuple[bytes, bytes, bytes]:
    """The crontab before the lines of a job, these lines with their marks (or nothing), and the rest."""
    first, last = (f"# {mark} {job.name}".encode() for mark in (">>>", "<<<"))
    start = crontab.find(first + b":")
    end = crontab.find(b"\n" + last, start) if start >= 0 else -1
    if end < 0:
        return crontab, b"", b""
    end += 1 + len(last)
    end += crontab.startswith(b"\n", end)
    return crontab[:start], crontab[start:end], crontab[end:]


def _is_joined(block: bytes) -> bool:
    """Whether the last line before ours had no end."""
    return block.partition(b"\n")[0].endswith(b" (joined)")


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
