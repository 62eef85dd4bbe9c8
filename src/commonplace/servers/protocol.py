"""The Model Context Protocol as values: messages read, requests answered, without input or output.

https://modelcontextprotocol.io/specification: JSON-RPC 2.0 in two manners. Up to 2025-11-25 a connection
opens with `initialize`; from 2026-07-28 on there is no handshake, every request says in `params._meta` which
revision it speaks. A server accepts either manner, message by message.

Questions to the person behind a client: up to 2025-11-25 the server sends a request of its own
(`elicitation/create`) and waits (https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation).
From 2026-07-28 on it answers what it needs to know (`input_required`), and the client makes its request once
more with what the person said (https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr).
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from commonplace.base.tuples import NamedTuple

if TYPE_CHECKING:
    from commonplace.agent.answers import Ask, Said

HANDSHAKE = ("2025-06-18", "2025-11-25")
MODERN = ("2026-07-28",)

PARSE, INVALID, NO_METHOD, PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
NO_RESOURCE, HEADERS, VERSION = -32002, -32020, -32022

_META = "io.modelcontextprotocol/"
VERSION_KEY, CAPABILITIES_KEY = f"{_META}protocolVersion", f"{_META}clientCapabilities"
CLIENT_KEY, SERVER_KEY = f"{_META}clientInfo", f"{_META}serverInfo"

Result = dict[str, Any]


class Refusal(Exception):
    """The error that answers a request that cannot be served: a code, a message, data."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


class InputRequired(Exception):
    """A request is answered with a question to the person; it comes once more, with what they said."""

    def __init__(self, result: Result) -> None:
        super().__init__("input required")
        self.result = result


@dataclass(slots=True)
class Connection:
    """The result of a handshake: the revision, the name of the client, whether it asks people."""

    version: str = ""
    client: str = ""
    elicits: bool = False


class Exchange(NamedTuple):
    """Further communication while a request is answered, as far as its transport can.

    `ask` shows the person behind the client a question, `notify` sends the client a notification, `wanted`
    says whether the answer still is.
    """

    ask: Ask | None = None
    notify: Callable[[Result], None] | None = None
    wanted: Callable[[], bool] = lambda: True


ALONE = Exchange()


class ProtocolRequest(NamedTuple):
    """A request or, without an id, a notification; `version` is the revision it is made in.

    `elicits` says that the client shows a person what a server asks.
    """

    method: str
    params: Mapping[str, Any]
    connection: Connection
    id: int | str | None
    version: str
    client: str
    elicits: bool
    exchange: Exchange

    @property
    def modern(self) -> bool:
        """Return True if the request itself names its revision."""
        return self.version in MODERN


def decode(data: bytes | str) -> Any:  # noqa: ANN401 - whatever was sent
    """Read JSON. Raises Refusal."""

    def refuse(name: str) -> object:
        raise ValueError(f"{name} is no number of JSON")

    try:
        return json.loads(data, parse_constant=refuse)
    except (ValueError, RecursionError) as error:  # bytes that are no UTF-8 are a ValueError as well
        raise Refusal(PARSE, "not valid JSON") from error


def encode(message: object) -> bytes:
    """Write JSON on one line, as UTF-8."""
    try:
        return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # half a surrogate pair, which only an escape can tell
        return json.dumps(message, separators=(",", ":")).encode()


def mapping(value: object, *keys: str) -> Mapping[str, Any]:
    """Return the object that these keys lead to, empty where it is missing: a client may send anything."""
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def id_of(message: object) -> int | str | None:
    """Return the id of a message, if it has one that may be answered."""
    id_ = mapping(message).get("id")
    return id_ if isinstance(id_, int | str) and not isinstance(id_, bool) else None


def failure(id_: int | str | None, refusal: Refusal) -> Result:
    """Make the answer that refuses a request."""
    data = {} if refusal.data is None else {"data": refusal.data}
    return {"jsonrpc": "2.0", "id": id_, "error": {"code": refusal.code, "message": refusal.message, **data}}


def require(valid: bool, code: int, message: str) -> None:
    """Raise Refusal where what was sent is not valid."""
    if not valid:
        raise Refusal(code, message)


def read(message: object, connection: Connection, exchange: Exchange = ALONE) -> ProtocolRequest | None:
    """Read a request or a notification; None for an answer, which is not expected here. Raises Refusal."""
    fields = mapping(message)
    require(fields.get("jsonrpc") == "2.0", INVALID, 'a message is an object with "jsonrpc": "2.0"')
    if "method" not in fields and ("result" in fields or "error" in fields):
        return None
    method, params, id_ = fields.get("method"), fields.get("params"), id_of(message)
    params = {} if params is None else params
    require(isinstance(method, str), INVALID, "the method is missing")
    require(id_ is not None or "id" not in fields, INVALID, "an id is a text or an integer")
    require(isinstance(params, dict), PARAMS, "params must be an object")
    meta = mapping(params, "_meta")
    about = connection.version or HANDSHAKE[-1], connection.client, connection.elicits
    if VERSION_KEY in meta and method != "initialize":
        version = meta[VERSION_KEY]
        require(CAPABILITIES_KEY in meta, PARAMS, f"params._meta lacks {CAPABILITIES_KEY}")
        require(isinstance(version, str), PARAMS, f"{VERSION_KEY} must be a text")
        if version not in MODERN:
            raise unsupported(version)
        about = version, client_name(meta.get(CLIENT_KEY)), elicits(meta[CAPABILITIES_KEY])
    return ProtocolRequest(str(method), params, connection, id_, *about, exchange)


