"""The protocol over HTTP: one address for all clients, each request by itself; and the state of health.

Streamable HTTP of the Model Context Protocol. Nothing is kept between two requests, so there are no sessions
to end, and nothing is told unasked, so there is no stream to open: GET and DELETE are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
import time
from collections.abc import Callable, Mapping, Sequence

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace import __version__
from commonplace.servers import access, protocol
from commonplace.servers.access import Access
from commonplace.servers.methods import METHODS
from commonplace.servers.protocol import HANDSHAKE, MODERN, Connection, Refusal
from commonplace.servers.service import Service

ENDPOINT, HEALTH = "/mcp", "/health"
LARGEST = 4 << 20  # bytes of a body
_UNTOLD = HANDSHAKE[1]  # what a request speaks that does not say, by the specification
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ENCODED = re.compile(r"=\?base64\?(.*)\?=")
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

    `identity` is what `/health` tells, so that a server is known again; `record` is given a line a request,
    without anything that was asked or answered.
    """

    async def mcp(request: Request) -> Response:
        return await _serve(service, request)

    async def health(request: Request) -> Response:
        return JSONResponse(
            {"status": "ok", "name": "commonplace", "version": __version__, "id": identity},
            headers={"cache-control": "no-store"},
        )

    routes = [
        Route(ENDPOINT, mcp, methods=["POST"]),
        Route(HEALTH, health, methods=["GET"]),
        *more,
    ]
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
            denied = access.denied(
                self._allowed, _single(Headers(scope=scope)), open_to_all=scope["path"] == HEALTH
            )
            if denied is None:
                await self._app(scope, receive, noting)
            else:
                await _denial(denied)(scope, receive, noting)
        finally:
            took_ms = (time.perf_counter() - started) * 1000
            self._record(f"{scope['method']} {_place(scope)} {status} {took_ms:.0f} ms")


def _place(scope: Scope) -> str:
    """What was asked for, as far as it is a name of ours: anything else may be somebody's words."""
    path = scope["path"] if "route" in scope or scope["path"] in (ENDPOINT, HEALTH) else "-"
    return f"{path} {scope[_METHOD]}" if _METHOD in scope else path


def _single(headers: Headers) -> Mapping[str, str]:
    """Headers by name; one that must be alone and is not counts as nonsense."""
    found = dict(headers.items())
    doubled = [name for name in ("host", "origin", "authorization") if len(headers.getlist(name)) > 1]
    return {**found, **dict.fromkeys(doubled, "@")}


def _denial(denied: access.Denied) -> Response:
    bearer = {"www-authenticate": "Bearer"} if denied.status == 401 else {}
    return JSONResponse({"error": denied.reason}, denied.status, headers=bearer)


async def _serve(service: Service, request: Request) -> Response:
    """Answer one message of the protocol, or a batch."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":  # what a form of a foreign page can send is something else
        return JSONResponse({"error": "the content type must be application/json"}, 415)
    if not _accepts_json(request.headers.get("accept", "")):
        return JSONResponse({"error": "answers are application/json; accept it"}, 406)
    try:
        body = await _body(request)
    except ClientDisconnect:
        return Response(status_code=400)
    if body is None:
        return JSONResponse({"error": f"a body has {LARGEST:,} bytes at most"}, 413)
    status, answer = await run_in_threadpool(_answer, service, body, request)
    if answer is None:
        return Response(status_code=202)
    return Response(protocol.encode(answer), status, media_type="application/json")


def _accepts_json(header: str) -> bool:
    kinds = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    return bool(kinds & {"", "*/*", "application/*", "application/json"})


async def _body(request: Request) -> bytes | None:
    """The body of a request; None for one that is too large, which is not read to its end."""
    told = request.headers.get("content-length", "0")
    if not told.isdecimal() or int(told[:20]) > LARGEST:
        return None
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > LARGEST:
            return None
        parts.append(part)
    return b"".join(parts)


def _answer(service: Service, body: bytes, request: Request) -> tuple[int, object | None]:
    """The status and the answer to a body; no answer where nothing was asked."""
    message: object = None
    version = request.headers.get("mcp-protocol-version", "")
    try:
        message = protocol.decode(body)
        method = message.get("method") if isinstance(message, dict) else None
        if isinstance(method, str) and method in METHODS:
            request.scope[_METHOD] = method
        _check_headers(message, version, request.headers)
    except Refusal as refusal:
        return _STATUS[refusal.code], protocol.failure(protocol.id_of(message), refusal)
    connection = Connection(version if version in HANDSHAKE else _UNTOLD)
    answer = protocol.respond(message, connection, service, METHODS)
    return _status(answer, modern=version in MODERN), answer


def _status(answer: object, *, modern: bool) -> int:
    """The status of an answer: that of its error, where the revision says so or nothing could be asked."""
    if answer is None:
        return 202
    error = answer.get("error") if isinstance(answer, dict) else None
    code: int = error["code"] if error else 0
    return _STATUS.get(code, 200) if modern or code in (protocol.PARSE, protocol.INVALID) else 200


def _check_headers(message: object, version: str, headers: Mapping[str, str]) -> None:
    """Refuse a revision that is not spoken, and headers that say something else than the body."""
    if version and version not in (*HANDSHAKE, *MODERN):
        raise protocol.unsupported(version)
    if not isinstance(message, dict) or "id" not in message or message.get("method") == "initialize":
        return
    params = message.get("params")
    params = params if isinstance(params, dict) else {}
    meta = params.get("_meta")
    told = meta.get(protocol.VERSION_KEY) if isinstance(meta, dict) else None
    if told is not None:
        _check_same(message, params, told, version, headers)
    elif version in MODERN:
        raise Refusal(protocol.PARAMS, f"params._meta lacks {protocol.VERSION_KEY}")


def _check_same(
    message: Mapping[str, object],
    params: Mapping[str, object],
    told: object,
    version: str,
    headers: Mapping[str, str],
) -> None:
    """Refuse a request whose headers differ from what its body says."""
    if told != version:
        raise Refusal(protocol.HEADERS, "MCP-Protocol-Version and the body differ")
    if headers.get("mcp-method") != message.get("method"):
        raise Refusal(protocol.HEADERS, "Mcp-Method and the body differ")
    name = _NAMED.get(str(message.get("method")))
    wanted = params.get(name) if name else None
    if wanted is not None and _decoded(headers.get("mcp-name", "")) != wanted:
        raise Refusal(protocol.HEADERS, "Mcp-Name and the body differ")


def _decoded(value: str) -> str:
    """A header's value, which stands encoded where a header could not hold it."""
    found = _ENCODED.fullmatch(value)
    try:
        return base64.b64decode(found[1], validate=True).decode() if found else value
    except (binascii.Error, UnicodeDecodeError):
        return value
