"""The way from a program of this user to the server of a workspace: HTTP over a Unix socket closed to others.

The name of a socket encodes its program, its workspace, and its environment: a server of another version, or
one that was started with other settings, is never called by mistake. A caller needs no part of the engine and
no HTTP library, so that a hook costs what starting Python costs. Requests are of HTTP/1.0: an answer
ends with its connection.
"""

from __future__ import annotations

import _socket  # the module `socket` costs 4 ms of a start
import os
import stat
import sys
import time

from commonplace import __version__

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

LONGEST = 4 << 20  # bytes of a request, and of an answer
MCP = "/mcp"
PREFIX = "/local/"  # of the paths that are answered over the socket alone
START_WAIT_S = 15.0  # for a server that was started to listen
_PAUSE_S = 0.01
_LONGEST_NAME = 103  # bytes of the path of a socket on macOS; Linux takes 107
# The inputs of an answer other than files: settings, the paths of the user's files, proxies of the network.
# Not keys of providers: a shell holds those of many programs, and another value would be another server.
_PREFIX, _SUFFIXES = "COMMONPLACE_", ("_PROXY", "_proxy")
_NAMES = frozenset(("HOME", "TZ", "SSL_CERT_FILE", "SSL_CERT_DIR"))
_NOT = frozenset(f"COMMONPLACE_{name}" for name in ("WORKSPACE", "AGENT", "DETACHED", "SERVER_TOKEN"))
_FILES = ("_PATH", "_FILE", "_DIR")  # endings of variables that name a file, relative or not


class NoAnswer(Exception):
    """No server answered, or not in time."""


def address(root: str | os.PathLike[str]) -> str | None:
    """Return the path of the socket of a workspace's server; None if it cannot have one."""
    folder = _folder()
    if folder is None:
        return None
    path = os.path.join(folder, f"{prefix(root)}{_digest(_environment())}.sock")
    return path if len(os.fsencode(path)) <= _LONGEST_NAME else None


def addresses(root: str | os.PathLike[str]) -> list[str]:
    """Return the sockets of all servers of a workspace, whichever program and environment they are of.

    A client may pass on no XDG_RUNTIME_DIR, so that the server of one lies elsewhere than this program's.
    """
    found = []
    for folder in filter(_is_own, _folders()):
        names = [name for name in sorted(os.listdir(folder)) if name.endswith(".sock")]
        found += [os.path.join(folder, name) for name in names if name.startswith(prefix(root))]
    return found


def prefix(root: str | os.PathLike[str]) -> str:
    """Return what the names of the sockets of a workspace begin with."""
    return f"{_digest([os.path.realpath(root)])}-"


def _digest(texts: list[str]) -> str:
    from _blake2 import blake2b  # `hashlib` loads OpenSSL

    return blake2b("\0".join(texts).encode("utf-8", "surrogateescape"), digest_size=8).hexdigest()


def _environment() -> list[str]:
    """The program and the variables that its answers depend on."""
    own = ["http", __version__, os.path.dirname(os.path.dirname(os.path.abspath(__file__))), sys.prefix]
    for name in sorted(os.environ):
        of_ours = name.startswith((_PREFIX, "XDG_")) and name not in _NOT
        if of_ours or name in _NAMES or name.endswith(_SUFFIXES):
            own.append(f"{name}={_value(name)}")
    return own


def _value(name: str) -> str:
    """A variable as it means the same in another folder."""
    value = os.environ[name]
    names_file = value and name.startswith(_PREFIX) and name.endswith(_FILES)
    return os.path.abspath(os.path.expanduser(value)) if names_file else value


def _folder() -> str | None:
    """The folder of this user's sockets, made where it is missing; None where it cannot be theirs alone."""
    folder = next(iter(_folders()), None)
    if folder is None:
        return None
    try:
        os.mkdir(folder, 0o700)
    except FileExistsError:
        pass
    except OSError:
        return None
    return folder if _is_own(folder) else None


def _folders() -> list[str]:
    """Where sockets of this user may lie: this program's first, then those of others."""
    user, runtime = os.geteuid(), os.environ.get("XDG_RUNTIME_DIR", "")
    of_user = f"commonplace-{user}"
    own = os.path.join(os.environ.get("TMPDIR") or "/tmp", of_user)  # noqa: S108 - who owns it is looked at
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        own = os.path.join(runtime, "commonplace")
    temporary = (os.environ.get("TMPDIR"), "/tmp")  # noqa: S108
    others = [os.path.join(folder, of_user) for folder in temporary if folder]
    return list(dict.fromkeys((own, *others, f"/run/user/{user}/commonplace")))


def _is_own(folder: str) -> bool:
    """Return True if a folder belongs to this user alone."""
    try:
        found = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077


# --- calling a server -----------------------------------------------------------------------------------


def connect(root: str | os.PathLike[str], wait_s: float = 1.0) -> _socket.socket | None:
    """Return a connection to the server of a workspace; None if no server listens."""
    path = address(root)
    if path is None or not os.path.exists(path):
        return None
    return reach(path, wait_s)


def reach(path: str, wait_s: float) -> _socket.socket | None:
    """Return a connection to a socket; None without a listener, or with one of another user."""
    connection = _socket.socket(_socket.AF_UNIX)
    connection.settimeout(wait_s)
    try:
        connection.connect(path)
    except OSError:
        connection.close()
        return None
    if not is_own(connection):
        connection.close()
        return None
    return connection


