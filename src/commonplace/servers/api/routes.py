"""The routes of `/api`: each request is checked against its row of the table, and answered in a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from itertools import chain
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from commonplace.actions import table
from commonplace.agent.tools import Confirmations
from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import Message, message
from commonplace.providers.llm import schemas
from commonplace.servers import guard, http, workers
from commonplace.servers.api import (
    changes,
    clients,
    collections,
    consolidation,
    document,
    errors,
    notes,
    questions,
    schema,
    transfers,
)
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Call, Examine, Operation, Reply, pair
from commonplace.servers.api.schema import Schema, record
from commonplace.servers.methods import LANE, WRITES, Service
from commonplace.servers.protocol import Connection, Refusal, decode, encode, mapping
from commonplace.types.data import to_data
from commonplace.types.progress import Cancelled, check, listening, silent

if TYPE_CHECKING:
    from commonplace.servers.workers import Workers

OPERATIONS: Sequence[Operation] = (
    *questions.OPERATIONS, *notes.OPERATIONS, *changes.OPERATIONS, *consolidation.OPERATIONS,
    *collections.OPERATIONS, *clients.OPERATIONS, *transfers.OPERATIONS,
)  # fmt: skip
DOCUMENT = "/api/openapi.json"
_NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_FLAGS = {"true": True, "false": False}


def operations() -> list[Operation]:
    """Return all rows: those of this package, and two for each action."""
    shown = (pair(one) for one in table.every() if "http" in one.doors)
    return [*OPERATIONS, *chain.from_iterable(shown)]


def build(
    service: Service,
    *,
    beside: Workers | None = None,
    examine: Examine = lambda online: (),
    more: Sequence[Resource] = (),
) -> list[BaseRoute]:
    """Make the routes below `/api` for a memory; `examine` is that of `Call`, `more` are further resources.

    Each write is settled before its answer, so that the workers of `beside` find it.
    """
    door = _Door(service, beside, examine)
    rows: dict[str, dict[str, Operation]] = {}
    for operation in operations():
        rows.setdefault(operation.path, {})[operation.method] = operation
    resources = [_Table(path, methods, door) for path, methods in rows.items()]
    described = {one.path: one.describe() for one in more}
    text = encode(document.describe(operations(), described))
    page = _Fixed(DOCUMENT, Response(text, headers=_NO_STORE, media_type="application/json"))
    routes: list[BaseRoute] = [Route(one.path, one) for one in (*resources, *more, page)]
    return [*routes, Route("/api", _Nothing()), Route("/api/{rest:path}", _Nothing())]


class Resource:
    """The handler of one path, for every method: its errors have the one shape."""

    path = ""
    methods: tuple[str, ...] = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of ASGI."""
        request = Request(scope, receive)
        try:
            method = "GET" if request.method == "HEAD" and "GET" in self.methods else request.method
            if method not in self.methods:
                allowed = [*self.methods, *(["HEAD"] if "GET" in self.methods else [])]
                message = f"{request.method[:20]} does not go here; {', '.join(allowed)} do"
                raise Refused(405, message, headers={"allow": ", ".join(allowed)})
            response = await self.answer(method, request)
        except guard.Unserved as error:
            response = errors.response(Refused(error.status, error.reason))
        except Refused as refused:
            response = errors.response(refused)
        await response(scope, receive, send)

    async def answer(self, method: str, request: Request) -> Response:
        """Answer one request. Raises Refused, guard.Unserved."""
        raise NotImplementedError

    def describe(self) -> Mapping[str, Any]:
        """Return its operations as OpenAPI describes them."""
        return {}


class _Nothing(Resource):
    """The handler of unknown paths."""

    methods = ()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = Refused(404, "there is nothing here", f"{DOCUMENT} lists what there is")
        await errors.response(refused)(scope, receive, send)


class _Fixed(Resource):
    """A resource with a constant response."""

    methods = ("GET",)

    def __init__(self, path: str, response: Response) -> None:
        self.path, self._response = path, response

    async def answer(self, method: str, request: Request) -> Response:
        return self._response


class _Table(Resource):
    """The rows of one path."""

    def __init__(self, path: str, rows: Mapping[str, Operation], door: _Door) -> None:
        self.path, self._rows, self._door = path, rows, door
        self.methods = tuple(rows)

    async def answer(self, method: str, request: Request) -> Response:
        operation = self._rows[method]
        query = record(" ".join(operation.required), **operation.query)
        values = _checked(_of_query(request, operation.query), query)
        headers = {name: request.headers[name] for name in operation.headers if name in request.headers}
        _checked(headers, record(**operation.headers))
        guard.check_accepts(request)
        if operation.body is not None:
            body = await guard.read_body(request)
            values = await anyio.to_thread.run_sync(_of_body, body, operation.body)
        sent = {name.lower(): value for name, value in headers.items()}
        return await self._door.answer(operation, values, sent, request)


