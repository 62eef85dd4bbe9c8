"""A server from its sockets to its end: bound, recorded, warmed, and ended with what it was doing done.

One application is served over the Unix socket of a workspace and, where somebody asks for that, over TCP. A
client that opens connections without completing a request would hold them, and their descriptors, for ever:
so their number is bounded, and the time in which a request must arrive.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import logging
import os
import resource
import secrets
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from datetime import datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from commonplace.agent.remedies import WORDS
from commonplace.base import locks, paths, remedies
from commonplace.base.errors import CommonplaceError, ConfigError, NoteUnreadable
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.servers import access, daemon, http, local, programs
from commonplace.servers.access import Access
from commonplace.servers.daemon import Running
from commonplace.servers.guard import LOCAL
from commonplace.servers.methods import Service
from commonplace.servers.programs import Handler, Services

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from commonplace.servers.api.operations import Examine

LOG_BYTES = 1_000_000  # a file is begun anew after that, and one before it kept
FINISH_S = 10  # for requests that are being answered when a signal ends the server
IDLE_S = 20 * 60.0  # without a request, after which a server ends that a program started
_TAKES_S = 12.0  # for a server that ends to give its socket to the next one
_LOOKS_S = 0.2  # between two looks whether another one listens meanwhile
_WAITING = 128  # connections that are not accepted yet


class Address(NamedTuple):
    """Where to listen, which token to ask for, and further host names of this machine.

    The token is that of `token_file`, of the environment, or of `own_token`, a file that is made if it is
    missing, or `anew`; without any of them no token is required. Of a named token, which others may have as
    well, the derived token of a `part` is required, if that is set.
    """

    host: str
    port: int
    token_file: str = ""
    hosts: str = ""
    own_token: str = ""
    anew: bool = False
    open: bool = False
    part: str = ""


class Served(NamedTuple):
    """The memories that a server serves by way of one workspace, and the handlers of programs' requests."""

    root: str
    services: Services
    handlers: Mapping[str, Handler]


def serve(
    served: Served,
    service: Service,
    address: Address,
    workspace: Workspace,
    *,
    detached: bool = False,
    tell: Callable[[Running], None],
    apart: http.Apart | None = None,
    asked: Mapping[str, Any] | None = None,
    examine: Examine = lambda online: (),
) -> None:
    """Serve over TCP, and to programs over the Unix socket, until a signal comes.

    `tell` is called once clients can connect. Clients over the network ask `service`; `apart` is that of
    `http.build`, `examine` of `api.site`. `asked` is recorded with the server. Raises ConfigError, with a
    remedy, if it cannot be served.
    """
    from commonplace.servers.api import site

    daemon.check_alone(workspace, new_token=address.anew)
    place = "" if address.open else address.own_token
    if not address.open and (address.token_file or os.environ.get(access.TOKEN_VARIABLE, "").strip()):
        place = address.token_file or f"${access.TOKEN_VARIABLE}"
    with ExitStack() as held:
        signals = held.enter_context(_signals())  # also those that come before the server serves
        bound, beyond = held.enter_context(listening(address))
        if beyond and not place:
            remedy = "serve it with a token, without --no-token and with server.require_token on"
            raise ConfigError("server.host", f"{address.host} is reached from elsewhere: {remedy}")
        host, port = bound.getsockname()[:2]
        running = Running(
            os.getpid(),
            daemon.started(os.getpid()),
            secrets.token_hex(8),
            host,
            port,
            f"{datetime.now():%Y-%m-%d %H:%M:%S}",
            place,
            asked,
            address.part if place not in ("", address.own_token) else "",
            key=secrets.token_urlsafe(32),
        )
        log, record = logging.getLogger("commonplace.server"), _record(workspace) if detached else None
        held.enter_context(daemon.registered(workspace, running))
        own = held.enter_context(listening_to_programs(served.root, takes=True))
        token = _token(address, place)  # here, so that two starts at once do not make two
        allowed = Access(token, access.names(address.hosts), beyond)
        _log(record)
        service.warm_soon()
        own_key = _visits_key(workspace.state / "visits.key")
        seal = "\n".join([own_key.reveal(), token.reveal(), service.agent])
        pages = site.build(service, examine=examine, cookie=f"commonplace-{port}", key=running.key, seal=seal)
        below = programs.routes(
            served.services, served.handlers, lambda by_hand: server.end() if by_hand else None, idles=False
        )
        application = http.build(
            service, allowed, log.info, identity=running.id, apart=apart, programs=served.services,
            more=[*below, *pages.routes], visitors=pages.visitors, open_to_all=pages.open_to_all,
        )  # fmt: skip
        server = Server(application, signals, lambda: tell(running), pages.feed.close)
        if detached:  # in the foreground `tell` says so
            log.info("serving at %s", running.url)
        with remedies.spoken(WORDS):
            server.run([bound, *own])
        log.info("ended" + (f" by {signal.Signals(signals[0]).name}" if signals else ""))
    served.services.close()


