"""A server that runs by itself: recorded for its user's programs, found again, ended; never another process.

A server holds a lock for as long as it lives, which the kernel releases in any case. A later process with the
same number is recognised by its start time.

The note says where the user's programs send a token, so it lies with the user's settings: who may write in
the workspace alone does not change it.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from commonplace.base import installation, locks, paths
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.servers import local

DETACHED_VARIABLE = "COMMONPLACE_DETACHED"  # set for a server that outlives the process which starts it
LOG = "server.log"
_LARGEST_NOTE = 1 << 16  # bytes
START_WAIT_S, STOP_WAIT_S = 30.0, 20.0
_PAUSE_S = 0.05
_HEALTH_S = 2.0


class Running(NamedTuple):
    """A server: its process, the start time of that, the id that `/health` returns, its address.

    `token` names the source of its token, a file or a variable with a `$` before it; empty if it needs no
    token. With a `part`, clients send the token that `access.part` derives. `asked` are the arguments of its
    start: the workspace (`root`), the `agent`, and the rest of the request. The `key` distinguishes a program
    of its user from one that has the token alone.
    """

    pid: int
    started: str
    id: str
    host: str
    port: int
    since: str
    token: str = ""
    asked: Mapping[str, Any] | None = None
    part: str = ""
    key: str = ""

    @property
    def reached_at(self) -> str:
        """The host to connect to; a server that listens on all addresses is reached by loopback."""
        return {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)  # noqa: S104 - shown, not bound

    @property
    def url(self) -> str:
        """The address that clients are given."""
        host = self.reached_at
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


@contextmanager
def registered(workspace: Workspace, running: Running) -> Iterator[None]:
    """Hold the lock of a workspace's server and note who has it. Raises ConfigError where another has."""
    note = paths.server_note(workspace)
    with ExitStack() as held:
        try:
            held.enter_context(locks.locked(note.with_suffix(".lock"), timeout_s=1.0))
        except locks.LockTimeout as error:
            raise _served_already(_noted(note)) from error
        paths.root_of(note).exchange(note, json.dumps(running._asdict()).encode())
        try:
            yield
        finally:
            noted = _noted(note)
            if noted is not None and noted.id == running.id:
                with suppress(OSError):
                    paths.root_of(note).unlink(note, missing_ok=True)


def check_alone(workspace: Workspace, *, new_token: bool = False) -> None:
    """Raise ConfigError if a server of this workspace runs; `new_token`: the caller wants a new token."""
    if other := find(workspace):
        raise _served_already(other, new_token=new_token)


def _served_already(other: Running | None, *, new_token: bool = False) -> ConfigError:
    where = f" at {other.url} (process {other.pid})" if other else ""
    remedy = "end it with `commonplace serve stop`, then run this again"
    rest = (
        f", and that server keeps its token until it ends; {remedy}"
        if new_token
        else f"; use it, or {remedy}"
    )
    return ConfigError("serve", f"this workspace is served already{where}{rest}")