class _Door:
    """One memory, the threads that answer for it, and the previews that wait."""

    def __init__(self, service: Service, beside: Workers | None, examine: Examine) -> None:
        self._service, self._workers, self._examine = service, beside, examine
        self._previews: Confirmations[Any] = Confirmations()
        widths = {
            "light": http.LIGHT, "heavy": LANE, "entry": WRITES, "model": 1, "examination": 1, "reading": 1,
        }  # fmt: skip
        self._limiters = {lane: anyio.CapacityLimiter(width) for lane, width in widths.items()}
        self._beside = anyio.CapacityLimiter(beside.most if beside else 1)

    async def answer(
        self, operation: Operation, values: Mapping[str, Any], headers: Mapping[str, str], request: Request
    ) -> Response:
        """Answer a request that fits its row, as long as the client is there to take it."""
        job, limiter = http.Job(), self._limiters[operation.lane]
        is_own = bool(request.scope.get(guard.OWN))
        has_workers = operation.search and self._may_hand_on(limiter)

        def work() -> Response:
            with listening(silent, lambda: job.wanted):
                handed = self._answer_beside(operation, values) if has_workers and job.wanted else None
                return handed or self._respond(operation, values, headers, is_own)

        answering = anyio.to_thread.run_sync(work, limiter=self._beside if has_workers else limiter)
        try:
            response = await http.while_connected(answering, request, operation.lane != "light")
        finally:
            job.wanted = False
        return response if isinstance(response, Response) else Response(status_code=499)  # the client is gone

    def _may_hand_on(self, limiter: anyio.CapacityLimiter) -> bool:
        """Return True if workers answer searches; start them if searches wait for each other."""
        if self._workers is None or self._service.place is None:
            return False
        if limiter.statistics().tasks_waiting >= workers.CROWD:
            self._workers.start(self._service.place)
        return self._workers.is_ready

    def _answer_beside(self, operation: Operation, values: Mapping[str, Any]) -> Response | None:
        assert self._workers is not None
        assert self._service.place is not None
        message = workers.operation(operation.name, values)
        answer = mapping(self._workers.answer(self._service.place, Connection(), message))
        return _response(answer["body"].encode(), answer["status"]) if "body" in answer else None

    def _respond(
        self, operation: Operation, values: Mapping[str, Any], headers: Mapping[str, str], is_own: bool
    ) -> Response:
        response = _answer(
            self._service, operation, values, headers, self._previews, self._examine, is_own=is_own
        )
        is_written = operation.writes and response.status_code < 400
        if is_written and self._workers is not None and self._workers.is_ready:
            self._service.settle()
        return response


def answer_beside(service: Service, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Answer a search for the server that this process is a worker of."""
    operation = next(one for one in operations() if one.name == name)
    response = _answer(service, operation, values, {}, Confirmations(), lambda online: ())
    return {"status": response.status_code, "body": bytes(response.body).decode()}


def _answer(
    service: Service,
    operation: Operation,
    values: Mapping[str, Any],
    headers: Mapping[str, str],
    previews: Confirmations[Any],
    examine: Examine,
    *,
    is_own: bool = False,
) -> Response:
    """Run an operation; whatever goes wrong is an answer, too.

    `is_own` says that a page asks which a program of the user let in, on this machine.
    """
    root = ""
    lane = {"heavy": service.lane, "entry": service.entries}.get(operation.lane, nullcontext())
    try:
        with remedies.spoken_here(remedies.WORDS), lane:
            check()
            memory = service.memory
            root = str(memory.workspace.root)
            if service.agent and operation.owner:
                owners = "{what} is the owner's; this server is that of an agent"
                raise Refused(403, message("owner", owners, what=operation.name))
            if operation.writes:
                memory.workspace.check_writable()
            reaches = is_own and not service.agent and memory.workspace.reader is None
            call = Call(memory, values, previews, headers, service.agent, examine, reaches, service.reopen)
            if operation.beyond:
                call.check_reach(operation.beyond)
            answer = operation.run(call)
            reply = answer if isinstance(answer, Reply) else Reply(answer)
            text = encode(schema.coded(schema.cut(to_data(reply.value))))
    except CommonplaceError as error:
        return errors.response(errors.translated(error, root or "/"))
    except Cancelled:
        return errors.response(Refused(503, message("cancelled", "cancelled")))
    except Exception as error:  # noqa: BLE001 - its words may be those of a note, and must stay unread
        service.tell(f"{type(error).__name__} while answering {operation.name}")
        return errors.response(Refused(500, message("internal", "internal error")))
    return _response(text, reply.status, reply.headers)


def _response(text: bytes, status: int, headers: Mapping[str, str] | None = None) -> Response:
    return Response(text, status, {**_NO_STORE, **(headers or {})}, media_type="application/json")


# --- requests -------------------------------------------------------------------------------------------


def _of_query(request: Request, described: Mapping[str, Schema]) -> dict[str, Any]:
    """Read the query of an address, in the types of its parameters where that can be. Raises Refused."""
    values: dict[str, Any] = {}
    for name, text in request.query_params.multi_items():
        kind = described.get(name, {}).get("type")
        if kind == "array":
            values.setdefault(name, []).append(text)
            continue
        if name in values:
            raise Refused(400, f"{name[:64]}: stands there more than once")
        whole = _WHOLE.fullmatch(text) if kind == "integer" else None
        values[name] = int(text) if whole else _FLAGS.get(text, text) if kind == "boolean" else text
    return values


def _of_body(body: bytes, described: Schema) -> dict[str, Any]:
    """Read a body. Raises Refused."""
    try:
        values = decode(body)
    except Refusal as refusal:
        raise Refused(400, str(refusal)) from refusal
    if not isinstance(values, dict):
        raise Refused(400, "the body must be a JSON object")
    return _checked(values, described)


def _checked(values: dict[str, Any], described: Schema) -> dict[str, Any]:
    """Return values that fit their description. Raises Refused."""
    if problem := schemas.problem(values, described):
        place, what = str(problem.values["place"]).removeprefix("$").removeprefix("."), problem.values["what"]
        what = what if isinstance(what, Message) else errors.shown(what)
        raise Refused(
            400, message("value", "{place}: {what}", place=errors.shown(place), what=what) if place else what
        )
    whole: dict[str, Any] = _whole(values)
    return whole


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value with whole numbers as such: JSON Schema takes 5.0 for an integer."""
    if isinstance(value, dict):
        return {name: _whole(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_whole(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
