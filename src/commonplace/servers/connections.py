"""Connections of a server: how many are open, and how long the request of each may take to arrive.

A client that opens connections and sends nothing whole would otherwise hold them, and their descriptors, for
ever. Where there are too many, the one that has waited longest for its request makes room.
"""

from __future__ import annotations

import asyncio
import logging
import resource
import time
from collections.abc import Callable, Mapping
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

MOST = 256  # open at once, and of the descriptors of the process a quarter: notes and indexes need some too
HEAD_S, BODY_S = 10.0, 30.0  # until the head of a request is there, and its body after that
SELDOM_S = 60.0  # between two lines that say that connections are not accepted
_UNACCEPTED = "socket.accept() out of system resource"  # what asyncio says of each of them, with a traceback


def most() -> int:
    """Return how many connections may be open at once."""
    soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return min(MOST, max(1, soft // 4)) if soft >= 0 else MOST  # -1 is no limit


class Bounded(H11Protocol):
    """A connection that ends where a request does not arrive in time, or where others need its place."""

    def __init__(self, *arguments: Any, **named: Any) -> None:  # noqa: ANN401 - uvicorn's own
        """Wait for the first request."""
        super().__init__(*arguments, **named)
        self._phase: object = None
        self._since = 0.0
        self._timer: asyncio.TimerHandle | None = None

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
        super().connection_lost(exc)

    def handle_events(self) -> None:
        """Handle what has arrived, and wait for what is missing of a request."""
        super().handle_events()
        self._wait()

    @property
    def is_waiting(self) -> bool:
        """Whether the client is to send something before anything can be answered."""
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
        """End the connection at once: whoever sends nothing need not read anything either."""
        self._stop()
        self.connections.discard(self)
        self.transport.abort()


def note_failures(log: logging.Logger, loop: asyncio.AbstractEventLoop) -> None:
    """Let a loop say at most once a minute that it accepts no connections; all else it says as before."""
    loop.set_exception_handler(_seldom(log, time.monotonic))


def _seldom(
    log: logging.Logger, clock: Callable[[], float]
) -> Callable[[asyncio.AbstractEventLoop, Mapping[str, Any]], None]:
    last = -SELDOM_S

    def handle(loop: asyncio.AbstractEventLoop, context: Mapping[str, Any]) -> None:
        nonlocal last
        if context.get("message") != _UNACCEPTED:
            loop.default_exception_handler(dict(context))
        elif clock() - last >= SELDOM_S:
            last = clock()
            log.warning("no further connection is accepted for now: %s", context.get("exception"))

    return handle
