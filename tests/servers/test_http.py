"""The protocol over real sockets on loopback: who is let in, what is refused, what is recorded."""

from __future__ import annotations

import json
import socket
from base64 import b64encode
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from commonplace.config.credentials import Secret
from commonplace.servers import guard, http, protocol
from commonplace.servers.access import Access
from commonplace.servers.methods import Service
from tests.servers.conftest import Served
from tests.servers.test_protocol import MODERN, asked

Serve = Callable[..., Served]
TOKEN = Secret("correct-horse-battery")
JSON = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}


def request(
    server: Served, method: str = "POST", path: str = "/mcp", body: object = None, **headers: str | None
) -> tuple[int, Any, dict[str, str]]:
    """Ask, with the headers of a client and those given, `_` for `-`; None leaves one out."""
    told: dict[str, str | None] = {
        **JSON,
        **{name.replace("_", "-"): value for name, value in headers.items()},
    }
    connection = HTTPConnection("127.0.0.1", server.port, timeout=30)
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    connection.putrequest(method, path, skip_host="Host" in told, skip_accept_encoding=True)
    if data is not None and "Content-Length" not in told:
        told["Content-Length"] = str(len(data))
    for name, value in told.items():
        if value is not None:
            connection.putheader(name, value)
    connection.endheaders(data)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    shown = {name.lower(): value for name, value in answer.getheaders()}
    return answer.status, json.loads(text) if text.startswith((b"{", b"[")) else text, shown


# --- answers --------------------------------------------------------------------------------------------


def test_each_request_stands_by_itself(serve: Serve) -> None:
    server = serve()
    greeting = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "t", "version": "1"},
    }
    status, answer, headers = request(server, body=asked("initialize", greeting))
    assert (status, answer["result"]["protocolVersion"]) == (200, "2025-06-18")
    assert headers["content-type"] == "application/json"
    assert headers["mcp-session-id"].startswith("asks-nobody-")  # by which it may cancel
    initialized = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert request(server, body=initialized)[:2] == (202, b"")
    call = asked("tools/call", {"name": "memory_search", "arguments": {"query": "周五"}}, "x")
    status, answer, _ = request(server, body=call, MCP_Protocol_Version="2025-06-18")
    assert (status, answer["id"]) == (200, "x")
    assert "周五下午不部署" in answer["result"]["content"][0]["text"]


def test_a_client_is_noted_by_the_name_it_gave(serve: Serve, workspace: Path) -> None:
    server = serve()
    for name, noted in [
        ("claude-code", "; agent: claude-code"),
        ("a<!--b", "; agent: a-b"),
        ("owner", ""),
        ("", ""),
    ]:
        greeting = {"protocolVersion": "2025-06-18", "clientInfo": {"name": name}}
        session = request(server, body=asked("initialize", greeting))[2]["mcp-session-id"]
        call = asked("tools/call", {"name": "memory_write", "arguments": {"text": f"Noted of {len(name)}."}})
        assert request(server, body=call, mcp_session_id=session)[0] == 200
        notes = "".join(path.read_text() for path in (workspace / "memory").iterdir())
        assert f"Noted of {len(name)}. <!-- by: agent{noted}; at: " in notes


