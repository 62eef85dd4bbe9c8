"""The protocol over HTTP: one address for all clients, each request by itself; and the state of health.

Streamable HTTP of the Model Context Protocol. Nothing is kept between two requests, so there are no sessions
to end, and nothing is sent unasked, so there is no stream to open: GET and DELETE are refused. A client that
shows people questions is given the name of a session that says so; what it asks for and needs a yes is
answered by a stream of events, the question first.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace import __version__
from commonplace.servers import access, protocol
from commonplace.servers.access import Access
from commonplace.servers.methods import METHODS, Service, respond
from commonplace.servers.protocol import HANDSHAKE, MODERN, Connection, Questions, Refusal, mapping

if TYPE_CHECKING:
    from commonplace.agent.answers import Said

MOST_ASKING = 8  # questions to people that wait at once
SESSION = "mcp-session-id"
_ELICITS = "asks-a-person-"  # what the name of a session begins with whose client shows people questions
_LIVES_S = 15.0  # between two signs of life of a stream, so that no proxy ends it
ENDPOINT, HEALTH = "/mcp", "/health"
LARGEST = 4 << 20  # bytes of a body
_UNNAMED = HANDSHAKE[1]  # what a request speaks that does not say, by the specification
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ALONE = ("host", "origin", "authorization")  # headers of which a request has one at most
_METHOD = "commonplace.method"  # in the scope of a request: what was asked, for the record
_STATUS = {
    protocol.PARSE: 400, protocol.INVALID: 400, protocol.PARAMS: 400, protocol.HEADERS: 400,
    protocol.VERSION: 400, protocol.NO_METHOD: 404,
}  # fmt: skip
Record = Callable[[str], None]


def build(
    service: Service,
    allowed: Access,
    record: Record,
    *,
    identity: str = "",
    more: Sequence[BaseRoute] = (),
) -> Starlette:
    """Make the application: the protocol, the state of health, and what else is to be served beside them.

    `identity` is the id that `/health` returns; `record` is called with a line a request, which holds nothing
    that was asked or answered.
    """

    questions = Questions(MOST_ASKING)

    async def mcp(request: Request) -> Response:
        return await _serve(service, request, questions)

    async def health(request: Request) -> Response:
        return JSONResponse(
            {"status": "ok", "name": "commonplace", "version": __version__, "id": identity},
            headers={"cache-control": "no-store"},
        )

    routes = [Route(ENDPOINT, mcp, methods=["POST"]), Route(HEALTH, health, methods=["GET"]), *more]
    return Starlette(routes=routes, middleware=[Middleware(Guard, allowed=allowed, record=record)])


class Guard:
    """Stands before everything: lets in who may ask, and records who asked for what."""

    def __init__(self, app: ASGIApp, allowed: Access, record: Record) -> None:
        """Stand before an application."""
        self._app, self._allowed, self._record = app, allowed, record

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def noting(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            # A header that must be alone and is not counts as nonsense.
            headers = Headers(scope=scope)
            doubled = [name for name in _ALONE if len(headers.getlist(name)) > 1]
            single = {**dict(headers.items()), **dict.fromkeys(doubled, "@")}
            denied = access.denied(self._allowed, single, open_to_all=scope["path"] == HEALTH)
            if denied is None:
                await self._app(scope, receive, noting)
            else:
                bearer = {"www-authenticate": "Bearer"} if denied.status == 401 else {}
                answer = JSONResponse({"error": denied.reason}, denied.status, headers=bearer)
                await answer(scope, receive, noting)
        finally:
            took_ms = (time.perf_counter() - started) * 1000
            # Only names that this program defines are recorded: anything else may be somebody's words.
            path = scope["path"] if "route" in scope or scope["path"] in (ENDPOINT, HEALTH) else "-"
            method = f" {scope[_METHOD]}" if _METHOD in scope else ""
            self._record(f"{scope['method']} {path}{method} {status} {took_ms:.0f} ms")


async def _serve(service: Service, request: Request, questions: Questions) -> Response:
    """Answer one message of the protocol, or a batch."""
    headers = request.headers
    try:
        body = await _body(request)
    except _Unserved as error:
        return JSONResponse({"error": error.reason}, error.status)
    message: object = None
    version = headers.get("mcp-protocol-version", "")
    try:
        message = await run_in_threadpool(protocol.decode, body)
        method = str(mapping(message).get("method"))
        if method in METHODS:
            request.scope[_METHOD] = method
        _check_headers(message, version, headers)
    except Refusal as refusal:
        return _response(protocol.failure(protocol.id_of(message), refusal), _STATUS[refusal.code])
    if questions.hear(message):
        return Response(status_code=202)
    connection = Connection(version if version in HANDSHAKE else _UNNAMED)
    if _may_ask(message, headers):
        connection.elicits = True
        events = _events(service, message, connection, version, questions)
        return StreamingResponse(events, media_type="text/event-stream")
    answer = await run_in_threadpool(respond, message, connection, service)
    named = {SESSION: f"{_ELICITS}{secrets.token_hex(16)}"} if connection.elicits else {}
    # An error has a status of its own where the revision says so, or where nothing could be asked.
    code = mapping(answer, "error").get("code", 0)
    has_status = version in MODERN or code in (protocol.PARSE, protocol.INVALID)
    return _response(answer, _STATUS.get(code, 200) if has_status else 200, named)


def _response(answer: object, status: int, headers: Mapping[str, str] | None = None) -> Response:
    if answer is None:
        return Response(status_code=202)
    return Response(protocol.encode(answer), status, headers, media_type="application/json")


def _may_ask(message: object, headers: Mapping[str, str]) -> bool:
    """Whether a person may have to be asked before this is answered, and can be."""
    from commonplace.agent import tools

    named = headers.get(SESSION, "").startswith(_ELICITS)
    request = mapping(message) if named and "text/event-stream" in headers.get("accept", "") else {}
    if request.get("method") != "tools/call" or "id" not in request:
        return False
    tool = tools.find(str(mapping(request, "params").get("name")))
    return tool is not None and tool.asks is not None


async def _events(
    service: Service, message: object, connection: Connection, version: str, questions: Questions
) -> AsyncIterator[bytes]:
    """Yield the questions to a person and then the answer, as events; nothing is done once nobody listens."""
    loop, messages = asyncio.get_running_loop(), asyncio.Queue[object]()
    over = threading.Event()

    def send(event: object) -> None:
        loop.call_soon_threadsafe(messages.put_nowait, event)

    def ask(text: str, code: str) -> Said:
        answer = questions.ask(text, version, send, lambda: not over.is_set())
        return "cancel" if over.is_set() else answer

    def work() -> None:
        answer = respond(message, connection, service, ask)
        if not over.is_set():
            send(answer)

    # A thread of its own: a person takes longer than those of the pool are to be held.
    threading.Thread(target=work, name="commonplace-asking", daemon=True).start()
    try:
        while True:
            try:
                event = await asyncio.wait_for(messages.get(), _LIVES_S)
            except TimeoutError:
                yield b": waiting\n\n"
                continue
            yield b"event: message\ndata: " + protocol.encode(event) + b"\n\n"
            if not (isinstance(event, dict) and "method" in event):
                return
    finally:
        over.set()


class _Unserved(Exception):
    """A request that is not read: HTTP status and a line."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status, self.reason = status, reason


