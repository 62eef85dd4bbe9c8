"""A server that programs of this user reach over a Unix socket, and that ends by itself when unused.

`mcp` and hooks start one, so that the models are loaded once for all of them. A connection has a thread. Each
agent has a memory with its own settings, opened anew where a settings file changes; the models behind them
are the same.
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

from commonplace import __version__
from commonplace.base import locks, paths
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.base.tuples import NamedTuple
from commonplace.servers import local, stdio
from commonplace.servers.local import LONGEST

if TYPE_CHECKING:
    from commonplace.servers.methods import Service

MOST = 128  # connections at once; a program that is one too many works by itself
MOST_AGENTS = 32  # whose memories are open at once
HELLO_S = 5.0  # until a connection says what it wants
_LOOKS_S = 1.0  # between two checks for connections
_ENDS_S = 10.0  # for requests in progress when a server ends
_WAITING = 64  # connections that are not accepted yet
MCP, STATUS, RETIRE = "mcp", "status", "retire"
# The fields of a request that select the memory and its manner, such as whether the workspace was named.
ASKED = ("named", "beside", "everything", "alone", "structured")
# The handler of a call: returns a value, written as JSON, or a `Reply`.
Door = Callable[["Service", Mapping[str, Any]], object]


class Reply(NamedTuple):
    """A line as it is, and what is called once the program that asked has it, or where that went away."""

    line: bytes
    sent: Callable[[], object] = lambda: None
    lost: Callable[[], object] = lambda: None


class Call(NamedTuple):
    """A program's call: the name of a handler (`door`), the workspace, the agent, and the request."""

    door: str
    root: str
    agent: str
    request: dict[str, Any]


class Services:
    """The memories reached by way of one workspace, one for each caller; safe from any thread."""

    def __init__(self, make: Callable[[str, Mapping[str, Any]], Service]) -> None:
        """`make` makes the service of an agent, by its name and the further fields of its request.

        It raises ConfigError if that cannot be served, and AccessDenied if that agent may not read it.
        """
        self._make, self._lock = make, threading.Lock()
        self._of: dict[str, Service] = {}

    def of(self, agent: str, request: Mapping[str, Any]) -> Service:
        """Return the service for an agent and its request. Raises as `make` does."""
        asked = {name: request[name] for name in ASKED if request.get(name)}
        key = json.dumps([agent, asked], sort_keys=True)
        with self._lock:
            if key not in self._of:
                if len(self._of) >= MOST_AGENTS:
                    raise ConfigError("agent", f"{MOST_AGENTS} agents are served already")
                self._of[key] = self._make(agent, asked)
            return self._of[key]

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for service in self._of.values():
                service.close()


