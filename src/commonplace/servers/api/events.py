"""The activities in the memory, as they happen: server-sent events.

https://html.spec.whatwg.org/multipage/server-sent-events.html

The last ones are kept without the words of questions, so that forgotten text is not sent again; a client
that was away gets those after the `Last-Event-ID` it names.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.servers.api import schema
from commonplace.servers.api.document import parameters, refusals
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.routes import Resource
from commonplace.servers.http import LIVES_S
from commonplace.servers.protocol import encode
from commonplace.types.data import to_data
from commonplace.upkeep import activity
from commonplace.upkeep.activity import Activity

if TYPE_CHECKING:
    from commonplace.memory import Memory
    from commonplace.servers.methods import Service

MOST_LISTENERS = 16
MOST_WAITING = 256  # events that one listener has not read; then it is dropped
MOST_KEPT = 1000
_KIND = "text/event-stream"
_RETRY_MS = 2000
_AGAIN_S = 1.0  # until the memory is followed anew
Follow = Callable[..., None]


class Event(NamedTuple):
    """An event as it is sent: its place among all of this server, its name, its data."""

    number: int
    name: str
    data: object


class Listener:
    """One client that listens, in the loop that serves it."""

    def __init__(self) -> None:
        """Start without events."""
        self._loop = asyncio.get_running_loop()
        self._first: asyncio.Future[list[Event]] = self._loop.create_future()
        self._waiting: asyncio.Queue[Event | None] = asyncio.Queue(MOST_WAITING)
        self.is_over = False

    def hear(self, event: Event | None) -> None:
        """Take an event, or None for the end, from any thread."""
        with suppress(RuntimeError):  # the loop has ended meanwhile
            self._loop.call_soon_threadsafe(self._put, event)

    def _put(self, event: Event | None) -> None:
        if self.is_over:
            return
        self.is_over = event is None or self._waiting.full()
        if self.is_over and self._waiting.full():
            self._waiting.get_nowait()
        self._waiting.put_nowait(None if self.is_over else event)

    def greet(self, events: list[Event]) -> None:
        """Take what comes before all else, once, from any thread."""

        def put() -> None:
            if not self._first.done():
                self._first.set_result(events)

        with suppress(RuntimeError):
            self._loop.call_soon_threadsafe(put)

    async def first(self) -> list[Event]:
        """Return what comes before all else, as soon as the memory is followed."""
        return await self._first

    async def next(self) -> Event | None:
        """Return the next event; None for the end. Raises TimeoutError if it does not come for long."""
        return await asyncio.wait_for(self._waiting.get(), LIVES_S)


class Feed:
    """The events of one memory for all who listen; it is followed from the first of them on."""

    def __init__(self, service: Service, follow: Follow | None = None) -> None:
        """Follow what a service serves."""
        self._service, self._follow = service, follow
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._thread: threading.Thread | None = None
        self._name = secrets.token_hex(4)  # of this server: numbers of another server are unknown here
        self._number = 0
        self._kept: deque[Event] = deque(maxlen=MOST_KEPT)
        self._listeners: list[Listener] = []
        self._has_begun = False
        self._early: list[tuple[Listener, str]] = []  # who came before that, and the last event they know

    def listen(self, last: str) -> Listener:
        """Add a listener, who first hears what came behind the last event that it knows.

        Raises Refused where too many listen, or the server ends.
        """
        with self._lock:
            if self._stop.is_set() or len(self._listeners) >= MOST_LISTENERS:
                many = message("events.many", "{n} listen already", n=MOST_LISTENERS)
                raise Refused(503, many, message("events.close", "close another page of this memory"))
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="commonplace-feed", daemon=True)
                self._thread.start()
            listener = Listener()
            self._listeners.append(listener)
            if self._has_begun:
                listener.greet(self._since(last))
            else:
                self._early.append((listener, last))
            return listener

    def _begin(self) -> None:
        """Greet the listeners that waited for the start: they get every activity from here on."""
        with self._lock:
            self._has_begun = True
            early, self._early = self._early, []
            for listener, last in early:
                listener.greet(self._since(last))

    def _since(self, last: str) -> list[Event]:
        """Return the events after an id; a `reset` event if the id is no longer known."""
        hello = Event(self._number, "ready", {})
        if not last:
            return [hello]
        name, _, number = last.partition("-")
        first = self._kept[0].number if self._kept else self._number + 1
        known = name == self._name and number.isascii() and number.isdigit() and len(number) < 16
        if not known or not first - 1 <= int(number) <= self._number:
            return [Event(self._number, "reset", {})]
        # Under the known id: a break before the next event loses no event.
        return [hello._replace(number=int(number)), *(e for e in self._kept if e.number > int(number))]

    @property
    def listeners(self) -> int:
        """How many listen."""
        return len(self._listeners)

    def leave(self, listener: Listener) -> None:
        """Take a listener away."""
        with self._lock, suppress(ValueError):
            self._listeners.remove(listener)

    def id_of(self, event: Event) -> str:
        """Return the id of an event."""
        return f"{self._name}-{event.number}"

    def close(self) -> None:
        """End it for all who listen."""
        self._stop.set()
        with self._lock:
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            listener.greet([])
            listener.hear(None)

    def tell(self, activity: Activity) -> None:
        """Tell all who listen of an activity; from any thread."""
        with self._lock:
            self._number += 1
            without = replace(activity, entries=())
            event = Event(self._number, activity.kind, without)
            self._kept.append(event._replace(data=replace(without, question="")))
            for listener in self._listeners:
                listener.hear(event)

    def _run(self) -> None:
        """Follow the memory, anew where it was opened anew, until the end."""
        follow = self._follow or activity.follow
        while not self._stop.is_set():
            try:
                memory = self._service.memory
                until = _Until(self._stop, self._service, memory)
                follow(memory, self.tell, stop=until, begun=self._begin)
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


class Events(Resource):
    """The stream of events."""

    path, methods = "/api/events", ("GET",)

    def __init__(self, feed: Feed, *, agent: str = "") -> None:
        """Send those of a feed; `agent` is who the server was started for."""
        self._feed, self._agent = feed, agent

    async def answer(self, method: str, request: Request) -> Response:
        """Begin a stream. Raises Refused."""
        if self._agent:
            raise Refused(403, "events are the owner's; this server is that of an agent")
        headers = {"cache-control": "no-store", "x-accel-buffering": "no"}
        if request.method == "HEAD":
            return Response(headers=headers, media_type=_KIND)
        if request.query_params:
            raise Refused(400, "this takes no parameters")
        listener = self._feed.listen(request.headers.get("last-event-id", "")[:100])
        return StreamingResponse(self._sent(listener), headers=headers, media_type=_KIND)

    async def _sent(self, listener: Listener) -> AsyncIterator[bytes]:
        try:
            yield f"retry: {_RETRY_MS}\n\n".encode()
            for event in await listener.first():
                yield self._encoded(event)
            while True:
                try:
                    heard = await listener.next()
                except TimeoutError:
                    yield b": waiting\n\n"
                    continue
                if heard is None:
                    return
                yield self._encoded(heard)
        finally:
            self._feed.leave(listener)

    def _encoded(self, event: Event) -> bytes:
        head = f"id: {self._feed.id_of(event)}\nevent: {event.name}\ndata: ".encode()
        return head + encode(to_data(event.data)) + b"\n\n"

    def describe(self) -> Mapping[str, Any]:
        """Its description."""
        about = (
            "What is done in the memory: the events are named by `kind`, their data is an Activity. `ready` "
            "comes first, `reset` instead where it is not known what came behind Last-Event-ID."
        )
        content = {_KIND: {"schema": {"type": "string"}}}
        done = {"description": about, "content": content, "x-data": schema.of(Activity)}
        last = schema.text("The id of the last event that was read.", most=100)
        return {
            "get": {
                "operationId": "events",
                "summary": "Listen to what is done in the memory, as it happens.",
                "parameters": parameters("header", {"Last-Event-ID": last}),
                "responses": {"200": done, **refusals(400, 401, 403, 503)},
            }
        }
