"""The routes of `/api`: each request is checked against its row of the table, and answered in a thread."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from itertools import chain
from typing import Any

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from commonplace.actions import table
from commonplace.agent.tools import Confirmations
from commonplace.base import remedies
from commonplace.base.errors import CommonplaceError
from commonplace.base.messages import Message, message
from commonplace.providers.llm import schemas
from commonplace.servers import guard, http
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
    visits,
)
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Examine, Operation, OperationCall, Reply, pair
from commonplace.servers.api.schema import Schema, record
from commonplace.servers.methods import LANE, WRITES, Service
from commonplace.servers.protocol import Refusal, decode, encode
from commonplace.servers.visitors import Visitors, is_own_page
from commonplace.types.data import to_data
from commonplace.types.progress import Cancelled, check, listening, silent

OPERATIONS: Sequence[Operation] = (
    *questions.OPERATIONS, *notes.OPERATIONS, *changes.OPERATIONS, *consolidation.OPERATIONS,
    *collections.OPERATIONS, *clients.OPERATIONS, *transfers.OPERATIONS, *visits.OPERATIONS,
)  # fmt: skip
_NO_STORE = {"cache-control": "no-store", "x-content-type-options": "nosniff"}
_WHOLE = re.compile(r"-?[0-9]{1,15}")
_FLAGS = {"true": True, "false": False}


def operations() -> list[Operation]:
    """Return all rows: those of this package, and two for each action."""
    shown = (pair(one) for one in table.every() if "http" in one.doors)
    return [*OPERATIONS, *chain.from_iterable(shown)]


def build(
    service: Service,
    visitors: Visitors,
    *,
    examine: Examine = lambda online: (),
    described: Mapping[str, Any],
) -> list[BaseRoute]:
    """Make the routes below `/api` for a memory; `examine` is that of `Call`.

    `described` are descriptions of further paths, as OpenAPI has them.
    """
    api, rows = _Api(service, visitors, examine), dict[str, dict[str, Operation]]()
    for operation in operations():
        rows.setdefault(operation.path, {})[operation.method] = operation
    text = encode(document.describe(operations(), described))

    async def answer_document(request: Request) -> Response:
        return Response(text, headers=_NO_STORE, media_type="application/json")

    own = [Route(path, partial(api.serve, of), methods=[*of]) for path, of in rows.items()]
    return [*own, Route(errors.DOCUMENT, answer_document, methods=["GET"])]


class _Api:
    """One memory, the threads that answer for it, and the previews that wait."""

    def __init__(self, service: Service, visitors: Visitors, examine: Examine) -> None:
        self._service, self._visitors, self._examine = service, visitors, examine
        self._previews: Confirmations[Any] = Confirmations()
        widths = {
            "light": http.LIGHT, "heavy": LANE, "entry": WRITES, "model": 1, "examination": 1, "reading": 1,
        }  # fmt: skip
        self._limiters = {lane: anyio.CapacityLimiter(width) for lane, width in widths.items()}

    async def serve(self, rows: Mapping[str, Operation], request: Request) -> Response:
        """Answer a request by the row of its method. Raises Refused, HTTPException."""
        operation = rows["GET" if request.method == "HEAD" else request.method]
        query = record(" ".join(operation.required), **operation.query)
        values = _checked(_of_query(request, operation.query), query)
        headers = {name: request.headers[name] for name in operation.headers if name in request.headers}
        _checked(headers, record(**operation.headers))
        guard.check_accepts(request)
        if operation.body is not None:
            body = await guard.read_body(request)
            values = await anyio.to_thread.run_sync(_of_body, body, operation.body)
        sent = {name.lower(): value for name, value in headers.items()}
        return await self._answer(operation, values, sent, request)

    async def _answer(
        self, operation: Operation, values: Mapping[str, Any], headers: Mapping[str, str], request: Request
    ) -> Response:
        """Answer a request that fits its row, as long as the client is there to take it."""
        job, is_own = http.PendingAnswer(), bool(request.scope.get(guard.OWN))
        is_from_page = is_own_page(request.headers)

        def work() -> Response:
            with listening(silent, lambda: job.wanted):
                return self._respond(operation, values, headers, is_own=is_own, is_from_page=is_from_page)

        answering = anyio.to_thread.run_sync(work, limiter=self._limiters[operation.lane])
        try:
            response = await http.while_connected(answering, request, operation.lane != "light")
        finally:
            job.wanted = False
        return response if isinstance(response, Response) else Response(status_code=499)  # the client is gone

    def _respond(
        self,
        operation: Operation,
        values: Mapping[str, Any],
        headers: Mapping[str, str],
        *,
        is_own: bool,
        is_from_page: bool,
    ) -> Response:
        """Run an operation; whatever goes wrong is an answer, too.

        `is_own` says that a page asks which a program of the user let in, on this machine.
        """
        service, root = self._service, ""
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
                call = OperationCall(
                    memory, values, self._previews, headers, service.agent, self._examine, reaches,
                    service.reopen, self._visitors, is_from_page,
                )  # fmt: skip
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
        headers = {**_NO_STORE, **(reply.headers or {})}
        return Response(text, reply.status, headers, media_type="application/json")


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