def serve_programs(served: Served, *, idle_s: float = IDLE_S) -> bool:
    """Serve programs of the user until idle, or the workspace is gone; False if it cannot have the socket."""
    application = _for_programs(served, lambda by_hand: server.end())

    def load() -> None:
        with suppress(CommonplaceError):  # the first caller gets the error
            served.services.of("", {}).warm()

    loading = threading.Thread(target=load, name="commonplace-warm", daemon=True)
    with _signals() as signals, listening_to_programs(served.root) as own:
        if not own:
            return False
        needed = (served.root, str(own[0].getsockname()))
        server = Server(application, signals, loading.start, idle_s=idle_s, needed=needed)
        with remedies.spoken(WORDS):
            server.run(own)
    served.services.close()
    return True


@contextmanager
def private(served: Served) -> Iterator[Callable[[], socket.socket]]:
    """Serve this process alone, from a thread; yield what returns a new connection."""
    ready = threading.Event()
    server = Server(_for_programs(served, lambda by_hand: None), ready=ready.set)
    thread = threading.Thread(target=server.run, args=([],), name="commonplace-server", daemon=True)
    with remedies.spoken(WORDS):
        thread.start()
        ready.wait()
        try:
            yield server.connection
        finally:
            server.end()
            thread.join()
            served.services.close()


def _for_programs(served: Served, end: Callable[[bool], None]) -> ASGIApp:
    below = programs.routes(served.services, served.handlers, end, idles=True)
    return http.build(None, Access(), lambda line: None, programs=served.services, more=below)


def _token(address: Address, place: str) -> Secret:
    """The token that clients must send, from the place where they find it. Raises ConfigError."""
    if place == address.own_token:
        return access.own_token(Path(place), new=address.anew) if place else NO_KEY
    if address.anew and place:
        raise ConfigError("serve", f"--new-token makes one of our own, but {place} holds the one that is set")
    if not place:
        return NO_KEY
    named = access.token(address.token_file)
    return access.part(named, address.part) if address.part else named


@contextmanager
def listening(address: Address) -> Iterator[tuple[socket.socket, bool]]:
    """Listen at an address; yield the socket and whether it is reached from elsewhere. Raises ConfigError."""
    try:
        found = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as error:
        raise ConfigError("server.host", f"{address.host!r} is no address of this machine") from error
    family, kind, protocol, _, place = found[0]
    # asyncio sends at once (TCP_NODELAY) where a socket says that it is TCP; else answers come 40 ms late.
    with socket.socket(family, kind, protocol) as bound:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind(place)
            bound.listen(_WAITING)
        except OSError as error:
            key, wrong = "server.port", f"{address.host}:{address.port}: {(error.strerror or '').lower()}"
            if error.errno == errno.EADDRINUSE:
                wrong = f"{address.port} is taken on {address.host}; choose another with --port, 0 for any"
            elif error.errno == errno.EADDRNOTAVAIL:
                key, wrong = "server.host", f"{address.host!r} is no address of this machine"
            raise ConfigError(key, wrong) from error
        yield bound, not ipaddress.ip_address(str(place[0]).partition("%")[0]).is_loopback


