"""A server from its address to its end: bound, recorded, warmed, and ended with what it was doing done.

A client that opens connections without completing a request would hold them, and their descriptors, for ever.
So the number of open connections is bounded, and the time in which a request must arrive; if there are
too many, the one that has waited longest for its request makes room.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from commonplace.agent.remedies import WORDS
from commonplace.base import paths, remedies
from commonplace.base.errors import ConfigError
from commonplace.base.paths import Workspace
from commonplace.base.tuples import NamedTuple
from commonplace.config.credentials import NO_KEY, Secret
from commonplace.servers import access, daemon, http
from commonplace.servers.access import Access
from commonplace.servers.api import site
from commonplace.servers.daemon import Running
from commonplace.servers.methods import Service
from commonplace.servers.workers import Workers

if TYPE_CHECKING:
    from commonplace.servers.api.operations import Examine

LOG_BYTES = 1_000_000  # a file is begun anew after that, and one before it kept
FINISH_S = 10  # for requests that are being answered when a signal ends the server
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


def serve(
    service: Service,
    address: Address,
    workspace: Workspace,
    *,
    detached: bool = False,
    tell: Callable[[Running], None],
    apart: http.Apart | None = None,
    beside: Workers | None = None,
    asked: Mapping[str, Any] | None = None,
    examine: Examine = lambda online: (),
) -> None:
    """Serve until a signal comes; `tell` is called once clients can connect. Further arguments are those of
    `http.build` and of `api.site`.

    `asked` is recorded with the server. Raises ConfigError, with a remedy, if it cannot be served.
    """
    daemon.check_alone(workspace, new_token=address.anew)
    place = "" if address.open else address.own_token
    if not address.open and (address.token_file or os.environ.get(access.TOKEN_VARIABLE, "").strip()):
        place = address.token_file or f"${access.TOKEN_VARIABLE}"
    with listening(address) as (bound, beyond):
        if beyond and not place:
            remedy = "serve it with a token, without --no-token and with server.require_token on"
            raise ConfigError("server.host", f"{address.host} is reached from elsewhere: {remedy}")
        host, port = bound.getsockname()[:2]
        since = f"{datetime.now():%Y-%m-%d %H:%M:%S}"
        pid = os.getpid()
        part = address.part if place not in ("", address.own_token) else ""
        running = Running(
            pid,
            daemon.started(pid),
            secrets.token_hex(8),
            host,
            port,
            since,
            place,
            asked,
            part,
            key=secrets.token_urlsafe(32),
        )
        log, record = logging.getLogger("commonplace.server"), _record(workspace) if detached else None

        def restored() -> None:
            if record is not None:
                for handler in log.handlers:
                    handler.close()  # the former file has been removed: a new one is opened for the next line
                leave_terminal(_record(workspace))
            log.info("noted again at %s: what was noted had been removed", running.url)

        def lost() -> None:
            log.info("another server serves this workspace: ending")
            os.kill(os.getpid(), signal.SIGTERM)

        signals: list[int] = []  # also those that come before the server takes them itself
        with (
            _signals(lambda number, _: signals.append(number)),
            daemon.registered(workspace, running, restored, lost, log=record),
        ):
            token = _token(address, place)  # here, so that two starts at once do not make two
            allowed = Access(token, access.names(address.hosts), beyond)
            _log(record)
            threading.Thread(target=service.warm, name="commonplace-warm", daemon=True).start()
            own = site.build(
                service, beside=beside, examine=examine, cookie=f"commonplace-{port}", key=running.key
            )
            application = http.build(
                service, allowed, log.info, identity=running.id, apart=apart, beside=beside,
                more=own.routes, visitors=own.visitors, open_to_all=own.open_to_all,
            )  # fmt: skip
            config = uvicorn.Config(
                application,
                http=Bounded,
                ws="none",
                loop="asyncio",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                timeout_graceful_shutdown=FINISH_S,
                backlog=1,  # asyncio takes so many at a time, before the bound on connections is checked
            )
            if detached:  # in the foreground `tell` says so
                log.info("serving at %s", running.url)
            with remedies.spoken(WORDS):
                _Server(config, lambda: tell(running), signals, own.feed.close).run([bound])
            log.info("ended" + (f" by {signal.Signals(signals[0]).name}" if signals else ""))
    service.close()
    if beside is not None:
        beside.close()


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
def _signals(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Take the signals that end a server, and raise them no further; only the main thread gets any."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


class _Server(uvicorn.Server):
    """The server of uvicorn, which says when it serves and ends a signal where it came: here."""

    def __init__(
        self,
        config: uvicorn.Config,
        ready: Callable[[], None],
        signals: list[int] | None = None,
        close: Callable[[], None] = lambda: None,
    ) -> None:
        """`ready` is called once clients can connect; `signals` are those that came before, and come.

        `close` ends what would be answered for ever, once the server is to end.
        """
        super().__init__(config)
        self._ready, self._signals, self._close = ready, [] if signals is None else signals, close

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Note a signal, and end."""
        self._signals.append(sig)
        super().handle_exit(sig, frame)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take signals as the wish to end."""
        with _signals(self.handle_exit):
            self.should_exit = self.should_exit or bool(self._signals)
            yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to serve, and say so."""
        log = logging.getLogger("commonplace.server")
        asyncio.get_running_loop().set_exception_handler(seldom(log, time.monotonic))
        await super().startup(sockets)
        for bound in sockets or ():
            bound.listen(_WAITING)  # the backlog of uvicorn was to be that of asyncio alone
        if not self.should_exit:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End what is open, and then all of it."""
        self._close()
        await super().shutdown(sockets)


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


# --- connections ----------------------------------------------------------------------------------------

MOST = 256  # open at once, and of the descriptors of the process a quarter: notes and indexes need some too
HEAD_S, BODY_S = 10.0, 30.0  # until the head of a request is there, and its body after that
READ_S = 30.0  # that a client may leave what is sent to it unread
SELDOM_S = 60.0  # between two lines that say that connections are not accepted
_UNACCEPTED = "socket.accept() out of system resource"  # what asyncio says of each of them, with a traceback


def most() -> int:
    """Return how many connections may be open at once."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(MOST, max(1, soft // 4)) if soft >= 0 else MOST  # -1 is no limit