def elicits(capabilities: object) -> bool:
    """Return True if a client says that it shows people questions, with a form to answer them."""
    elicitation = mapping(capabilities).get("elicitation")
    return elicitation == {} or isinstance(mapping(elicitation).get("form"), dict)


def unsupported(version: str) -> Refusal:
    """Refuse a revision, and say which are spoken without a handshake."""
    data = {"supported": list(MODERN), "requested": version[:64]}
    return Refusal(VERSION, "unsupported protocol version", data)


def client_name(info: object) -> str:
    """Return the name of a client in ASCII, where no letter looks like another."""
    name = mapping(info).get("name")
    letters = name if isinstance(name, str) else ""
    plain = (c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in letters)
    return "".join(plain)[:64].strip("._-")


def session_of(params: Mapping[str, Any], *, of_thread: bool = False) -> str:
    """Return the session that a call names: of a subagent its parent's, or `of_thread` its own (Codex)."""
    names = ("threadId", "sessionId") if of_thread else ("sessionId", "threadId")
    named = [mapping(params, "_meta").get(name) for name in (*names, "session_id")]
    return next((one for one in named if isinstance(one, str) and len(one) <= 128 and one.isprintable()), "")


# --- questions to a person ------------------------------------------------------------------------------

METHOD = "elicitation/create"
WAITS_S = 600.0  # as long as a preview may be confirmed
_LOOKS_S = 0.5  # between two looks whether anybody still wants an answer
_KEY = "approve"
_NO_FIELDS = {"type": "object", "properties": {}}


def question(text: str, version: str) -> Result:
    """Return the parameters of a question that a yes or a no answers."""
    mode = {} if version < "2025-11-25" else {"mode": "form"}  # which that revision brought
    return {**mode, "message": text, "requestedSchema": _NO_FIELDS}


def said(answer: object) -> Said:
    """Return a person's action; any answer but accept or decline counts as cancel."""
    action = mapping(answer).get("action")
    return action if action in ("accept", "decline") else "cancel"


def asking(request: ProtocolRequest, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], Ask | None]:
    """Return the arguments of a tool, and a function that asks its person; None if that is impossible."""
    if not request.elicits:
        return arguments, None
    if not request.modern:
        return arguments, request.exchange.ask
    answers, code = mapping(request.params, "inputResponses"), request.params.get("requestState")
    if isinstance(code, str) and _KEY in answers:
        answer = said(answers[_KEY])
        return {**arguments, "confirm": code}, lambda text, code: answer

    def ask(text: str, code: str) -> Said:
        asked = {_KEY: {"method": METHOD, "params": question(text, request.version)}}
        raise InputRequired({"resultType": "input_required", "inputRequests": asked, "requestState": code})

    return arguments, ask


class Questions:
    """The questions of one server that wait for an answer; used from any thread."""

    def __init__(self, most: int) -> None:
        """Let so many questions wait at once; further ones are not sent."""
        self._most = most
        self._answers: dict[str, object] = {}  # by id; None while it waits
        self._changed = threading.Condition()

    def ask(
        self,
        text: str,
        version: str,
        send: Callable[[Result], None],
        wanted: Callable[[], bool],
    ) -> Said:
        """Send a question, and wait for its answer as long as it is `wanted`."""
        key = f"commonplace-{secrets.token_hex(16)}"
        with self._changed:
            if len(self._answers) >= self._most:
                return "cancel"
            self._answers[key] = None
        try:
            send({"jsonrpc": "2.0", "id": key, "method": METHOD, "params": question(text, version)})
            end = time.monotonic() + WAITS_S
            with self._changed:
                while self._answers[key] is None and wanted() and time.monotonic() < end:
                    self._changed.wait(_LOOKS_S)
                return said(self._answers[key])
        finally:
            with self._changed:
                del self._answers[key]

    def hear(self, message: object) -> bool:
        """Take the answer to a question; tell whether a message was one."""
        if not isinstance(message, dict) or "method" in message or message.get("jsonrpc") != "2.0":
            return False
        key = message.get("id")
        with self._changed:
            if not isinstance(key, str) or key not in self._answers:
                return False
            self._answers[key] = message.get("result") or {}
            self._changed.notify_all()
        return True
