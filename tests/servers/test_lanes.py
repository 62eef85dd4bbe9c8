"""What is heavy waits in a lane, what is light does not; what is cancelled writes nothing; progress is told."""

from __future__ import annotations

import json
import queue
import socket
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.agent.tools import TOOLS
from commonplace.servers import progress
from commonplace.servers.methods import LANE, WRITES, Service, is_heavy
from commonplace.types.changes import Selection
from commonplace.types.progress import Cancelled, check, listening, silent, tell
from tests.servers.conftest import Served
from tests.servers.test_http import JSON
from tests.servers.test_http import request as post
from tests.servers.test_protocol import asked

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
READ = {"name": "memory_get", "arguments": {"path": "MEMORY.md"}}
SEARCH = {"name": "memory_search", "arguments": {"query": "deploy"}}


def write(text: str, **more: object) -> dict[str, Any]:
    return {"name": "memory_write", "arguments": {"text": text}, **more}


def hold(service: Service) -> None:
    for lane, width in ((service.lane, LANE), (service.entries, WRITES)):
        for _ in range(width):
            lane.acquire()


def release(service: Service) -> None:
    service.lane.release(LANE)
    service.entries.release(WRITES)


@contextmanager
def closed(service: Service) -> Iterator[None]:
    """Let nothing heavy be answered meanwhile."""
    hold(service)
    try:
        yield
    finally:
        release(service)


def test_an_entry_waits_for_no_search(
    service: Service, workspace: Path, serve: Callable[..., Served]
) -> None:
    server = serve()
    for _ in range(LANE):
        service.lane.acquire()
    with ThreadPoolExecutor(2 * WRITES) as clients:
        calls = [asked("tools/call", write(f"heron {number:02}"), number) for number in range(2 * WRITES)]
        answers = list(clients.map(lambda call: post(server, body=call)[1], calls))
    service.lane.release(LANE)
    assert [answer["id"] for answer in answers] == list(range(2 * WRITES))
    assert not any(answer["result"]["isError"] for answer in answers)
    notes = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert all(notes.count(f"heron {number:02}") == 1 for number in range(2 * WRITES))


def test_what_is_heavy() -> None:
    light = {tool.name for tool in TOOLS if not is_heavy(asked("tools/call", {"name": tool.name}))}
    assert light == {"memory_get", "memory_timeline", "memory_status"}
    assert is_heavy(asked("prompts/get"))
    for message in (asked("resources/read"), asked("tools/list"), asked("completion/complete"), [], 5, None):
        assert not is_heavy(message), message


NONSENSE: list[Any] = [
    asked(["tools/list"]), asked({}), asked("tools/call", {"name": ["memory_get"]}), asked("tools/call", {"name": {}}),
    asked("tools/call", [1]), [[[asked("ping")]]], [asked(["x"])],
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": {}}},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": [7]},
    asked("tools/call", {**SEARCH, "_meta": {"progressToken": {"a": 1}}}),
    asked("tools/call", {**SEARCH, "_meta": {"progressToken": True}}), asked("tools/call", {**SEARCH, "_meta": 5}),
]  # fmt: skip


def test_nonsense_ends_no_server(serve: Callable[..., Served]) -> None:
    server = serve()
    for message in NONSENSE:
        status, _, _ = post(server, body=message, mcp_session_id="asks-nobody-1.x")
        assert status in (200, 202, 400), message
    assert post(server, body=asked("ping"))[0] == 200


# --- over HTTP ------------------------------------------------------------------------------------------


def session_of(server: Served) -> str:
    return post(server, body=asked("initialize", GREETING))[2]["mcp-session-id"]


def later(work: Callable[[], Any]) -> queue.SimpleQueue[Any]:
    """Do something in a thread; return where its result will be."""
    results: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=lambda: results.put(work()), daemon=True).start()
    return results


def test_a_note_is_read_over_http_while_searches_wait(service: Service, serve: Callable[..., Served]) -> None:
    server = serve()
    with closed(service):
        waiting = [later(lambda: post(server, body=asked("tools/call", SEARCH))) for _ in range(12)]
        for method, params in [
            ("tools/call", READ),
            ("resources/list", {}),
            ("tools/list", {}),
            ("ping", {}),
        ]:
            assert post(server, body=asked(method, params))[0] == 200, method
    assert {one.get(timeout=60)[0] for one in waiting} == {200}


def test_a_call_is_cancelled_by_its_session_alone(
    service: Service, serve: Callable[..., Served], workspace: Path
) -> None:
    server = serve()
    own, other = session_of(server), session_of(server)
    with closed(service):
        calls = [
            later(lambda text=text, session=session: post(  # type: ignore[misc]
                server, body=asked("tools/call", write(text), 1), mcp_session_id=session
            ))
            for text, session in [("The heron is cancelled.", own), ("The stork is not.", other)]
        ]  # fmt: skip
        cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
        assert post(server, body=cancel)[0] == 202  # of no session
        while not _cancels(server, own, cancel):
            pass
    cancelled, done = (call.get(timeout=60)[1] for call in calls)
    assert cancelled["error"]["message"] == "cancelled"
    assert done["result"]["isError"] is False
    notes = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert ("stork" in notes, "heron" in notes) == (True, False)


