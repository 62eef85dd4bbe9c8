"""How a browser gets in: who has the token asks for a code, the page exchanges it for a cookie and a key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from commonplace.base.messages import message
from commonplace.servers import guard
from commonplace.servers.api.document import parameters, refusals
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.routes import Resource
from commonplace.servers.api.schema import answer, record, text
from commonplace.servers.protocol import Refusal, decode, encode, mapping
from commonplace.servers.visitors import CODE_S, KEY, Visitors, is_own_page

CODES, VISITS = "/api/codes", "/api/visits"
_LARGEST_CODE = 100


class Codes(Resource):
    """Makes codes for those who have the token; programs of the user send the server's key as well."""

    path, methods = CODES, ("POST",)

    def __init__(self, visitors: Visitors) -> None:
        """Make them for these visitors."""
        self._visitors = visitors

    async def answer(self, method: str, request: Request) -> Response:
        """Make one."""
        guard.check_accepts(request)
        code = self._visitors.code(request.headers.get(KEY, ""))
        return _json({"code": code, "expires_s": CODE_S})

    def describe(self) -> Mapping[str, Any]:
        """Its description."""
        done = answer(code=text("For the fragment of an address: /#code=CODE."), expires_s={"type": "number"})
        made = _described("make_code", "Make a code that lets one browser in.", done)
        key = text("The server's own: the browser may reach beyond the workspace.")
        return {"post": {**made, "parameters": parameters("header", {"X-Commonplace-Key": key})}}


class Visits(Resource):
    """Lets browsers in, by their codes."""

    path, methods = VISITS, ("POST",)

    def __init__(self, visitors: Visitors) -> None:
        """Let them in among these."""
        self._visitors = visitors

    async def answer(self, method: str, request: Request) -> Response:
        """Let one in. Raises Refused, guard.Unserved."""
        try:
            code = mapping(decode(await guard.read_body(request))).get("code")
        except Refusal as refusal:
            raise Refused(400, str(refusal)) from refusal
        if not isinstance(code, str) or len(code) > _LARGEST_CODE:
            raise Refused(400, f"code: a text of up to {_LARGEST_CODE} characters is needed")
        if not is_own_page(dict(request.headers)):
            raise Refused(403, "only a page of this server exchanges a code")
        visit = self._visitors.enter(code)
        if visit is None:
            raise Refused(
                403,
                message("visit.code", "this code is used or too old"),
                message("visit.again", "`commonplace web` opens the page with another"),
            )
        cookie = f"{self._visitors.cookie}={visit.cookie}; Path=/api; HttpOnly; SameSite=Strict"
        return _json({"key": visit.key}, {"set-cookie": cookie})

    def describe(self) -> Mapping[str, Any]:
        """Return its description; it needs no token."""
        body = record("code", code=text(most=_LARGEST_CODE))
        done = answer(key=text("Goes with the cookie, in the header X-Commonplace-Key."))
        about = "Exchange a code for a cookie and a key."
        content = {"required": True, "content": {"application/json": {"schema": body}}}
        operation = _described("enter", about, done, 413, 415)
        return {"post": {**operation, "requestBody": content, "security": []}}


def _described(name: str, about: str, done: Mapping[str, Any], *statuses: int) -> dict[str, Any]:
    content = {"application/json": {"schema": done}}
    answers = {"200": {"description": "Done.", "content": content}, **refusals(400, 401, 403, 406, *statuses)}
    return {"operationId": name, "summary": about, "responses": answers}


def _json(value: object, headers: Mapping[str, str] | None = None) -> Response:
    always = {"cache-control": "no-store", **(headers or {})}
    return Response(encode(value), headers=always, media_type="application/json")