@contextmanager
def listening_to_programs(root: str, *, takes: bool = False) -> Iterator[list[socket.socket]]:
    """Take the Unix socket of a workspace; yield it, or nothing if another server has it.

    With `takes`, a server that a program started is asked to end.
    """
    path = local.address(root)
    other = local.reach(path, 2.0) if path else None
    if other is not None and takes:
        with suppress(local.NoAnswer):
            local.ask(other, "retire", "", {}, 2.0)
    elif other is not None:
        other.close()
        path = None
    with ExitStack() as held:
        if path and not _comes_first(path, held, takes=takes):
            path = None
        if path is None:
            yield []
            return
        paths.root_of(path).unlink(path, missing_ok=True)  # of a server that was killed
        own = held.enter_context(socket.socket(socket.AF_UNIX))
        before = os.umask(0o177)
        try:
            own.bind(path)
        finally:
            os.umask(before)
        lock_number = os.stat(f"{path}.lock").st_ino
        own.listen(_WAITING)
        try:
            yield [own]
        finally:
            # Once removed by somebody, they may be those of another server.
            with suppress(OSError):
                if os.lstat(f"{path}.lock").st_ino == lock_number:
                    for name in ("", ".lock", ".queue"):  # still locked: who waits for it makes another
                        paths.root_of(path).unlink(f"{path}{name}", missing_ok=True)


def _comes_first(path: str, held: ExitStack, *, takes: bool) -> bool:
    """Hold the lock of a socket, which a server that is just ending still has; tell whether it could.

    One that started together with this one listens by then: it is not to be followed when it ends.
    """
    end, other = time.monotonic() + _TAKES_S, None
    while other is None and time.monotonic() < end:
        try:
            held.enter_context(locks.locked(f"{path}.lock", timeout_s=_LOOKS_S))
            return True
        except locks.LockTimeout:
            other = None if takes else local.reach(path, 2.0)
        except NoteUnreadable:
            return False
    if other is not None:
        other.close()
    return False


# --- the server of uvicorn --------------------------------------------------------------------------------

MOST = 256  # connections and requests at once, and of the descriptors of the process a quarter
ARRIVES_S = 30.0  # in which a request must be there, and the next one of its connection begin


def most() -> int:
    """Return how many connections may be open at once."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(MOST, max(1, soft // 4)) if soft >= 0 else MOST  # -1 is no limit


class Connection(H11Protocol):
    """A connection of a client over TCP, or of a program of this user over the Unix socket."""

    since = 0.0  # when it began to wait for what it waits for, as `time.monotonic`
    _phase: object = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, of this user if local; without room the one ends that has waited longest."""
        super().connection_made(transport)
        self._note_phase()
        bound = transport.get_extra_info("socket")
        is_local = bound.family == socket.AF_UNIX
        if is_local:
            self.app_state = {**self.app_state, LOCAL: True}
        if len(self.connections) >= most():
            waiting = [one for one in self.connections if isinstance(one, Connection) and one.waits()]
            min(waiting, key=lambda one: one.since).end()
        if len(self.connections) > most() or (is_local and not local.is_own(bound)):
            self.end()

    def handle_events(self) -> None:
        """Handle what has arrived; more bytes of a part of a request do not prolong its time."""
        super().handle_events()
        self._note_phase()

    def _note_phase(self) -> None:
        if self._phase is not self.conn.their_state:
            self._phase, self.since = self.conn.their_state, time.monotonic()

    def waits(self) -> bool:
        """Tell whether a request, or the rest of one, has yet to arrive."""
        return self._phase in (h11.IDLE, h11.SEND_BODY)

    def end_late(self, now: float) -> None:
        """End the connection if its request has not arrived in time."""
        if self.waits() and now - self.since > ARRIVES_S:
            self.end()

    def end(self) -> None:
        """End the connection at once: a client that sends no request needs no answer."""
        self.connections.discard(self)
        self.transport.abort()


