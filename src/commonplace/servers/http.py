"""The application of a server: the protocol at one address for all clients, and the state of health.

Streamable HTTP of the Model Context Protocol. No state is kept between two requests, so there are no sessions
to end, and the server sends no message unasked, so there is no stream to open: GET and DELETE are refused. A
client gets the name of a session, by which it may cancel its requests, and which holds the client's name and
whether it shows people questions. A request that needs a confirmation is answered by a stream of events, the
question first; so is one with progress. A client that goes away has cancelled its requests.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import secrets
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import BaseRoute, Route

from commonplace import __version__
from commonplace.base.errors import CommonplaceError
from commonplace.servers import progress, protocol
from commonplace.servers.access import Access
from commonplace.servers.api import errors
from commonplace.servers.guard import (
    ENDPOINT,
    HEALTH,
    LOCAL,
    METHOD,
    PLACE,
    Record,
    RequestGuard,
    read_body,
)
from commonplace.servers.methods import LANE, METHODS, QUICK, WRITES, Service, is_entry, is_heavy, respond
from commonplace.servers.protocol import HANDSHAKE, MODERN, Connection, Exchange, Questions, Refusal, mapping

if TYPE_CHECKING:
    from commonplace.agent.answers import Said
    from commonplace.servers.programs import Services
    from commonplace.servers.visitors import Visitors

MOST_ASKING = 8  # questions to people that wait at once
LIGHT = 8  # requests that are answered outside the limit of the heavy ones
SESSION = "mcp-session-id"
# The prefix of a session's name: whether its client shows people questions. The name ends in the client's.
_ELICITS, _ASKS_NOBODY = "asks-a-person-", "asks-nobody-"
_AT_ONCE = (*QUICK, "tools/list", "prompts/list", "resources/templates/list")  # parts of the program
_SMALL = 1 << 16  # bytes of a body that is read at once
LIVES_S = 15.0  # between two signs of life of a stream, so that no proxy ends it
_UNNAMED = HANDSHAKE[0]  # what a request speaks that does not say
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_STATUS = {
    protocol.PARSE: 400, protocol.INVALID: 400, protocol.PARAMS: 400, protocol.HEADERS: 400,
    protocol.VERSION: 400, protocol.NO_METHOD: 404,
}  # fmt: skip
Apart = Callable[[str, str], Service]


def build(
    service: Service | None,
    allowed: Access,
    record: Record,
    *,
    identity: str = "",
    apart: Apart | None = None,
    programs: Services | None = None,
    more: Sequence[BaseRoute] = (),
    visitors: Visitors | None = None,
    open_to_all: Iterable[str] = (),
) -> Starlette:
    """Make the application: the protocol, the state of health, and the routes of `more`.

    `identity` is the id that `/health` returns; `record` is called with a line a request, without the words
    of request and answer. Clients over the network ask `service`, or that which `apart` returns by the kind
    and the name in a header, an agent or a workspace; it raises CommonplaceError if that is not served.
    `programs` are the services for programs of the user, over a Unix socket. `visitors` are browsers that are
    let in below `/api` without the token; paths that are `open_to_all` need no credentials.
    """
    endpoints: dict[Service, _Endpoint] = {}

    def service_of(request: Request) -> Service | None:
        """Return the service that a request is for. Raises CommonplaceError, ValueError."""
        if request.scope.get(LOCAL) and programs is not None:
            return programs.of_program(request.headers)
        if PLACE not in request.scope:
            return service
        _, kind, name = request.scope[PLACE].split("/")
        return apart(kind, name) if apart is not None else None

    async def mcp(request: Request) -> Response:
        found = service
        if LOCAL in request.scope or PLACE in request.scope:
            try:
                found = await anyio.to_thread.run_sync(service_of, request)
            except (CommonplaceError, ValueError):  # its text may not be for clients
                found = None
        if found is None:
            return JSONResponse({"error": "nothing of this name is served"}, 404)
        return await _serve(endpoints.setdefault(found, _Endpoint(found)), request)

    async def health(request: Request) -> Response:
        return JSONResponse(
            {"status": "ok", "name": "commonplace", "version": __version__, "id": identity},
            headers={"cache-control": "no-store"},
        )

    routes = [Route(ENDPOINT, mcp, methods=["POST"]), Route(HEALTH, health, methods=["GET"]), *more]
    known = frozenset({HEALTH, *open_to_all})
    guard = Middleware(RequestGuard, allowed=allowed, record=record, visitors=visitors, open_to_all=known)
    handlers = {HTTPException: errors.handle, errors.Refused: errors.handle}
    application = Starlette(routes=routes, middleware=[guard], exception_handlers=handlers)
    application.router.redirect_slashes = False  # an address is served to the letter
    return application


class PendingAnswer:
    """A request in progress, and whether its answer is still wanted."""

    __slots__ = ("wanted",)

    def __init__(self) -> None:
        self.wanted = True


class _Endpoint:
    """One service, what its clients have asked for, and the threads that answer it."""

    def __init__(self, service: Service) -> None:
        self.service, self.questions = service, Questions(MOST_ASKING)
        self.heavy, self.light = anyio.CapacityLimiter(LANE), anyio.CapacityLimiter(LIGHT)
        self._entries = anyio.CapacityLimiter(WRITES)
        self._jobs: dict[tuple[str, type, object], PendingAnswer] = {}

    @contextmanager
    def job(self, message: object, headers: Mapping[str, str]) -> Iterator[PendingAnswer]:
        """A request while it is answered; however that ends, its answer is not wanted any more."""
        job, session, id_ = PendingAnswer(), headers.get(SESSION, ""), protocol.id_of(message)
        key = (session, type(id_), id_)  # 1 and "1" are two
        if session and id_ is not None:
            self._jobs[key] = job
        try:
            yield job
        finally:
            job.wanted = False
            if self._jobs.get(key) is job:
                del self._jobs[key]

    def cancel(self, message: object, headers: Mapping[str, str]) -> None:
        """Cancel what a notification of the same session names."""
        id_ = protocol.id_of({"id": mapping(message, "params").get("requestId")})
        if job := self._jobs.get((headers.get(SESSION, ""), type(id_), id_)):
            job.wanted = False

    async def answer(self, message: object, connection: Connection, job: PendingAnswer) -> object | None:
        """Answer a message within the limit of its kind."""
        if mapping(message).get("method") in _AT_ONCE:
            return respond(message, connection, self.service)
        limiter = self.heavy if is_heavy(message) else self.light
        return await anyio.to_thread.run_sync(
            respond, message, connection, self.service, Exchange(wanted=lambda: job.wanted),
            limiter=self._entries if is_entry(message) else limiter,
        )  # fmt: skip


async def _serve(endpoint: _Endpoint, request: Request) -> Response:
    """Answer one message of the protocol."""
    headers = request.headers
    body = await read_body(request)
    message: object = None
    version = headers.get("mcp-protocol-version", "")
    try:
        message = protocol.decode(body) if len(body) < _SMALL else await _in_thread(protocol.decode, body)
        method = str(mapping(message).get("method"))
        if method in METHODS:
            request.scope[METHOD] = method
        if LOCAL not in request.scope:  # `mcp` passes on what a client said to it
            _check_headers(message, version, headers)
    except Refusal as refusal:
        return _response(protocol.failure(protocol.id_of(message), refusal), _STATUS[refusal.code])
    if endpoint.questions.hear(message):
        return Response(status_code=202)
    if mapping(message).get("method") == "initialize":
        endpoint.service.warm_soon()
    if mapping(message).get("method") == "notifications/cancelled":
        endpoint.cancel(message, headers)
    client = protocol.client_name({"name": headers.get(SESSION, "").partition(".")[2]})
    connection = Connection(version if version in HANDSHAKE else _UNNAMED, client)
    may_ask = _may_ask(message, headers)
    if may_ask or _is_followed(message, headers):
        connection.elicits = may_ask
        events = _events(endpoint, message, connection, version, headers)
        return StreamingResponse(events, media_type="text/event-stream")
    with endpoint.job(message, headers) as job:
        answer = await while_connected(endpoint.answer(message, connection, job), request, is_heavy(message))
    named: dict[str, str] = {}
    if mapping(message).get("method") == "initialize":
        kind = _ELICITS if connection.elicits else _ASKS_NOBODY
        named = {SESSION: f"{kind}{secrets.token_hex(16)}.{connection.client}"}
    # An error has its own status if the revision says so, or if the request could not be read.
    code = mapping(answer, "error").get("code", 0)
    has_status = version in MODERN or code in (protocol.PARSE, protocol.INVALID)
    return _response(answer, _STATUS.get(code, 200) if has_status else 200, named)


def _response(answer: object, status: int, headers: Mapping[str, str] | None = None) -> Response:
    if answer is None:
        return Response(status_code=202)
    return Response(protocol.encode(answer), status, headers, media_type="application/json")


def _may_ask(message: object, headers: Mapping[str, str]) -> bool:
    """Return True if a request may need a person's confirmation, and its client can ask for it."""
    from commonplace.agent import tools

    named = headers.get(SESSION, "").startswith(_ELICITS)
    request = mapping(message) if named and "text/event-stream" in headers.get("accept", "") else {}
    if request.get("method") != "tools/call" or "id" not in request:
        return False
    tool = tools.find(str(mapping(request, "params").get("name")))
    return tool is not None and tool.asks is not None


