"""A person asked in the midst of a request: what counts as a yes, and what ends the waiting."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any

from commonplace.servers import protocol
from commonplace.servers.protocol import Questions
from tests.servers.conftest import Client, Served
from tests.servers.test_http import JSON
from tests.servers.test_http import request as post

GREETING = {
    "protocolVersion": "2025-11-25",
    "capabilities": {"elicitation": {}},
    "clientInfo": {"name": "person", "version": "1"},
}
FORGET = {"name": "memory_forget", "arguments": {"what": "Lin signs it off."}}
NOTE = "memory/2026-02-13.md"


def test_who_can_be_asked() -> None:
    for capabilities, asks in [
        ({"elicitation": {}}, True),
        ({"elicitation": {"form": {}}}, True),
        ({"elicitation": {"form": {}, "url": {}}}, True),
        ({"elicitation": {"url": {}}}, False),
        ({"elicitation": True}, False),
        ({}, False),
        (None, False),
        ("elicitation", False),
    ]:
        assert protocol.elicits(capabilities) is asks


def test_nothing_but_accept_is_a_yes() -> None:
    for answer in [{}, {"action": "yes"}, {"action": ["accept"]}, {"accept": True}, "accept", None]:
        assert protocol.said(answer) == "cancel"


def asked(client: Client) -> dict[str, Any]:
    client.ask("initialize", GREETING, 0)
    client.send({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": FORGET})
    question: dict[str, Any] = client.hear()
    assert question["method"] == "elicitation/create"
    assert "Lin signs it off." in question["params"]["message"]
    assert question["params"]["requestedSchema"] == {"type": "object", "properties": {}}
    return question


def test_what_is_no_yes_erases_nothing(client: Client, workspace: Path) -> None:
    for answer in [
        {"error": {"code": -1, "message": "no window"}},
        {"result": {"action": "Accept"}},
        {"result": None},
        {"result": {"action": "decline"}},
    ]:
        question = asked(client)
        client.send({"jsonrpc": "2.0", "id": question["id"], **answer})
        assert client.hear()["result"]["isError"] is True, answer
        assert "Lin" in (workspace / NOTE).read_text(), answer


def test_answers_to_nothing_that_was_asked_are_none(client: Client, workspace: Path) -> None:
    question = asked(client)
    yes = {"action": "accept"}
    for forged in (1, 2, "commonplace-", question["id"][:-1], [question["id"]]):
        client.send({"jsonrpc": "2.0", "id": forged, "result": yes})
    assert client.ask("ping", id=9)["id"] == 9  # others are answered meanwhile
    assert client.ask("tools/call", {"name": "memory_status", "arguments": {}}, 10)["id"] == 10
    assert "Lin" in (workspace / NOTE).read_text()
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": yes})
    assert client.hear()["result"]["isError"] is False
    assert "Lin" not in (workspace / NOTE).read_text()


def test_a_yes_after_the_call_was_cancelled_erases_nothing(client: Client, workspace: Path) -> None:
    question = asked(client)
    cancelled = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    client.send(cancelled, {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    assert client.ask("ping", id=9)["id"] == 9
    client.end()
    assert "Lin" in (workspace / NOTE).read_text()


def test_a_client_that_goes_away_erases_nothing(client: Client, workspace: Path) -> None:
    asked(client)
    assert client.end()[2] == 0  # it does not wait for a person who is gone
    assert "Lin" in (workspace / NOTE).read_text()


def test_notes_that_change_while_a_person_reads_are_not_erased(client: Client, workspace: Path) -> None:
    question = asked(client)
    (workspace / "memory" / "2026-02-15.md").write_text("- Lin signs it off.\n")
    client.send({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}})
    told = client.hear()["result"]
    assert told["isError"] is True
    assert "changed since the preview" in told["content"][0]["text"]
    assert "Lin" in (workspace / NOTE).read_text()


def test_only_so_many_wait_at_once() -> None:
    questions, sent, over = Questions(1), threading.Event(), threading.Event()
    first = threading.Thread(
        target=lambda: questions.ask("a", "2025-11-25", lambda _: sent.set(), lambda: not over.is_set())
    )
    first.start()
    assert sent.wait(10)
    assert questions.ask("b", "2025-11-25", lambda _: None, lambda: True) == "cancel"
    over.set()
    first.join(10)
    assert not first.is_alive()


# --- over HTTP ------------------------------------------------------------------------------------------


def greeted(server: Served, **capabilities: object) -> str:
    params = {**GREETING, "capabilities": capabilities}
    _, _, headers = post(server, body={"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params})
    return headers.get("mcp-session-id", "")


def streaming(server: Served, session: str) -> tuple[HTTPConnection, HTTPResponse, dict[str, Any]]:
    """Ask for something that needs a yes; return the stream, and the question in it."""
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": FORGET})
    headers = {**JSON, "mcp-session-id": session, "mcp-protocol-version": "2025-11-25"}
    connection.request("POST", "/mcp", body, headers)
    answer = connection.getresponse()
    assert answer.getheader("content-type", "").startswith("text/event-stream")
    return connection, answer, event(answer)


def event(answer: HTTPResponse) -> dict[str, Any]:
    while not (line := answer.readline()).startswith(b"data: "):
        assert line
    found: dict[str, Any] = json.loads(line[6:])
    return found


def test_a_session_says_whether_its_client_shows_questions(serve: Callable[..., Served]) -> None:
    server = serve()
    for capabilities in ({}, {"elicitation": {"url": {}}}):
        assert greeted(server, **capabilities).startswith("asks-nobody-")
    assert greeted(server, elicitation={}).startswith("asks-a-person-")
    assert greeted(server, elicitation={}) != greeted(server, elicitation={})


def test_without_a_stream_the_owner_is_left_to_approve(serve: Callable[..., Served], workspace: Path) -> None:
    server = serve()
    for headers in [{"Accept": "application/json"}, {"mcp_session_id": "made-up"}]:
        session = {"mcp_session_id": greeted(server, elicitation={}), "mcp_protocol_version": "2025-11-25"}
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": FORGET}
        status, answer, _ = post(server, body=call, **{**session, **headers})
        assert status == 200, headers
        assert answer["result"]["structuredContent"]["approve"], headers
        assert "Lin" in (workspace / NOTE).read_text(), headers


def test_a_yes_comes_by_a_request_of_its_own(serve: Callable[..., Served], workspace: Path) -> None:
    server = serve()
    session = greeted(server, elicitation={})
    connection, stream, question = streaming(server, session)
    yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
    forged = {**yes, "id": "commonplace-1"}
    for message in (forged, yes):
        status, _, _ = post(server, body=message, mcp_session_id=session, mcp_protocol_version="2025-11-25")
        assert status == 202
    assert event(stream)["result"]["isError"] is False
    connection.close()
    assert "Lin" not in (workspace / NOTE).read_text()


def test_a_stream_that_nobody_listens_to_erases_nothing(
    serve: Callable[..., Served], workspace: Path
) -> None:
    server = serve()
    connection, stream, question = streaming(server, greeted(server, elicitation={}))
    stream.close()
    connection.close()
    time.sleep(1.0)
    yes = {"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept"}}
    post(server, body=yes, mcp_protocol_version="2025-11-25")
    time.sleep(0.5)
    assert "Lin" in (workspace / NOTE).read_text()
