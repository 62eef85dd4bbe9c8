"""`mcp`: what is slow holds up nothing else, and nothing that is sent ends the server."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.servers import progress, protocol, relay, running
from commonplace.servers.methods import Service
from commonplace.servers.programs import Services
from commonplace.servers.relay import Connect, Relay
from commonplace.servers.running import Served
from tests.servers.conftest import Client
from tests.servers.test_lanes import closed, write

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def asked(method: str, id: object, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


@pytest.fixture
def connect(service: Service) -> Iterator[Connect]:
    """What connects to a server in this process."""
    with running.private(Served("/", Services(lambda agent, asked: service), {})) as connection:
        yield connection
    warmed()


def answers(connect: Connect, sent: bytes) -> list[Any]:
    """Everything that is answered to what was sent, in the order it came."""
    with tempfile.TemporaryFile() as sink:
        Relay(connect, "", {}, sink=sink.fileno()).run(io.BytesIO(sent))
        sink.seek(0)
        return [json.loads(line) for line in sink]


def warmed() -> None:
    """Wait for what a server loads beside its answers: it must not go on in another test."""
    for thread in threading.enumerate():
        if thread.name.startswith("commonplace-warm"):
            thread.join(60)


def test_an_answer_to_a_server_that_is_gone_ends_nothing() -> None:
    def gone() -> socket.socket:
        near, far = socket.socketpair()
        far.close()
        return near

    sent = b'{"jsonrpc": "2.0", "id": "q1", "result": {"action": "accept"}}\n' * 2
    assert answers(gone, sent) == []


def test_a_key_of_visits_that_others_may_know_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "visits.key"
    first = running._visits_key(path).reveal()
    assert running._visits_key(path).reveal() == first
    path.chmod(0o644)
    assert running._visits_key(path).reveal() != first
    assert path.stat().st_mode & 0o777 == 0o600


# --- in this process ------------------------------------------------------------------------------------


def test_every_request_is_answered_before_the_end(connect: Connect) -> None:
    sent = asked("initialize", 0, **GREETING) + b"".join(asked("tools/list", n) for n in range(1, 20))
    assert sorted(one["id"] for one in answers(connect, sent)) == list(range(20))


def test_blank_lines_and_a_cut_last_one(connect: Connect) -> None:
    found = answers(connect, b"\n  \n\r\n" + asked("ping", 1) + b'{"jsonrpc": "2.0", "id": 2, "meth')
    assert {one["id"]: one.get("error", {}).get("code") for one in found} == {1: None, None: protocol.PARSE}
    assert answers(connect, asked("ping", 3).rstrip())[0]["id"] == 3


@pytest.mark.parametrize("size", [relay.LONGEST, relay.LONGEST + 1, 3 * relay.LONGEST])
def test_a_huge_line_is_refused_and_the_next_one_served(connect: Connect, size: int) -> None:
    found = answers(connect, b'"' + b"x" * size + b'"\n' + asked("ping", 1))
    assert [one["id"] for one in found] == [None, 1]
    assert found[0]["error"]["code"] == protocol.INVALID


@given(st.lists(st.binary(max_size=60) | st.sampled_from([asked("ping", 5), b"[]\n", b"{}\n"]), max_size=8))
def test_any_bytes_leave_it_alive(connect: Connect, parts: list[bytes]) -> None:
    found = answers(connect, b"\n".join(parts) + b"\n" + asked("ping", "last"))
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in found


class Talk:
    """A relay over pipes, and one who asks it."""

    def __init__(self, connect: Connect) -> None:
        read, write = os.pipe()
        heard, self.says = os.pipe()
        self.tells, self.reads = os.fdopen(write, "wb", 0), os.fdopen(read, "rb")
        self.hears: IO[bytes] = os.fdopen(heard, "rb")
        relaying = Relay(connect, "", {}, sink=self.says)
        self.thread = threading.Thread(target=relaying.run, args=(self.reads,))
        self.thread.start()

    def tell(self, *messages: object) -> None:
        for one in messages:
            self.tells.write(one if isinstance(one, bytes) else json.dumps(one).encode() + b"\n")

    def hear(self) -> Any:
        return json.loads(self.hears.readline())

    def end(self) -> None:
        self.tells.close()
        self.thread.join(60)
        for stream in (self.reads, self.hears):
            stream.close()
        os.close(self.says)


@pytest.fixture
def talk(connect: Connect) -> Iterator[Talk]:
    made = Talk(connect)
    yield made
    made.end()


@pytest.fixture
def opened(service: Service, workspace: Path) -> Iterator[threading.Event]:
    """What a memory waits for that is about to be opened."""
    event = threading.Event()

    def open_memory() -> Memory:
        assert event.wait(60)
        return Memory.open(workspace)

    service._open = open_memory
    yield event
    event.set()


def search(id: object, query: str = "deploy") -> bytes:
    return asked("tools/call", id, name="memory_search", arguments={"query": query})


def test_a_slow_search_does_not_hold_up_a_ping(talk: Talk, opened: threading.Event) -> None:
    talk.tell(search(1), asked("initialize", 3, **GREETING), asked("ping", 2))
    assert [talk.hear()["id"], talk.hear()["id"]] == [3, 2]
    opened.set()
    assert talk.hear()["result"]["content"]


def test_what_was_cancelled_is_not_answered(talk: Talk, opened: threading.Event) -> None:
    talk.tell(asked("initialize", 0, **GREETING), search(1), search("1"), search(2))
    assert talk.hear()["id"] == 0
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    talk.tell(cancel, asked("ping", "now"))
    assert talk.hear()["id"] == "now"
    opened.set()
    assert {talk.hear()["id"], talk.hear()["id"]} == {"1", 2}


def test_more_than_anybody_waits_for_is_refused(talk: Talk, opened: threading.Event) -> None:
    most = relay.MOST_WAITING
    talk.tell(
        *(asked("tools/call", n, name="memory_get", arguments={"path": "no.md"}) for n in range(most + 9))
    )
    refused = [talk.hear() for _ in range(9)]
    assert [one["id"] for one in refused] == list(range(most, most + 9))
    assert {one["error"]["message"] for one in refused} == {"too many messages at once"}
    opened.set()
    assert sorted(talk.hear()["id"] for _ in range(most)) == list(range(most))


def test_a_cancelled_call_writes_nothing(service: Service, talk: Talk, workspace: Path) -> None:
    talk.tell(asked("initialize", 0, **GREETING))
    assert talk.hear()["id"] == 0
    with closed(service):
        talk.tell(*(asked("tools/call", n, **write(f"Heron number {n}.")) for n in range(1, 20)))
        threading.Event().wait(1)  # all are on their way
        for number in range(1, 20):
            params = {"requestId": number}
            talk.tell({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        talk.tell(asked("ping", "heard"))
        assert talk.hear()["id"] == "heard"
    talk.tell(asked("tools/call", "last", **write("A stork.")))
    assert talk.hear()["id"] == "last"
    notes = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert ("stork" in notes, "Heron" in notes) == (True, False)


def test_progress_is_told_until_the_answer(
    service: Service, talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(progress, "EVERY_S", 0.01)
    for token in ("mine", 7):
        params = {
            "name": "memory_search",
            "arguments": {"query": "deploy"},
            "_meta": {"progressToken": token},
        }
        with closed(service):
            talk.tell(asked("tools/call", "long", **params))
            heard = [talk.hear() for _ in range(3)]
        while (message := talk.hear()).get("id") != "long":
            heard.append(message)
        assert {one["method"] for one in heard} == {"notifications/progress"}
        assert {one["params"]["progressToken"] for one in heard} == {token}
        numbers = [one["params"]["progress"] for one in heard]
        assert numbers == sorted(numbers)


def test_a_server_that_always_ends_is_given_up(connect: Connect) -> None:
    def dead() -> socket.socket:
        near, far = socket.socketpair()
        far.close()
        return near

    read, write_ = asked("ping", 1), asked("tools/call", 2, **write("Once."))
    assert {one["id"]: one["error"]["message"] for one in answers(dead, read + write_)} == {
        1: "the server of this memory ended and cannot be started again",
        2: "the server ended before it answered; look whether this was done before you call again",
    }


@pytest.mark.parametrize(
    "cut", [b"", b"HTTP/1.1 200 OK\r\ncontent-le", b"HTTP/1.1 200 OK\r\ncontent-length: 50\r\n\r\n{}",
            b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: {\"jsonrpc\": \"2.0\", \"id"],
)  # fmt: skip
def test_an_answer_that_is_cut_off_is_none(connect: Connect, cut: bytes) -> None:
    """A request that only reads is made again; part of an answer never reaches the client."""
    near, far = socket.socketpair()
    far.sendall(cut)
    far.shutdown(socket.SHUT_WR)
    ways: list[Callable[[], Any]] = [lambda: near]
    found = answers(lambda: (ways.pop() if ways else connect)(), asked("ping", 1))
    far.close()
    assert (ways, found) == ([], [{"jsonrpc": "2.0", "id": 1, "result": {}}])


# --- as a process ---------------------------------------------------------------------------------------


def test_it_serves_until_its_input_ends(client: Client) -> None:
    assert client.ask("initialize", GREETING)["result"]["protocolVersion"] == "2025-11-25"
    client.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    found = client.ask("tools/call", {"name": "memory_search", "arguments": {"query": "deploy"}}, 2)
    assert found["result"]["structuredContent"]["hits"][0]["path"] == "memory/2026-02-13.md"
    assert client.end() == (b"", b"", 0)


def test_what_is_asked_last_is_answered_before_it_ends(client: Client) -> None:
    client.send({"jsonrpc": "2.0", "id": 9, "method": "tools/call",
                 "params": {"name": "memory_write", "arguments": {"text": "Last words."}}})  # fmt: skip
    out, err, code = client.end()
    assert (json.loads(out)["result"]["isError"], err, code) == (False, b"", 0)


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_it_without_a_word(client: Client, number: int, code: int) -> None:
    client.ask("initialize", GREETING)
    client.process.send_signal(number)
    assert client.process.wait(60) == code
    assert client.end()[:2] == (b"", b"")


def test_a_client_that_goes_away_is_no_error(client: Client) -> None:
    client.ask("initialize", GREETING)
    assert client.process.stdout is not None
    client.process.stdout.close()
    client.send({"jsonrpc": "2.0", "id": 2, "method": "tools/list"})
    assert client.process.stdin is not None
    client.process.stdin.close()
    assert client.process.wait(60) == 0
    assert client.process.stderr is not None
    assert client.process.stderr.read() == b""


def test_a_workspace_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    out, err, code = Client("-w", tmp_path / "none").end()
    assert (out, code) == (b"", 1)
    assert err.startswith(b"commonplace: error: there is no folder")
    assert err.count(b"\n") == 1


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let agents erase without a person."""
    monkeypatch.setenv("COMMONPLACE_FORGET_BY_AGENTS", "allow")