def _is_followed(message: object, headers: Mapping[str, str]) -> bool:
    """Return True if a client wants progress of a slow request, and can receive it."""
    if "text/event-stream" not in headers.get("accept", "") or not isinstance(message, dict):
        return False
    has_token = progress.token(message.get("params")) is not None
    return has_token and is_heavy(message) and protocol.id_of(message) is not None


async def while_connected(
    answering: Coroutine[object, object, object], request: Request, is_long: bool
) -> object | None:
    """Wait for an answer as long as the client is there to take it; what is short is not watched."""
    if not is_long:
        return await answering
    answer, gone = asyncio.ensure_future(answering), asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
        return answer.result() if answer.done() else None
    finally:
        gone.cancel()
        answer.add_done_callback(_forget)


async def _gone(request: Request) -> None:
    """Wait until a client has gone away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


def _forget(answer: asyncio.Future[Any]) -> None:
    """Retrieve the error of an abandoned answer."""
    if not answer.cancelled():
        answer.exception()


async def _in_thread(work: Callable[[bytes], object], data: bytes) -> object:
    return await anyio.to_thread.run_sync(work, data)


async def _events(
    endpoint: _Endpoint, message: object, connection: Connection, version: str, headers: Mapping[str, str]
) -> AsyncIterator[bytes]:
    """Yield questions to a person, progress and then the answer; do no work once the client is gone."""
    loop, messages = asyncio.get_running_loop(), asyncio.Queue[object]()

    def send(event: object) -> None:
        loop.call_soon_threadsafe(messages.put_nowait, event)

    with endpoint.job(message, headers) as job:

        def ask(text: str, code: str) -> Said:
            answer = endpoint.questions.ask(text, version, send, lambda: job.wanted)
            return answer if job.wanted else "cancel"

        exchange = Exchange(ask, send, lambda: job.wanted)

        def work() -> None:
            answer = respond(message, connection, endpoint.service, exchange)
            with suppress(RuntimeError):  # the loop has ended meanwhile
                send(answer)

        if connection.elicits:  # a person takes longer than the limited threads are to be held
            threading.Thread(target=work, name="commonplace-asking", daemon=True).start()
        else:
            working = asyncio.ensure_future(anyio.to_thread.run_sync(work, limiter=endpoint.heavy))
            working.add_done_callback(_forget)
        while True:
            try:
                event = await asyncio.wait_for(messages.get(), LIVES_S)
            except TimeoutError:
                yield b": waiting\n\n"
                continue
            yield b"event: message\ndata: " + protocol.encode(event) + b"\n\n"
            if not (isinstance(event, dict) and "method" in event):
                return


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