def test_the_newest_revision_says_it_in_headers_as_well(serve: Serve) -> None:
    server = serve()
    told = {"MCP_Protocol_Version": "2026-07-28"}
    listed = asked("tools/list", {"_meta": MODERN})
    status, answer, _ = request(server, body=listed, **told, Mcp_Method="tools/list")
    assert (status, answer["result"]["resultType"]) == (200, "complete")
    read = asked("resources/read", {"uri": "commonplace://memory/MEMORY.md", "_meta": MODERN})
    name = f"=?base64?{b64encode(read['params']['uri'].encode()).decode()}?="
    assert request(server, body=read, **told, Mcp_Method="resources/read", Mcp_Name=name)[0] == 200
    for headers in [
        {**told, "Mcp_Method": "tools/call"},
        {**told},
        {"Mcp_Method": "tools/list"},
        {"MCP_Protocol_Version": "2025-11-25", "Mcp_Method": "tools/list"},
    ]:
        status, answer, _ = request(server, body=listed, **headers)
        assert (status, answer["error"]["code"], answer["id"]) == (400, protocol.HEADERS, 1)
    wrong = request(server, body=read, **told, Mcp_Method="resources/read", Mcp_Name="commonplace://x")
    assert (wrong[0], wrong[1]["error"]["code"]) == (400, protocol.HEADERS)
    bare = request(server, body=asked("tools/list"), **told, Mcp_Method="tools/list")
    assert (bare[0], bare[1]["error"]["code"]) == (400, protocol.PARAMS)
    gone = request(server, body=asked("ping", {"_meta": MODERN}), **told, Mcp_Method="ping")
    assert (gone[0], gone[1]["error"]["code"]) == (404, protocol.NO_METHOD)


def test_an_unknown_revision_is_refused_with_those_that_are_spoken(serve: Serve) -> None:
    status, answer, _ = request(serve(), body=asked("tools/list"), MCP_Protocol_Version="2031-01-01")
    assert (status, answer["error"]["code"]) == (400, protocol.VERSION)
    assert answer["error"]["data"] == {"supported": ["2026-07-28"], "requested": "2031-01-01"}


def test_what_is_no_message_is_refused(serve: Serve) -> None:
    server = serve()
    for body in [b"", b"{", b"\xff\xfe", b"[" * 50_000, b"NaN", b"7", b'"x"']:
        status, answer, _ = request(server, body=body)
        assert (status, answer["id"]) == (400, None), body
        assert answer["error"]["code"] in (protocol.PARSE, protocol.INVALID), body


def test_faults_in_arguments_are_answers(serve: Serve) -> None:
    server = serve()
    call = asked("tools/call", {"name": "memory_search", "arguments": {"query": "x", "collections": ["no"]}})
    status, answer, _ = request(server, body=call)
    assert (status, answer["result"]["isError"]) == (200, True)
    assert "unknown collection 'no'; known: memory" in answer["result"]["content"][0]["text"]
    status, answer, _ = request(server, body=asked("tools/call", {"name": "no"}))
    assert (status, answer["error"]["code"]) == (200, protocol.PARAMS)


def test_there_is_nothing_but_asking(serve: Serve) -> None:
    server = serve()
    for method in ["GET", "DELETE", "PUT", "OPTIONS", "HEAD"]:
        status, _, headers = request(server, method)
        assert (status, headers["allow"]) == (405, "POST"), method


def test_content_types(serve: Serve) -> None:
    server = serve()
    for headers, expected in [
        ({"Content_Type": "text/plain"}, 415), ({"Content_Type": "application/x-www-form-urlencoded"}, 415),
        ({"Content_Type": None}, 415), ({"Content_Type": "application/json; charset=utf-8"}, 200),
        ({"Accept": "text/html"}, 406), ({"Accept": "text/event-stream"}, 406), ({"Accept": "*/*"}, 200),
        ({"Accept": None}, 200), ({"Accept": "application/json;q=0.5"}, 200),
    ]:  # fmt: skip
        assert request(server, body=asked("ping"), **headers)[0] == expected


