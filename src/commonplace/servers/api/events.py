"""The activities in the memory, as they happen: server-sent events.

https://html.spec.whatwg.org/multipage/server-sent-events.html

Events are not kept: a client that was away reads `/api/activities`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.servers.api import schema
from commonplace.servers.api.document import refusals
from commonplace.servers.api.errors import Refused
from commonplace.servers.http import LIVES_S
from commonplace.servers.protocol import encode
from commonplace.types.data import to_data
from commonplace.upkeep import activity
from commonplace.upkeep.activity import Activity

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service

PATH = "/api/events"
MOST_LISTENERS = 16
MOST_WAITING = 256  # events that one listener has not read; then it is dropped
_KIND = "text/event-stream"
_AGAIN_S = 1.0  # until the memory is followed anew
_READY = b"event: ready\ndata: {}\n\n"
Follow = Callable[..., None]


class Listener:
    """One client that listens, in the loop that serves it."""

    def __init__(self) -> None:
        """Start without events."""
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Queue[bytes | None] = asyncio.Queue(MOST_WAITING)
        self.is_over = False

    def hear(self, event: bytes | None) -> None:
        """Take an event, or None for the end, from any thread."""
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._put, event)

    def _put(self, event: bytes | None) -> None:
        if self.is_over:
            return
        self.is_over = event is None or self._waiting.full()
        if self.is_over and self._waiting.full():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None if self.is_over else event)

    async def next(self) -> bytes | None:
        """Return the next event, or a sign of life if none comes for long; None for the end."""
        try:
            return await asyncio.wait_for(self._waiting.get(), LIVES_S)
        except TimeoutError:
            return b": waiting\n\n"


class Feed:
    """The events of one memory for all who listen; it is followed from the first of them on."""

    def __init__(self, service: Service, follow: Follow = activity.follow) -> None:
        """Follow what a service serves."""
        self._service, self._follow = service, follow
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._has_begun = False
        self.listeners: list[Listener] = []

    async def serve(self, request: Request) -> Response:
        """Begin a stream. Raises Refused."""
        if self._service.agent:
            raise Refused(403, "events are the owner's; this server is that of an agent")
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type=_KIND)
        if request.query_params:
            raise Refused(400, "this takes no parameters")
        return StreamingResponse(self._sent(self.listen()), headers=headers, media_type=_KIND)

    async def _sent(self, listener: Listener) -> AsyncIterator[bytes]:
        try:
            while (event := await listener.next()) is not None:
                yield event
        finally:
            self.leave(listener)

    def listen(self) -> Listener:
        """Add a listener, who hears `ready` once the memory is followed, and every activity from there on.

        Raises Refused where too many listen, or the server ends.
        """
        with self._lock:
            if self._stop.is_set() or len(self.listeners) >= MOST_LISTENERS:
                many = message("events.many", "{n} listen already", n=MOST_LISTENERS)
                raise Refused(503, many, message("events.close", "close another page of this memory"))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="commonplace-feed", daemon=True)
                self._thread.start()
            listener = Listener()
            self.listeners.append(listener)
            if self._has_begun:
                listener.hear(_READY)
            return listener

    def leave(self, listener: Listener) -> None:
        """Take a listener away."""
        with self._lock, suppress(ValueError):
            self.listeners.remove(listener)

    def close(self) -> None:
        """End it for all who listen."""
        self._stop.set()
        with self._lock:
            listeners, self.listeners = self.listeners, []
        for listener in listeners:
            listener.hear(None)

    def tell(self, activity: Activity) -> None:
        """Tell all who listen of an activity, without the words of notes; from any thread."""
        data = encode(to_data(replace(activity, entries=())))
        with self._lock:
            for listener in self.listeners:
                listener.hear(f"event: {activity.kind}\ndata: ".encode() + data + b"\n\n")

    def _begin(self) -> None:
        with self._lock:
            waiting, self._has_begun = [] if self._has_begun else self.listeners, True
            for listener in waiting:
                listener.hear(_READY)

    def _run(self) -> None:
        """Follow the memory, anew where it was opened anew, until the end."""
        while not self._stop.is_set():
            try:
                memory = self._service.memory
                until = _Until(self._stop, self._service, memory)
                self._follow(memory, self.tell, stop=until, begun=self._begin)
            except Exception as error:  # noqa: BLE001 - those who listen hear of what comes after it
                self._service.tell(f"{type(error).__name__} while the memory was followed")
                self._begin()
            self._stop.wait(_AGAIN_S)


class _Until(threading.Event):
    """The end of a feed, or of what it follows: after a change of settings another memory is served."""

    def __init__(self, stop: threading.Event, service: Service, memory: Memory) -> None:
        super().__init__()
        self._stop, self._service, self._memory = stop, service, memory

    def is_set(self) -> bool:
        """Return True if the end has come."""
        if not super().is_set() and (self._stop.is_set() or self._is_another()):
            self.set()
        return super().is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for the end of the feed; return whether one of both has come."""
        self._stop.wait(timeout)
        return self.is_set()

    def _is_another(self) -> bool:
        try:
            return self._service.memory is not self._memory
        except CommonplaceError:  # the next request gets the error
            return True


def described() -> Mapping[str, Any]:
    """Return the stream as OpenAPI describes it."""
    about = (
        "What is done in the memory: the events are named by `kind`, their data is an Activity. "
        "`ready` comes first."
    )
    content = {_KIND: {"schema": {"type": "string"}}}
    done = {"description": about, "content": content, "x-data": schema.of(Activity)}
    summary = "Listen to what is done in the memory, as it happens."
    responses = {"200": done, **refusals(400, 401, 403, 503)}
    return {"get": {"operationId": "events", "summary": summary, "responses": responses}}