class LocalServer:
    """Listens at the socket of a workspace, as long as anybody is there or might come back."""

    def __init__(
        self, root: str, services: Services, doors: Mapping[str, Door], *, idle_s: float | None
    ) -> None:
        """`doors` answer calls by name; after `idle_s` without a connection the server ends, None never."""
        self.root = os.path.realpath(root)
        self._services, self._doors, self._idle_s = services, doors, idle_s
        self._began = self._last = time.monotonic()
        self._connections: set[socket.socket] = set()
        self._changed = threading.Condition()
        self._ended = threading.Event()
        self._held, self._lock_number = ExitStack(), 0
        self._listener: socket.socket | None = None
        self._path = ""

    def listen(self, *, waits: Callable[[], None] | None = None) -> bool:
        """Take the socket; return False if another server has it, or if there can be no socket.

        With `waits`, ask a server that a program started to end, and wait for it; `waits` is called now and
        then meanwhile, and raises to stop the wait.
        """
        path = local.address(self.root)
        if path is None:
            return False
        if waits and (other := local.reach(path, HELLO_S)) is not None:
            with suppress(local.Unanswered):
                local.ask(other, local.line(RETIRE, self.root, "", {}), HELLO_S)
        end = time.monotonic() + 2 * _ENDS_S
        while True:
            try:
                self._held.enter_context(locks.locked(f"{path}.lock", timeout_s=_LOOKS_S if waits else 0))
                break
            except NoteUnreadable as error:
                if not waits or not isinstance(error, locks.LockTimeout) or time.monotonic() > end:
                    return False
                waits()
        self._lock_number = os.stat(f"{path}.lock").st_ino
        paths.root_of(path).unlink(path, missing_ok=True)  # of a server that was killed
        listener = socket.socket(socket.AF_UNIX)
        before = os.umask(0o177)
        try:
            listener.bind(path)
        finally:
            os.umask(before)
        listener.listen(_WAITING)
        listener.settimeout(_LOOKS_S)
        self._listener, self._path = listener, path
        return True

    def warm(self) -> None:
        """Load the models in a thread: whoever started this server asks soon."""

        def load() -> None:
            with suppress(CommonplaceError):  # the first caller gets the error
                self._services.of("", {"structured": False}).warm()

        threading.Thread(target=load, name="commonplace-warm", daemon=True).start()

    def serve(self) -> None:
        """Answer until the server is unused for long, `end` is called, or the workspace is gone."""
        assert self._listener is not None
        try:
            while not self._ended.is_set() and not self._is_over():
                try:
                    connection, _ = self._listener.accept()
                except TimeoutError:
                    continue
                self._take(connection)
        finally:
            self.close()

    @contextmanager
    def beside(self, waits: Callable[[], None]) -> Iterator[None]:
        """Serve in a thread, as long as the block runs; do not serve if the socket cannot be had.

        `waits` is that of `listen`.
        """
        if not self.listen(waits=waits):
            yield
            return
        thread = threading.Thread(target=self.serve, name="commonplace-local", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self.end()
            thread.join(2 * _ENDS_S)

    def end(self) -> None:
        """Have `serve` come back soon."""
        self._ended.set()

    def close(self) -> None:
        """Take no further connection, finish what is being answered, and give the socket back."""
        self._ended.set()
        if self._listener is None:
            return
        if self._is_alone():
            with suppress(OSError):
                paths.root_of(self._path).unlink(self._path)
        self._listener.close()
        self._listener = None
        with self._changed:
            for connection in self._connections:
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RD)
            self._changed.wait_for(lambda: not self._connections, _ENDS_S)
        # Still held: who waits for a file that is gone by then makes another. The queue only orders them.
        for name in ("lock", "queue") if self._is_alone() else ():
            with suppress(OSError):
                paths.root_of(self._path).unlink(f"{self._path}.{name}")
        self._held.close()
        self._services.close()

    def _is_alone(self) -> bool:
        """Return True if its files are still its own: once removed, they may be those of another server."""
        with suppress(OSError):
            return os.lstat(f"{self._path}.lock").st_ino == self._lock_number
        return False

    def _is_over(self) -> bool:
        """Return True if the server is unused for long, or cannot be found any more."""
        if not os.path.isdir(self.root):
            return True
        with self._changed:
            if self._connections or self._idle_s is None:
                return False
            return time.monotonic() - self._last > self._idle_s or not os.path.exists(self._path)

    def _take(self, connection: socket.socket) -> None:
        with self._changed:
            full = len(self._connections) >= MOST
            if not full:
                self._connections.add(connection)
        if full or not local.is_own(connection):
            self._release(connection)
            return
        threading.Thread(
            target=self._answer, args=(connection,), name="commonplace-local", daemon=True
        ).start()

    def _release(self, connection: socket.socket) -> None:
        with suppress(OSError):
            connection.close()
        with self._changed:
            self._connections.discard(connection)
            self._last = time.monotonic()
            self._changed.notify_all()

    # --- one connection ---------------------------------------------------------------------------------

    def _answer(self, connection: socket.socket) -> None:
        """Read what is wanted, and answer it."""
        try:
            with connection.makefile("rb") as source, connection.makefile("wb") as sink:
                connection.settimeout(HELLO_S)
                call = _read(source.readline(LONGEST + 1))
                connection.settimeout(None)
                if call is None or call.root != self.root:
                    return
                if call.door == MCP:
                    self._serve_mcp(call, source, sink)
                else:
                    _write(sink, self._result(call))
        except (OSError, ValueError):
            pass  # the program went away; ValueError: a stream that is closed
        finally:
            self._release(connection)

    def _result(self, call: Call) -> object:
        """Return the answer of a handler; an error in it becomes an answer, too."""
        if call.door == STATUS:
            return self.status()
        if call.door == RETIRE:
            if self._idle_s is not None or call.request.get("by_hand"):
                self.end()
            return {"pid": os.getpid()}
        door = self._doors.get(call.door)
        if door is None:
            return {"unknown": call.door}
        try:
            asked = {**call.request, "structured": False}  # what is printed is text
            return door(self._services.of(call.agent, asked), call.request)
        except CommonplaceError as error:
            return {"error": str(error)}
        except Exception as error:  # noqa: BLE001 - a fault in one answer must not end those of others
            return {"failed": type(error).__name__}

    def status(self) -> dict[str, object]:
        """Say who serves: process, version, since when, and how many programs are connected."""
        with self._changed:
            count = len(self._connections) - 1  # without the one that asks
        up_s = round(time.monotonic() - self._began)
        started = self._idle_s is not None  # by a program; otherwise by hand, over HTTP as well
        return {"pid": os.getpid(), "version": __version__, "up_s": up_s, "programs": count, "idles": started}

    def _serve_mcp(self, call: Call, source: IO[bytes], sink: IO[bytes]) -> None:
        """Serve the Model Context Protocol until the program at the other end is done."""
        try:
            service = self._services.of(call.agent, call.request)
        except CommonplaceError as error:
            _write(sink, {"error": str(error)})
            return
        _write(sink, {"ready": os.getpid()})
        server = stdio.Server(service, sink)
        try:
            server.serve(source)
        finally:
            server.drain(stdio.DRAIN_S)
            server.close()


def _write(sink: IO[bytes], answer: object) -> None:
    reply = answer if isinstance(answer, Reply) else Reply(json.dumps(answer).encode())
    try:
        sink.write(reply.line + b"\n")
        sink.flush()
    except OSError:
        reply.lost()
        raise
    reply.sent()


def _read(line: bytes) -> Call | None:
    """Read the first line of a connection; None if it is not a call."""
    try:
        door, root, agent, request = json.loads(line)
    except (ValueError, TypeError, RecursionError):
        return None
    known = isinstance(door, str) and isinstance(root, str) and isinstance(agent, str)
    return Call(door, root, agent, request) if known and isinstance(request, dict) else None