def test_a_body_that_is_too_large_is_not_read(serve: Serve) -> None:
    server = serve()
    assert request(server, body=b"{}", Content_Length=str(guard.LARGEST + 1))[0] == 413
    with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
        head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        raw.sendall(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        piece = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
        raw.sendall(piece * (guard.LARGEST // 0x10000 + 1))
        assert raw.recv(100).startswith(b"HTTP/1.1 413 ")


def test_a_cut_request_leaves_the_server_alive(serve: Serve) -> None:
    server = serve()
    for sent in (b"POST /mcp HT", b"nonsense\r\n\r\n", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                 b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{"):  # fmt: skip
        with socket.create_connection(("127.0.0.1", server.port), 30) as raw:
            raw.sendall(sent)
    assert request(server, body=asked("ping"))[0] == 200


# --- who is let in --------------------------------------------------------------------------------------


def test_rebound_names_and_foreign_pages_are_refused(serve: Serve) -> None:
    server = serve()
    for path in ["/mcp", "/health", "/none"]:
        method = "GET" if path == "/health" else "POST"
        assert request(server, method, path, asked("ping"), Host="evil.example")[0] == 421
        # A body might meet a closed connection.
        assert request(server, method, path, Host=None)[0] in (400, 421)
        assert request(server, method, path, asked("ping"), Origin="https://evil.example")[0] == 403
        assert request(server, method, path, asked("ping"), Origin="null")[0] == 403


def test_headers_that_two_programs_read_differently_are_refused(serve: Serve) -> None:
    port = serve().port
    for headers in [
        "Host: localhost\r\nHost: evil.example", "Host: localhost\r\nHost: localhost", "Host:",
        "Host: localhost/evil", "Host: [::1].evil", "Host: 127.0.0.1@evil", "Host: localhost.",
        "Host: localhost\r\nOrigin: http://localhost\r\nOrigin: http://evil.example",
        "Host: localhost\r\nOrigin:", "Host: evil.example\r\nX-Forwarded-Host: localhost",
    ]:  # fmt: skip
        with socket.create_connection(("127.0.0.1", port), 30) as raw:
            raw.sendall(f"GET /health HTTP/1.1\r\n{headers}\r\n\r\n".encode())
            assert raw.recv(100).split()[1] in (b"400", b"403", b"421"), headers


def test_pages_of_this_machine_may_ask(serve: Serve) -> None:
    assert request(serve(), body=asked("ping"), Origin="http://localhost:3000")[0] == 200


def test_a_token_is_needed_where_there_is_one(serve: Serve) -> None:
    server = serve(Access(TOKEN))
    status, _, headers = request(server, body=asked("ping"))
    assert (status, headers["www-authenticate"]) == (401, "Bearer")
    status, told, headers = request(server, body=asked("ping"), Authorization="Bearer wrong-horse-battery")
    assert (status, headers["www-authenticate"]) == (401, 'Bearer error="invalid_token"')
    assert told["error"].startswith("the token is wrong")
    assert "horse" not in told["error"]
    assert request(server, body=asked("ping"), Authorization=f"Bearer {TOKEN.reveal()}")[0] == 200
    status, told, _ = request(server, "GET", "/health")
    assert (status, told["id"], sorted(told)) == (200, "abc", ["id", "name", "status", "version"])


def test_neither_words_nor_tokens_are_recorded(serve: Serve) -> None:
    server = serve(Access(TOKEN))
    call = asked("tools/call", {"name": "memory_search", "arguments": {"query": "my zeppelin"}})
    bearer = f"Bearer {TOKEN.reveal()}"
    request(server, path="/mcp?q=zeppelin", body=call, Authorization=bearer)
    request(server, path="/zeppelin", body=call, Authorization=bearer)
    request(server, body=asked("zeppelin"), Authorization=bearer, Mcp_Method="zeppelin")
    request(server, body=asked("ping"), Authorization="Bearer zeppelin-zeppelin")
    assert server.recorded("POST /mcp 401")
    assert server.recorded("POST /mcp tools/call 200")
    assert server.recorded("POST - 404")
    assert not any("zeppelin" in line or TOKEN.reveal() in line for line in server.lines)


def test_further_routes_stand_behind_the_same_guard(service: Service, workspace: Path) -> None:
    async def page(request: Request) -> Response:
        return PlainTextResponse("page")

    app = http.build(service, Access(), print, more=[Route("/page", page)])
    assert [getattr(route, "path", "") for route in app.routes] == ["/mcp", "/health", "/page"]
