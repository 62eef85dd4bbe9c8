"""The guard of HTTP requests: Host, Origin, token or visitor, and the size and type of a body.

It comes before all routes, and records each request with its caller.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from commonplace.base.messages import message
from commonplace.servers import access
from commonplace.servers.access import Access, Denied
from commonplace.servers.api import errors
from commonplace.servers.local import PREFIX

if TYPE_CHECKING:
    from commonplace.servers.visitors import Visitor, Visitors

ENDPOINT, HEALTH = access.CLIENTS, "/health"
# Headers that name an agent or a workspace to be served by itself, and what its token is derived from.
APART = {"commonplace-agent": "/agents/", "commonplace-workspace": "/workspaces/"}
LARGEST = 4 << 20  # bytes of a body
METHOD = "commonplace.method"  # in the scope of a request: the protocol's method, for the record
OWN = "commonplace.own"  # there too: whether a page asks that a program of the user let in, on this machine
PLACE = "commonplace.place"  # there too: what is served by itself, as its token is derived from it
LOCAL = "commonplace.local"  # there too, as in the state of its connection: the user's own program asks
_ALONE = ("host", "origin", "authorization", "cookie", *APART)  # headers of which a request has one at most
Record = Callable[[str], None]


class RequestGuard:
    """Stands before everything: lets in who may ask, and records who asked for what."""

    def __init__(
        self,
        app: ASGIApp,
        allowed: Access,
        record: Record,
        visitors: Visitors | None = None,
        open_to_all: frozenset[str] = frozenset({HEALTH}),
    ) -> None:
        """Stand before an application; see `build`."""
        self._app, self._allowed, self._record = app, allowed, record
        self._visitors, self._open = visitors, open_to_all

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started, status, place = time.perf_counter(), 500, ""

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
            place = _place(single) if scope["path"] == ENDPOINT else ""
            visitor = self._visitor(scope, single)
            is_open = scope["path"] in self._open or visitor is not None
            is_near = access.is_loopback(access.host_of(single.get("host", "")))
            scope[OWN] = visitor is not None and visitor.is_own and is_near and not self._allowed.anywhere
            if LOCAL in scope.get("state", {}):  # the system says whose program it is
                scope[LOCAL], denied = True, None
            elif scope["path"].startswith(PREFIX):
                denied = Denied(404, "this is for programs of the user, over their socket")
            else:
                if place:
                    scope[PLACE] = place
                denied = access.denied(
                    self._allowed, single, open_to_all=is_open, place=place,
                    for_clients=scope["path"] == ENDPOINT and not place,
                )  # fmt: skip
            if denied is None:
                await self._app(scope, receive, noting)
            else:
                challenge = {"www-authenticate": denied.challenge} if denied.challenge else {}
                error = HTTPException(denied.status, denied.reason, challenge)
                await errors.refusal(scope["path"], scope["method"], error)(scope, receive, noting)
        finally:
            took_ms = (time.perf_counter() - started) * 1000
            # Only names that this program defines are recorded: anything else may be somebody's words.
            is_ours = "route" in scope and not scope.get("path_params")
            is_known = is_ours or scope["path"] in (ENDPOINT, HEALTH)
            path = scope["path"].strip() if is_known else "-"
            method = f" {scope[METHOD]}" if METHOD in scope else ""
            self._record(f"{scope['method']} {path}{method} {status} {took_ms:.0f} ms")

    def _visitor(self, scope: Scope, headers: Mapping[str, str]) -> Visitor | None:
        """Return the browser that sends a request, if it is admitted; None for a request with a token."""
        if (
            self._visitors is None
            or not scope["path"].startswith(errors.PREFIX)
            or "authorization" in headers
        ):
            return None
        return self._visitors.admit(scope["method"], headers)


def _place(headers: Mapping[str, str]) -> str:
    """Return the agent or the workspace that headers name, such as `/agents/NAME`; empty without one.

    What names both, or no name, leads nowhere.
    """
    named = [prefix + headers[name].replace("/", "@") for name, prefix in APART.items() if name in headers]
    return named[0] if len(named) == 1 else "/@/@" if named else ""


async def read_body(request: Request) -> bytes:
    """The body of a request; one that is too large is not read to its end. Raises HTTPException."""
    headers = request.headers
    # A form of a foreign page can send other types only.
    if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        raise HTTPException(415, "the content type must be application/json")
    check_accepts(request)
    length, body = headers.get("content-length", "0"), bytearray()
    large = not length.isdecimal() or int(length[:20]) > LARGEST
    try:
        if not large:
            async for part in request.stream():
                body += part
                if large := len(body) > LARGEST:
                    break
    except ClientDisconnect as error:
        raise HTTPException(400, "the client went away") from error
    if large:
        raise HTTPException(413, message("body.large", "a body has {most:,} bytes at most", most=LARGEST))
    return bytes(body)


def check_accepts(request: Request) -> None:
    """Refuse a request of a client that takes no JSON. Raises HTTPException."""
    header = request.headers.get("accept", "")
    accepted = {part.partition(";")[0].strip().lower() for part in header.split(",")}
    if not accepted & {"", "*/*", "application/*", "application/json"}:
        raise HTTPException(406, "answers are application/json; accept it")
