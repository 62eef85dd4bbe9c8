"""How a browser gets in: who has the token asks for a code, the page exchanges it for a cookie and a key."""

from __future__ import annotations

from commonplace.base.messages import message
from commonplace.servers.api.errors import Refused
from commonplace.servers.api.operations import Operation, OperationCall, Reply
from commonplace.servers.api.schema import answer, record, text
from commonplace.servers.visitors import CODE_S, KEY, VISIT_S

VISITS = "/api/visits"


def _make(call: OperationCall) -> object:
    """Make a code; programs of the user send the server's key as well."""
    return {"code": call.visitors.code(call.headers.get(KEY, "")), "expires_s": CODE_S}


def _enter(call: OperationCall) -> object:
    if not call.is_from_page:
        raise Refused(403, "only a page of this server exchanges a code")
    visit = call.visitors.enter(call.values["code"])
    if visit is None:
        raise Refused(
            403,
            message("visit.code", "this code is used or too old"),
            message("visit.again", "`commonplace web` opens the page with another"),
        )
    cookie = f"{call.visitors.cookie}={visit.cookie}; Path=/api; Max-Age={VISIT_S}"
    return Reply({"key": visit.key}, headers={"set-cookie": f"{cookie}; HttpOnly; SameSite=Strict"})


OPERATIONS = (
    Operation(
        "POST", "/api/codes", "make_code", "Make a code that lets one browser in.", _make,
        answer(code=text("For the fragment of an address: /#code=CODE."), expires_s={"type": "number"}),
        headers={"X-Commonplace-Key": text("The server's own: the browser may reach beyond the workspace.")},
        lane="light",
    ),
    Operation(
        "POST", VISITS, "enter", "Exchange a code for a cookie and a key.", _enter,
        answer(key=text("Goes with the cookie, in the header X-Commonplace-Key.")),
        body=record("code", code=text(most=100)), lane="light", open_to_all=True,
    ),
)  # fmt: skip