def is_own(connection: _socket.socket) -> bool:
    """Tell whether the program at the other end is this user's, as far as the system says who it is."""
    peer = peer_of(connection)
    return peer is None or peer[1] == os.geteuid()


def peer_of(connection: _socket.socket) -> tuple[int, int] | None:
    """Return process and user at the other end; None where only the folder of the socket keeps others out."""
    try:
        from _socket import SO_PEERCRED, SOL_SOCKET

        credentials = connection.getsockopt(SOL_SOCKET, SO_PEERCRED, 12)  # pid, uid, gid (unix(7))
    except (ImportError, OSError):
        return None
    pid, uid = (int.from_bytes(credentials[at : at + 4], sys.byteorder) for at in (0, 4))
    return pid, uid


def send(
    connection: _socket.socket, path: str, agent: str, body: bytes, headers: Mapping[str, str] | None = None
) -> None:
    """Send a request with a JSON body as an agent. Raises OSError."""
    sent = {
        "host": "localhost", "content-type": "application/json", "content-length": str(len(body)),
        "commonplace-agent": agent.encode("unicode_escape").decode(), **(headers or {}),
    }  # fmt: skip
    lines = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
    connection.sendall(f"POST {path} HTTP/1.0\r\n{lines}\r\n".encode() + body)


def exchange(connection: _socket.socket, path: str, agent: str, body: bytes, wait_s: float) -> bytes:
    """Send a request and return the body of the answer; the connection is closed. Raises Unanswered."""
    end = time.monotonic() + wait_s
    try:
        connection.settimeout(wait_s)
        send(connection, path, agent, body)
        data = bytearray()
        while part := connection.recv(1 << 16):
            data += part
            connection.settimeout(max(0.001, end - time.monotonic()))
    except OSError as error:
        raise NoAnswer(str(error)) from error
    finally:
        connection.close()
    head, _, answer = bytes(data).partition(b"\r\n\r\n")
    if head[9:12] != b"200" or b"content-length: %d\r\n" % len(answer) not in head + b"\r\n":
        raise NoAnswer("the server ended" if not head else f"the server answered {head[9:12].decode()}")
    return answer


def ask(connection: _socket.socket, name: str, agent: str, request: Mapping[str, Any], wait_s: float) -> Any:  # noqa: ANN401 - the handler's answer
    """Send a request to a handler below `PREFIX` and return the answer, read as JSON. Raises Unanswered."""
    import json

    try:
        return json.loads(exchange(connection, PREFIX + name, agent, json.dumps(request).encode(), wait_s))
    except ValueError as error:
        raise NoAnswer(str(error)) from error


def call(
    root: str | os.PathLike[str], name: str, agent: str, request: Mapping[str, Any], wait_s: float
) -> Any:  # noqa: ANN401
    """Ask the server of a workspace, if one runs. Raises Unanswered."""
    connection = connect(root)
    if connection is None:
        raise NoAnswer("no server runs")
    return ask(connection, name, agent, request, wait_s)


# --- starting one ---------------------------------------------------------------------------------------


def launch(root: str | os.PathLike[str]) -> int | None:
    """Start a server of a workspace that outlives this program; return its process, None where that fails.

    Two that start at once are no harm: one of them finds the socket taken, and ends.
    """
    if address(root) is None:
        return None
    # The starter's agent does not count: each client names its own.
    variables = {name: value for name, value in environment().items() if name not in _NOT}
    arguments = [sys.executable, "-P", "-m", "commonplace", "-w", os.path.realpath(root), "serve", "--local"]
    nobody = [(os.POSIX_SPAWN_OPEN, number, os.devnull, os.O_RDWR, 0) for number in (0, 1, 2)]
    try:
        try:
            return os.posix_spawn(sys.executable, arguments, variables, file_actions=nobody, setsid=True)
        except NotImplementedError:  # macOS
            return os.posix_spawn(sys.executable, arguments, variables, file_actions=nobody, setpgroup=0)
    except OSError:
        return None


def environment() -> dict[str, str]:
    """Return the variables for a process in another folder: they name the same files there.

    Nothing is imported from the folder that a program happens to be started in.
    """
    variables = {name: _value(name) for name in os.environ}
    entries = variables.pop("PYTHONPATH", "").split(os.pathsep)
    places = [os.path.abspath(entry) for entry in entries if entry]
    return {**variables, "PYTHONPATH": os.pathsep.join(places)} if places else variables


def connect_or_launch(root: str | os.PathLike[str], wait_s: float = START_WAIT_S) -> _socket.socket | None:
    """Return a connection to the server of a workspace, started if necessary; None if that fails."""
    connection = connect(root)
    if connection is not None:
        return connection
    process = launch(root)
    end = time.monotonic() + wait_s
    while process is not None and time.monotonic() < end:
        time.sleep(_PAUSE_S)
        connection = connect(root)
        if connection is not None:
            return connection
        if _has_ended(process):
            return connect(root)  # another one came first
    return None


def _has_ended(process: int) -> bool:
    try:
        return os.waitpid(process, os.WNOHANG)[0] == process
    except ChildProcessError:
        return True