async def _body(request: Request) -> bytes:
    """The body of a request; one that is too large is not read to its end. Raises `_Unserved`."""
    headers = request.headers
    # What a form of a foreign page can send is of another type.
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise _Unserved(415, "the content type must be application/json")
    accepted = {part.partition(";")[0].strip().lower() for part in headers.get("accept", "").split(",")}
    if not accepted & {"", "*/*", "application/*", "application/json"}:
        raise _Unserved(406, "answers are application/json; accept it")
    length, body = headers.get("content-length", "0"), bytearray()
    large = not length.isdecimal() or int(length[:20]) > LARGEST
    try:
        if not large:
            async for part in request.stream():
                body += part
                if large := len(body) > LARGEST:
                    break
    except ClientDisconnect as error:
        raise _Unserved(400, "the client went away") from error
    if large:
        raise _Unserved(413, f"a body has {LARGEST:,} bytes at most")
    return bytes(body)


def _check_headers(message: object, version: str, headers: Mapping[str, str]) -> None:
    """Refuse a revision that is not spoken, and headers that say something else than the body."""
    if version and version not in (*HANDSHAKE, *MODERN):
        raise protocol.unsupported(version)
    request = mapping(message)
    method = request.get("method")
    if "id" not in request or method == "initialize":
        return
    params = mapping(request, "params")
    spoken = mapping(params, "_meta").get(protocol.VERSION_KEY)
    if spoken is None:
        if version in MODERN:
            raise Refusal(protocol.PARAMS, f"params._meta lacks {protocol.VERSION_KEY}")
        return
    name = params.get(_NAMED.get(str(method), ""))
    pairs = {
        "MCP-Protocol-Version": (version, spoken),
        "Mcp-Method": (headers.get("mcp-method"), method),
        "Mcp-Name": (None if name is None else _decoded(headers.get("mcp-name", "")), name),
    }
    for header, (in_header, in_body) in pairs.items():
        if in_header != in_body:
            raise Refusal(protocol.HEADERS, f"{header} and the body differ")


def _decoded(value: str) -> str:
    """A header's value; one that a header cannot hold as it is comes as `=?base64?…?=`."""
    inner = value.removeprefix("=?base64?").removesuffix("?=")
    try:
        return base64.b64decode(inner, validate=True).decode() if len(inner) + 11 == len(value) else value
    except (binascii.Error, UnicodeDecodeError):
        return value
