"""The stream of what is done: by whichever process, bounded, and ended with the server."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from commonplace import Memory
from commonplace.servers.api.events import MOST_LISTENERS, MOST_WAITING, Feed, Listener
from commonplace.servers.methods import Service
from commonplace.upkeep.activity import Activity
from tests.servers.api.conftest import TOKEN, Api

WAIT_S = 60.0


class Stream:
    """One who listens."""

    def __init__(self, response: HTTPResponse) -> None:
        self.response = response

    def next(self) -> tuple[str, Any]:
        """The next event: its name and its data."""
        name, data, end = "", None, time.monotonic() + WAIT_S
        while line := self.response.readline().decode():
            assert time.monotonic() < end
            field, _, value = line.rstrip("\n").partition(": ")
            if field == "event":
                name = value
            elif field == "data":
                data = json.loads(value)
            elif not line.strip() and name:
                return name, data
        return "end", None

    def until(self, name: str) -> Any:
        """The data of the next event of a name."""
        while (event := self.next())[0] != name:
            assert event[0] != "end"
        return event[1]


@contextmanager
def listening(api: Api, status: int = 200) -> Iterator[Stream]:
    connection = HTTPConnection("127.0.0.1", api.server.port, timeout=WAIT_S)
    headers = {"Authorization": f"Bearer {TOKEN.reveal()}"}
    connection.request("GET", "/api/events", headers=headers)
    response = connection.getresponse()
    try:
        assert response.status == status
        yield Stream(response)
    finally:
        response.close()
        connection.close()


def test_what_others_do_is_told_without_what_notes_say(api: Api, workspace: Path) -> None:
    with listening(api) as stream, Memory.open(workspace, agent="codex") as memory:
        assert stream.next() == ("ready", {})
        memory.search("deploy")
        asked = stream.until("search")
        assert (asked["agent"], asked["count"], asked["question"]) == ("codex", 1, "deploy")
        assert asked["places"] == ["memory/2026-02-13.md#L5-L6"]
        assert 0 < asked["tokens"] < asked["all_tokens"]
        shown = api.post("/api/corrections/preview", old="Lin signs it off.", new="Mira signs it off.")
        done = api.post("/api/corrections", preview=shown["preview"])
        changed = stream.until("change")
        assert (changed["change"], changed["run"], changed["agent"]) == ("correct", done["run"], "")
        written = memory.remember("Plain words of a note.")
        told = stream.until("write")
        assert told["places"] == [written.path]
        assert "Plain words" not in json.dumps(told)


def test_listeners_are_bounded_and_leave(api: Api) -> None:
    held = [listening(api) for _ in range(MOST_LISTENERS)]
    for one in held:
        one.__enter__().until("ready")
    with listening(api, status=503):
        pass
    for one in held:
        one.__exit__(None, None, None)
    while api.raw("HEAD", "/api/events")[0] != 200 or api.server.site.feed.listeners:
        pass  # until the server has seen that they are gone
    with listening(api) as stream:
        stream.until("ready")


def test_a_stream_ends_with_its_server(api: Api) -> None:
    with listening(api) as stream:
        stream.until("ready")
        api.server.server.should_exit = True
        assert stream.next() == ("end", None)
    api.server.thread.join(30)
    assert not api.server.thread.is_alive()


def test_who_is_ready_hears_all_that_is_done_from_there_on(service: Service) -> None:
    begins = threading.Event()

    def follow(
        memory: Memory, tell: Callable[[Activity], None], stop: Any, begun: Callable[[], None]
    ) -> None:
        begins.wait(WAIT_S)
        begun()
        tell(Activity("get", "2026-02-13T09:00:00+00:00"))
        stop.wait(WAIT_S)

    async def listen() -> None:
        feed = Feed(service, follow)
        early = feed.listen()
        await asyncio.sleep(0.05)
        assert early._waiting.empty()
        begins.set()
        assert await early.next() == b"event: ready\ndata: {}\n\n"
        assert (await early.next() or b"").startswith(b"event: get\ndata: {")
        assert await feed.listen().next() == b"event: ready\ndata: {}\n\n"
        feed.close()
        assert await early.next() is None

    asyncio.run(listen())


def test_a_listener_that_does_not_read_is_dropped(service: Service) -> None:
    async def listen() -> None:
        feed = Feed(service, lambda memory, tell, stop, begun: begun() or stop.wait(WAIT_S))
        listener = feed.listen()
        assert await listener.next() == b"event: ready\ndata: {}\n\n"
        for number in range(MOST_WAITING + 10):
            feed.tell(Activity("get", "2026-02-13T09:00:00+00:00", count=number))
        await asyncio.sleep(0)  # what was sent from threads is taken
        assert listener.is_over
        heard = [await listener.next() for _ in range(MOST_WAITING)]
        assert heard[-1] is None
        assert all(heard[:-1])
        feed.leave(listener)
        feed.leave(listener)
        feed.close()

    asyncio.run(listen())


def test_what_is_told_when_nobody_can_hear_is_no_fault() -> None:
    async def make() -> Listener:
        return Listener()

    asyncio.run(make()).hear(None)