def is_taken(host: str, port: int) -> bool:
    """Return True if another program listens at a port of this machine."""
    with suppress(OSError, UnicodeError):
        family, kind, protocol, _, place = socket.getaddrinfo(host or None, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                tried.bind(place)
            except OSError as error:
                return error.errno == errno.EADDRINUSE
    return False


def find(workspace: Workspace) -> Running | None:
    """Return the server that runs, or None."""
    return _found(paths.server_note(workspace))


def awaited(workspace: Workspace, wait_s: float = START_WAIT_S) -> Running | None:
    """Return the server that runs once it answers, or None."""
    end = time.monotonic() + wait_s
    while (running := find(workspace)) is not None and not is_well(running):
        if time.monotonic() > end:
            return None
        time.sleep(_PAUSE_S)
    return running


def others(workspace: Workspace) -> Iterator[Running]:
    """Yield the running servers of this user that are recorded for other workspaces."""
    own = paths.server_note(workspace)
    for note in sorted(own.parent.glob("*.json")):
        if note != own and (running := _found(note)) is not None:
            yield running


def _found(note: Path) -> Running | None:
    running = _noted(note)
    is_running = running is not None and started(running.pid) == running.started
    return running if is_running and locks.is_held(note.with_suffix(".lock")) else None


def log_of(workspace: Workspace) -> Path:
    """Return where a server in the background keeps its record."""
    return workspace.state / LOG


def stop(workspace: Workspace, wait_s: float = STOP_WAIT_S) -> Running | None:
    """End the running server, and wait for it; return its record, None if no server ran.

    Raises ConfigError where it does not end, or may not be ended.
    """
    running = find(workspace)
    if running is None:
        return None
    try:
        os.kill(running.pid, signal.SIGTERM)
    except ProcessLookupError:
        return running
    except OSError as error:
        raise ConfigError("serve", f"process {running.pid} cannot be ended: {paths.reason(error)}") from error
    end = time.monotonic() + wait_s
    while _found(paths.server_note(workspace)) == running:
        if time.monotonic() > end:
            raise ConfigError("serve", f"process {running.pid} has not ended within {wait_s:g} s")
        time.sleep(_PAUSE_S)
    return running


def is_well(running: Running, wait_s: float = _HEALTH_S) -> bool:
    """Return True if a server answers with the recorded id."""
    from http.client import HTTPConnection, HTTPException

    connection = HTTPConnection(running.reached_at, running.port, timeout=wait_s)
    try:
        connection.request("GET", "/health", headers={"Host": f"localhost:{running.port}"})
        health = json.loads(connection.getresponse().read(65_536))
    except (OSError, HTTPException, ValueError):
        return False
    finally:
        connection.close()
    return isinstance(health, dict) and health.get("id") == running.id


def detach(workspace: Workspace, arguments: Sequence[str], wait_s: float = START_WAIT_S) -> Running:
    """Start a server by itself with the arguments of the command line; return it when it answers.

    Raises ConfigError with what it said where it ends instead.
    """
    process = subprocess.Popen(
        installation.python("-m", "commonplace", *arguments),
        cwd=os.sep,  # not the folder it is started in, which may hold modules of somebody else, or go away
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={**local.environment(), DETACHED_VARIABLE: "1"},
        start_new_session=True,
    )
    assert process.stderr is not None
    end = time.monotonic() + wait_s
    with process.stderr:
        while process.poll() is None and time.monotonic() < end:
            found = _noted(paths.server_note(workspace))
            if found is not None and found.pid == process.pid and is_well(found):
                process.returncode = 0  # it goes on and must not be waited for
                return found
            time.sleep(_PAUSE_S)
        if process.poll() is None:
            process.terminate()
            told = f"the server did not answer within {wait_s:g} s; see {log_of(workspace)}"
            raise ConfigError("serve", told)
        lines = process.stderr.read().decode("utf-8", "replace").strip().splitlines()
    last = lines[-1] if lines else f"it ended with code {process.returncode}"
    raise ConfigError("serve", last.removeprefix("commonplace: error: ").removeprefix("serve: "))


def started(pid: int) -> str:
    """Return when a process was started, in the system's words; empty where there is no such process."""
    with suppress(OSError, IndexError):
        # proc(5): field 22, in ticks since the machine was started; the name before may hold blanks
        return Path(f"/proc/{pid}/stat").read_text("utf-8", "replace").rpartition(")")[2].split()[19]
    with suppress(OSError):
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        return done.stdout.strip()
    return ""


def _noted(note: Path) -> Running | None:
    """Return a server's own record, whether it runs or not; None if unreadable."""
    try:
        running = Running(**json.loads(paths.root_of(note).read(note, limit=_LARGEST_NOTE)))
    except (OSError, ValueError, TypeError, RecursionError):
        return None
    kinds: Mapping[str, Any] = {"pid": int, "port": int, "asked": dict | None}
    is_known = all(isinstance(one, kinds.get(name, str)) for name, one in running._asdict().items())
    is_sendable = is_known and running.key.isascii() and running.key.isprintable()
    return running if is_sendable and running.pid > 0 else None