class Server(uvicorn.Server):
    """The server of uvicorn: it says when it serves, ends when idle, and takes a signal as a wish to end."""

    def __init__(
        self,
        application: ASGIApp,
        signals: Sequence[int] = (),
        ready: Callable[[], None] = lambda: None,
        close: Callable[[], None] = lambda: None,
        *,
        idle_s: float | None = None,
        needed: Sequence[str] = (),
    ) -> None:
        """`ready` is called once clients can connect, `close` at the end, to close streams of events.

        It ends when a signal has come, after `idle_s` without a request, and once a `needed` path is gone.
        """
        super().__init__(
            uvicorn.Config(
                application, http=Connection, ws="none", loop="asyncio", lifespan="off", log_config=None,
                access_log=False, server_header=False, limit_concurrency=most() + 1,
                backlog=max(1, most() // 2),  # so many are accepted at once, before the first is counted
                timeout_keep_alive=int(ARRIVES_S), timeout_graceful_shutdown=FINISH_S,
            )
        )  # fmt: skip
        self._signals, self._ready, self._close = signals, ready, close
        self._idle_s, self._needed, self._last = idle_s, needed, time.monotonic()

    def end(self) -> None:
        """End soon."""
        self.should_exit = True

    def connection(self) -> socket.socket:
        """Return a new connection for a program in this process, from any thread but the server's."""
        near, far = socket.socketpair()

        def protocol() -> Connection:
            return Connection(self.config, self.server_state, {}, self._loop)

        accepting = self._loop.connect_accepted_socket(protocol, far)
        asyncio.run_coroutine_threadsafe(accepting, self._loop).result()
        return near

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        if not self._signals:
            self._ready()

    async def on_tick(self, counter: int) -> bool:
        """End connections that are late; tell whether to end."""
        if counter % 10 == 0:
            now, state = time.monotonic(), self.server_state
            for connection in [*state.connections]:
                assert isinstance(connection, Connection)
                connection.end_late(now)
            if state.tasks or state.connections:
                self._last = now
            is_idle = self._idle_s is not None and now - self._last > self._idle_s
            if is_idle or not all(map(os.path.exists, self._needed)):
                return True
        return bool(self._signals) or await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is open, and then all of it."""
        self._close()
        await super().shutdown(sockets)


@contextmanager
def _signals() -> Iterator[list[int]]:
    """Take the signals that end a server, and yield those that come; the main thread alone gets any."""
    signals: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM) if is_main else ()
    # While it runs, uvicorn takes them; it raises them again at its end.
    before = {one: signal.signal(one, lambda number, _: signals.append(number)) for one in numbers}
    try:
        yield signals
    finally:
        for number, former in before.items():
            signal.signal(number, former)


# --- the log ----------------------------------------------------------------------------------------------


class _LogFile(RotatingFileHandler):
    """A log opened by `paths.root_of`: for its owner's eyes, and through no link."""

    def _open(self) -> TextIOWrapper:
        path, flags = self.baseFilename, os.O_WRONLY | os.O_APPEND | os.O_CREAT
        return os.fdopen(paths.root_of(path).descriptor(path, flags), "a", encoding=self.encoding)

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - of the standard library
        """Lose a line that cannot be written: standard error, which would tell, is an unbounded way here."""


def _log(path: Path | None) -> None:
    """The record of requests, and of what goes wrong: in a file that is bounded, or on standard error."""
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if path is not None:
        handler = _LogFile(path, maxBytes=LOG_BYTES, backupCount=1, encoding="utf-8")
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
    levels = {"commonplace.server": logging.INFO, "uvicorn": logging.WARNING, "asyncio": logging.WARNING}
    for name, level in levels.items():
        logger = logging.getLogger(name)
        logger.handlers[:] = [handler]
        logger.setLevel(level)
        logger.propagate = False


def _visits_key(path: Path) -> Secret:
    """Return the key that seals visits; one that cannot be used is replaced, which ends the visits."""
    for new in (False, True):
        with suppress(ConfigError):
            return access.own_token(path, new=new)
    return Secret(secrets.token_urlsafe(32))


def _record(workspace: Workspace) -> Path:
    """Where a server in the background keeps its record; the folder is made."""
    paths.prepare_state(workspace)
    return daemon.log_of(workspace)


def leave_terminal(log: Path) -> None:
    """Let what is still printed go into the log: the process that started this one is about to end."""
    descriptor = paths.root_of(log).descriptor(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    for standard in (1, 2):
        os.dup2(descriptor, standard)
    os.close(descriptor)
