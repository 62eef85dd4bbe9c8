"""Questions to the person behind a client: asked while a request waits, or as its first answer.

https://modelcontextprotocol.io/specification/2025-11-25/client/elicitation: up to that revision the server
sends a request of its own (`elicitation/create`) and waits. From 2026-07-28 on it answers what it needs to
know (`input_required`), and the client makes its request once more with what the person said
(https://modelcontextprotocol.io/specification/2026-07-28/basic/patterns/mrtr).
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from commonplace.servers.protocol import InputRequired, Request, Result

if TYPE_CHECKING:
    from commonplace.agent.answers import Ask, Said

METHOD = "elicitation/create"
WAITS_S = 600.0  # as long as a preview may be confirmed
_LOOKS_S = 0.5  # how often whoever waits sees whether anybody still wants an answer
_KEY = "approve"
_NO_FIELDS = {"type": "object", "properties": {}}


def question(text: str, version: str) -> Result:
    """Return the parameters of a question that a yes or a no answers."""
    mode = {} if version < "2025-11-25" else {"mode": "form"}  # which that revision brought
    return {**mode, "message": text, "requestedSchema": _NO_FIELDS}


def said(answer: object) -> Said:
    """Return what a person did; whatever is neither a yes nor a no is no answer."""
    action = answer.get("action") if isinstance(answer, dict) else None
    return action if action in ("accept", "decline") else "cancel"


def asking(request: Request, arguments: Mapping[str, Any]) -> tuple[Mapping[str, Any], Ask | None]:
    """Return the arguments of a tool, and what asks the person behind it; None where nobody can be asked."""
    if not request.elicits:
        return arguments, None
    if not request.modern:
        return arguments, request.ask
    answers, code = request.params.get("inputResponses"), request.params.get("requestState")
    if isinstance(answers, dict) and isinstance(code, str) and _KEY in answers:
        answer = said(answers[_KEY])
        return {**arguments, "confirm": code}, lambda text, code: answer

    def ask(text: str, code: str) -> Said:
        asked = {_KEY: {"method": METHOD, "params": question(text, request.version)}}
        raise InputRequired({"resultType": "input_required", "inputRequests": asked, "requestState": code})

    return arguments, ask


class Questions:
    """The questions of one server that wait for an answer; used from any thread."""

    def __init__(self, most: int) -> None:
        """Let so many wait at once; nobody is asked any more then."""
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