def _cancels(server: Served, session: str, cancel: object) -> bool:
    """Cancel what a session has asked for; true once it had come."""
    seen = len([line for line in server.lines if "tools/call" in line])
    assert post(server, body=cancel, mcp_session_id=session)[0] == 202
    threading.Event().wait(0.3)  # both calls are on their way
    assert post(server, body=cancel, mcp_session_id=session)[0] == 202
    return seen == 0


def test_a_client_that_goes_away_has_nothing_written(
    service: Service, serve: Callable[..., Served], workspace: Path
) -> None:
    server = serve()
    with closed(service):
        for number, meta in enumerate(({}, {"_meta": {"progressToken": 1}}), 1):
            body = json.dumps(asked("tools/call", write("The heron left.", **meta))).encode()
            head = (
                f"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                f"Accept: {JSON['Accept']}\r\nContent-Length: {len(body)}\r\n\r\n"
            )
            with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
                raw.sendall(head.encode() + body)
                threading.Event().wait(0.2)
            while len([line for line in server.lines if "tools/call" in line]) < number:
                threading.Event().wait(0.01)  # until the server has seen that its client is gone
    assert post(server, body=asked("tools/call", write("The stork stays.")))[0] == 200
    notes = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert ("stork" in notes, "heron" in notes) == (True, False)


def test_progress_is_a_stream_where_it_is_wanted(
    service: Service, serve: Callable[..., Served], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    server = serve()
    call = asked("tools/call", {**SEARCH, "_meta": {"progressToken": "p"}}, 5)
    status, answer, headers = post(server, body=call, Accept="application/json")
    assert (status, headers["content-type"], answer["id"]) == (200, "application/json", 5)
    light = asked("tools/call", {**READ, "_meta": {"progressToken": "p"}}, 5)
    assert post(server, body=light)[2]["content-type"] == "application/json"
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    taken = [service.lane.acquire() for _ in range(LANE)]
    connection.request("POST", "/mcp", json.dumps(call), JSON)
    stream = connection.getresponse()
    assert (stream.getheader("content-type") or "").startswith("text/event-stream")
    events = []
    for line in stream:
        if line.startswith(b"data: "):
            events.append(json.loads(line[6:]))
            while taken:
                taken.pop()
                service.lane.release()
    connection.close()
    assert events[-1]["id"] == 5
    assert events[-1]["result"]["isError"] is False
    assert {one["method"] for one in events[:-1]} == {"notifications/progress"}
    assert {one["params"]["progressToken"] for one in events[:-1]} == {"p"}


def test_what_reads_waits_for_no_search(workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        docid = memory.search("deploy").hits[0].docid
        held, over = threading.Event(), threading.Event()

        def search() -> None:
            with memory._lock:  # as a search has it
                held.set()
                over.wait(60)

        searching = threading.Thread(target=search)
        searching.start()
        assert held.wait(60)
        (workspace / "memory" / "2026-02-15.md").write_text("# 2026-02-15\n\n- A heron.\n")
        assert memory.get(f"#{docid}").path == memory.get("memory/2026-02-13.md").path
        assert len(memory.notes()) == memory.status().notes == 4
        assert [one.date for one in memory.timeline("2026-02-15", before=1).moments] == [
            "2026-02-14",
            "2026-02-15",
        ]
        assert searching.is_alive()
        over.set()
        searching.join()
        memory.forget(Selection("text", "A heron."))  # and what it opened holds nothing back
        assert "heron" not in memory.timeline("2026-02-14").moments[-1].text
        assert memory.search("heron").hits == ()


# --- whoever listens to work ----------------------------------------------------------------------------


def test_a_listener_is_of_its_thread_alone() -> None:
    heard: list[tuple[str, int, int]] = []
    with listening(lambda *told: heard.append(told), lambda: True):
        tell("files", 1, 2)
        other = threading.Thread(target=tell, args=("files", 5, 5))
        other.start()
        other.join()
    tell("files", 2, 2)
    check()
    assert heard == [("files", 1, 2)]


def test_work_that_nobody_wants_ends_before_it_writes(workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        memory.sync()
        before = {path: path.read_bytes() for path in workspace.rglob("*.md")}
        preview = memory.forget(Selection("text", "Lin signs it off."), dry_run=True)
        for work in (
            lambda: memory.remember("A heron."),
            lambda: memory.correct("Lin signs it off.", "Ada signs it off."),
            lambda: memory.forget(preview),
            lambda: memory.search("deploy"),
        ):
            with listening(silent, lambda: False), pytest.raises(Cancelled):
                work()
        assert {path: path.read_bytes() for path in workspace.rglob("*.md")} == before
        assert not memory.forget(preview).left  # and nothing is left half done


def test_a_search_tells_how_many_files_it_has_read(workspace: Path) -> None:
    for number in range(150):
        (workspace / "memory" / f"n{number}.md").write_text(f"# Note {number}\n\nheron\n")
    heard: list[tuple[str, int, int]] = []
    with Memory.open(workspace) as memory, listening(lambda *told: heard.append(told), lambda: True):
        memory.search("heron")
    assert heard[-1] == ("files", 153, 153)