class Bounded(H11Protocol):
    """A connection that ends where a request does not arrive in time, or where others need its place.

    Or where its client does not read what is sent to it.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        """Wait for the first request."""
        super().__init__(*arguments, **named)
        self._phase: object = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, in the place of another if there are too many."""
        super().connection_made(transport)
        self._wait()
        if len(self.connections) > most():
            waiting = [one for one in self.connections if isinstance(one, Bounded) and one.is_waiting]
            min(waiting, key=lambda one: one._since, default=self)._end()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no longer."""
        self._stop()
        self._read()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to wait until the client reads."""
        super().pause_writing()
        self._read()
        self._unread = self.loop.call_later(READ_S, self._end)

    def resume_writing(self) -> None:
        """Write on: the client reads."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    def handle_events(self) -> None:
        """Handle what has arrived, and wait for what is missing of a request."""
        super().handle_events()
        self._wait()

    @property
    def is_waiting(self) -> bool:
        """Return True if the client still has to send a request."""
        return self._timer is not None

    def _wait(self) -> None:
        """Set the time for the part of a request that is missing; more bytes of it do not prolong that."""
        phase = self.conn.their_state
        if phase is self._phase:
            return
        self._stop()
        self._phase = phase
        limit_s = {h11.IDLE: HEAD_S, h11.SEND_BODY: BODY_S}.get(phase)
        if limit_s is not None and not self.transport.is_closing():
            self._since = self.loop.time()
            self._timer = self.loop.call_later(limit_s, self._end)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _end(self) -> None:
        """End the connection at once: a client that sends no request needs no answer."""
        self._stop()
        self.connections.discard(self)
        self.transport.abort()


def seldom(
    log: logging.Logger, clock: Callable[[], float]
) -> Callable[[asyncio.AbstractEventLoop, Mapping[str, Any]], None]:
    """Let a loop log at most once a minute that it accepts no connections; other messages as before."""
    last = -SELDOM_S

    def handle(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        nonlocal last
        if context.get("message") != _UNACCEPTED:
            loop.default_exception_handler(dict(context))
        elif clock() - last >= SELDOM_S:
            last = clock()
            log.warning("no further connection is accepted for now: %s", context.get("exception"))

    return handle
