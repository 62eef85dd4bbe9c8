"""Standard input and output: what is slow holds up nothing else, and nothing that is sent ends the server."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import Memory
from commonplace.servers import protocol, stdio
from commonplace.servers.methods import Service
from tests.cli.test_program import HEAVY, imported
from tests.servers.conftest import Client

GREETING = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}


def asked(method: str, id: object, **params: object) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"


def answers(service: Service, sent: bytes) -> list[Any]:
    """Everything that is answered to what was sent, in the order it came."""
    sink = io.BytesIO()
    server = stdio.Server(service, sink)
    server.serve(io.BytesIO(sent))
    assert server.drain(60)
    warmed()
    return [json.loads(line) for line in sink.getvalue().splitlines()]


def warmed() -> None:
    """Wait for what a server loads beside its answers: it must not go on in another test."""
    for thread in threading.enumerate():
        if thread.name.startswith("commonplace-warm"):
            thread.join(60)


# --- in this process ------------------------------------------------------------------------------------


def test_every_request_is_answered_before_the_end(service: Service) -> None:
    sent = asked("initialize", 0, **GREETING) + b"".join(asked("tools/list", n) for n in range(1, 20))
    assert sorted(one["id"] for one in answers(service, sent)) == list(range(20))


def test_blank_lines_and_a_cut_last_one(service: Service) -> None:
    found = answers(service, b"\n  \n\r\n" + asked("ping", 1) + b'{"jsonrpc": "2.0", "id": 2, "meth')
    assert [(one["id"], one.get("error", {}).get("code")) for one in found] == [
        (1, None),
        (None, protocol.PARSE),
    ]
    assert answers(service, asked("ping", 3).rstrip())[0]["id"] == 3


@pytest.mark.parametrize("size", [stdio.LONGEST, stdio.LONGEST + 1, 3 * stdio.LONGEST])
def test_a_huge_line_is_refused_and_the_next_one_served(service: Service, size: int) -> None:
    found = answers(service, b'"' + b"x" * size + b'"\n' + asked("ping", 1))
    assert [one["id"] for one in found] == [None, 1]
    assert found[0]["error"]["code"] == protocol.INVALID


def test_a_batch_of_an_old_revision(service: Service) -> None:
    greeting = asked("initialize", 0, **{**GREETING, "protocolVersion": "2025-03-26"})
    batch = b"[" + asked("ping", 1).strip() + b"," + asked("tools/list", 2).strip() + b"]\n"
    found = answers(service, greeting + batch)
    assert [one["id"] for one in found[1]] == [1, 2]


@given(st.lists(st.binary(max_size=60) | st.sampled_from([asked("ping", 5), b"[]\n", b"{}\n"]), max_size=8))
def test_any_bytes_leave_it_alive(service: Service, parts: list[bytes]) -> None:
    found = answers(service, b"\n".join(parts) + b"\n" + asked("ping", "last"))
    assert {"jsonrpc": "2.0", "id": "last", "result": {}} in found


class Slow:
    """A memory that is opened when it is told to, and the streams of a client that waits for it."""

    def __init__(self, workspace: Path) -> None:
        self.opened = threading.Event()
        self.wanted = threading.Event()
        self.reads: IO[bytes]
        self.hears: IO[bytes]
        read, write = os.pipe()
        heard, said = os.pipe()
        self.tells, self.reads = os.fdopen(write, "wb", 0), os.fdopen(read, "rb")
        self.hears, self.says = os.fdopen(heard, "rb"), os.fdopen(said, "wb")

        def open_memory() -> Memory:
            self.wanted.set()
            assert self.opened.wait(60)
            return Memory.open(workspace)

        self.service = Service(open_memory, structured=True)
        self.server = stdio.Server(self.service, self.says)
        self.thread = threading.Thread(target=self.server.serve, args=(self.reads,))
        self.thread.start()

    def hear(self) -> Any:
        return json.loads(self.hears.readline())

    def end(self) -> None:
        self.opened.set()
        self.tells.close()
        self.thread.join(60)
        assert self.server.drain(60)
        warmed()
        self.service.close()
        for stream in (self.reads, self.hears, self.says):
            stream.close()


@pytest.fixture
def slow(workspace: Path) -> Iterator[Slow]:
    made = Slow(workspace)
    yield made
    made.end()


def search(id: object, query: str = "deploy") -> bytes:
    return asked("tools/call", id, name="memory_search", arguments={"query": query})


def test_a_slow_search_does_not_hold_up_a_ping(slow: Slow) -> None:
    slow.tells.write(search(1) + asked("ping", 2) + asked("initialize", 3, **GREETING))
    assert [slow.hear()["id"], slow.hear()["id"]] == [2, 3]
    slow.opened.set()
    assert slow.hear()["result"]["structuredContent"]["hits"]


def test_what_was_cancelled_is_not_answered(slow: Slow) -> None:
    slow.tells.write(search(1) + search("1") + search(2))
    assert slow.wanted.wait(60)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    slow.tells.write(json.dumps(cancel).encode() + b"\n" + asked("ping", "now"))
    assert slow.hear()["id"] == "now"
    slow.opened.set()
    assert {slow.hear()["id"], slow.hear()["id"]} == {"1", 2}


def test_more_than_anybody_waits_for_is_refused(slow: Slow) -> None:
    sent = [asked("tools/call", n, name="memory_get", arguments={"path": "no.md"}) for n in range(300)]
    slow.tells.write(b"".join(sent) + asked("ping", "end"))
    refused = []
    while (one := slow.hear())["id"] != "end":
        refused.append(one)
    assert [one["id"] for one in refused] == list(range(stdio.MOST_WAITING, 300))
    assert {one["error"]["message"] for one in refused} == {"too many messages at once"}
    slow.opened.set()
    assert sorted(slow.hear()["id"] for _ in range(stdio.MOST_WAITING)) == list(range(stdio.MOST_WAITING))


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


def test_the_answer_to_a_handshake_needs_nothing_heavy(workspace: Path) -> None:
    modules = imported(workspace, "mcp")  # whose input is at its end already
    assert "commonplace.servers.stdio" in modules
    assert not modules.intersection([*HEAVY, "click", "commonplace.memory", "commonplace.agent.tools", "inspect",
                                     "asyncio", "uvicorn", "starlette", "logging"])  # fmt: skip


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
