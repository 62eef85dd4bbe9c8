"""What is started at night for a workspace, whoever starts it: a name, a time, a command, its surroundings.

The interpreter is named by its path and takes no module from the current folder, since whoever starts
programs at night has another PATH, and a folder of notes must not bring code of its own.

Starters call programs of the system (`call`) and read files (`put`): those are put there whole and taken away
with the folders made for them, which `.commonplace/schedule.json` holds. It is signed: a foreign one would
have folders removed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from pathlib import Path

from commonplace.base import atomic, installation, paths, records
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.root import Root
from commonplace.base.tuples import NamedTuple

DEFAULT_TIME = "03:30"
NICE = 10
RESTART_S = 60  # after a watcher that failed
LOG = "schedule.log"
# What decides where settings, caches and programs are found. Keys of providers are not among them.
CARRIED = ("PATH", "PYTHONPATH", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
KIND = "schedule"
NAMED = r"commonplace-[0-9a-f]{12}(?:-watch)?"
_WATCHING = "-watch"
_STATE = "schedule.json"
_LARGEST = 1_000_000  # bytes of the state, and of a file of a starter
_WAIT_S = 30.0


@dataclass(frozen=True, slots=True)
class Job:
    """What is started for a workspace; `root` is its real path, `at` HH:MM, empty for all the time."""

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


class Standing(NamedTuple):
    """What a starter has in place for some workspace; `command` is empty where it cannot be read."""

    by: str
    name: str
    command: tuple[str, ...]

    @property
    def root(self) -> str:
        """The workspace it is for; empty where that is not known."""
        at = self.command.index("-w") + 1 if "-w" in self.command else len(self.command)
        return next(iter(self.command[at:]), "")

    @property
    def watches(self) -> bool:
        """Whether it runs all the time."""
        return self.name.endswith(_WATCHING)


def of(workspace: paths.Workspace, at: str = DEFAULT_TIME, environ: Mapping[str, str] | None = None) -> Job:
    """Return the nightly job of a workspace, named by its real path.

    Raises ConfigError for what is no time, and for a path that no such program could be told.
    """
    if not (clock_time := clock(at)):
        raise ConfigError("at", f"{at!r} is no time of day; write it as {DEFAULT_TIME}")
    return _job(workspace, "", clock_time, ("consolidate", "--if-due"), environ)


def watcher(
    workspace: paths.Workspace, *, embed: bool = True, environ: Mapping[str, str] | None = None
) -> Job:
    """Return what watches a workspace all the time, named by its real path; `embed` as a sync has it.

    Raises ConfigError for a path that no such program could be told.
    """
    words = ("watch",) if embed else ("watch", "--no-embed")
    return _job(workspace, _WATCHING, "", words, environ)


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
    lines = ((name, values.get(name, "")) for name in CARRIED)
    name = f"commonplace-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}{ending}"
    command = tuple(installation.python("-m", "commonplace", "-w", root, *words))
    carried = tuple((key, value) for key, value in lines if value and value.isprintable())
    return Job(name, root, at, command, carried)


def clock(text: str) -> str:
    """Return a time of day as HH:MM; empty for what is none. An hour may have one digit."""
    hour, _, minute = text.partition(":")
    try:
        return f"{time.fromisoformat(f'{hour:0>2}:{minute}'):%H:%M}" if len(hour + minute) in (3, 4) else ""
    except ValueError:
        return ""


def script(job: Job) -> str:
    """Return the job as a line for a shell; what it prints replaces what the night before printed."""
    root, folder = shlex.quote(job.root), shlex.quote(paths.DERIVED_FOLDER)
    carried = "".join(f"{name}={shlex.quote(value)} " for name, value in job.environment)
    return (
        f"cd {root} && {{ [ -d {folder} ] || mkdir {folder}; }} && "
        f"{carried}nice -n {NICE} {shlex.join(job.command)} > {folder}/{LOG} 2>&1"
    )


def command_in(script: str) -> tuple[str, ...]:
    """Return the command of a job in the line that `script` made of it; empty where there is none."""
    try:
        words = shlex.split(script)
        return tuple(words[words.index("nice") + 3 : words.index(">")])
    except ValueError:
        return ()


def following(at: str, now: datetime) -> datetime:
    """Return the next moment that a clock here shows `at`, after `now`."""
    local = now.astimezone()
    clock = time.fromisoformat(at)
    for days in range(2):
        day = local.date() + timedelta(days=days)
        if (moment := datetime.combine(day, clock).astimezone()) > local:
            break
    return moment


# --- what starters need -----------------------------------------------------------------------------------


class Done(NamedTuple):
    """What became of a call; `code` is 127 where there is no such program."""

    code: int
    out: bytes
    said: str


def call(name: str, *arguments: str, given: bytes | None = None) -> Done:
    """Run a program that lies on the PATH, in the plain locale; one that hangs counts as one that failed."""
    program = shutil.which(name)
    if program is None:
        return Done(127, b"", f"there is no {name} here")
    try:
        done = subprocess.run(
            [program, *arguments], input=given if given is not None else b"", capture_output=True,
            timeout=_WAIT_S, env={**os.environ, "LC_ALL": "C"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        what = "takes too long" if isinstance(error, subprocess.TimeoutExpired) else "cannot be started"
        return Done(126, b"", f"{name} {what}")
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return Done(done.returncode, done.stdout, said[:200] or f"{name} ended with {done.returncode}")


def read(path: Path) -> bytes | None:
    """Return the bytes of a file, None for none. Raises NoteUnreadable."""
    try:
        return Root(path.parent).read(path.name, limit=_LARGEST, links=True)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), records.trouble(error, path)) from error


def names(folder: Path, ending: str) -> list[str]:
    """Return the names of jobs that have a file of this ending in a folder."""
    try:
        found = sorted(name.removesuffix(ending) for name in Root(folder).names() if name.endswith(ending))
    except OSError:
        return []
    return [name for name in found if re.fullmatch(NAMED, name)]


def put(workspace: paths.Workspace, files: Mapping[Path, bytes | None]) -> dict[Path, bytes | None]:
    """Put files in place, None for none; return what was there before. Raises NoteUnreadable."""
    before = {path: read(path) for path in files}
    lock = paths.lock_file(workspace, "schedule")
    made = [folder for path, data in files.items() if data is not None for folder in _missing(path.parent)]
    if made:
        folders = [*_made(workspace), *dict.fromkeys(made)]
        paths.prepare_derived(workspace)
        with atomic.locked(lock):
            state = workspace.derived / _STATE
            records.update(workspace.files, state, KIND, lambda _: {"folders": folders}, limit=_LARGEST)
    for path, data in files.items():
        with atomic.locked(lock):
            atomic.exchange(path, before[path], data, lock=lock)
    if all(data is None for data in files.values()):
        for name in reversed(_made(workspace)):  # the folders that were made for us, if they are empty
            with suppress(OSError):
                Root(os.path.dirname(name)).rmdir(os.path.basename(name))
        if not _in_use(workspace):
            with suppress(OSError):
                workspace.files.unlink(workspace.derived / _STATE)
    return before


def _in_use(workspace: paths.Workspace) -> bool:
    """Whether another job of this workspace still has a file in a folder that was made for us."""
    stem = of(workspace).name
    return any(name.startswith(stem) for folder in _made(workspace) for name in Root(Path(folder)).names())


def _missing(folder: Path) -> list[str]:
    """The folders that making one makes, outermost first."""
    return [os.fspath(part) for part in reversed([folder, *folder.parents]) if not part.exists()]


def _made(workspace: paths.Workspace) -> list[str]:
    try:
        state = records.read(workspace.files, workspace.derived / _STATE, KIND, limit=_LARGEST)
        return [str(folder) for folder in state["folders"]]
    except (OSError, ValueError, TypeError, KeyError, records.Foreign):
        return []