def test_forgetting_takes_two_calls_and_the_code_of_the_first(
    alone: None, client: Client, workspace: Path
) -> None:
    note = workspace / "memory" / "2026-02-14.md"

    def tool(name: str, **arguments: str) -> Any:
        return client.ask("tools/call", {"name": name, "arguments": arguments})["result"]

    client.ask("initialize", GREETING, 0)
    corrected = tool("memory_correct", old="Lin signs it off.", new="Ada signs it off.", why="said so today")
    assert corrected["isError"] is False
    assert "~~Lin signs it off.~~" in (workspace / "memory" / "2026-02-13.md").read_text()
    preview = tool("memory_forget", what="Nothing but rain.")
    assert "rain" in note.read_text()
    assert tool("memory_forget", what="Nothing but rain.", confirm="yes")["isError"] is True
    code = preview["structuredContent"]["confirm"]
    assert tool("memory_forget", what="deploy", confirm=code)["isError"] is True
    assert "rain" in note.read_text()
    code = tool("memory_forget", what="Nothing but rain.")["structuredContent"]["confirm"]
    assert tool("memory_forget", what="Nothing but rain.", confirm=code)["isError"] is False
    assert "rain" not in note.read_text()
    assert tool("memory_forget", what="Nothing but rain.", confirm=code)["isError"] is True


def test_an_id_may_be_used_again_as_soon_as_it_is_answered(client: Client) -> None:
    client.ask("initialize", GREETING, 0)
    for _ in range(200):
        assert client.ask("tools/call", {"name": "memory_status", "arguments": {}}, 7)["id"] == 7
