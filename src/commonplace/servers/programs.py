"""Requests of the user's own programs: who asks which memory, and the handlers below `/local/`.

They come over the Unix socket of a server alone. `mcp`, hooks, searches and prompts of a shell share its
memories and models; each agent has a memory with its own settings.
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from commonplace import __version__
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.tuples import NamedTuple
from commonplace.servers import guard, protocol
from commonplace.servers.local import PREFIX

if TYPE_CHECKING:
    from commonplace.servers.methods import Service

MOST_AGENTS = 32  # whose memories are open at once
THREADS = 64  # that answer programs, and note their events, at once
AGENT, ASKED_HEADER = "commonplace-agent", "commonplace-asked"
# The fields of a request that select the memory and its manner, such as whether the workspace was named.
ASKED = ("named", "beside", "everything", "alone", "structured")
# The handler of a request: returns a value, written as JSON, or a `Reply`.
Handler = Callable[["Service", Mapping[str, Any]], object]


class ProgramReply(NamedTuple):
    """An answer as it is, and what is called once the program that asked has it, or where that went away."""

    body: bytes
    sent: Callable[[], object] = lambda: None
    lost: Callable[[], object] = lambda: None


class Services:
    """The memories reached by way of one workspace, one for each caller; safe from any thread."""

    def __init__(self, make: Callable[[str, Mapping[str, Any]], Service]) -> None:
        """`make` makes the service of an agent, by its name and the further fields of its request.

        It raises ConfigError if that cannot be served, and AccessDenied if that agent may not read it.
        """
        self._make, self._lock = make, threading.Lock()
        self._of: dict[str, Service] = {}

    def of(self, agent: str, request: Mapping[str, Any]) -> Service:
        """Return the service for an agent and its request. Raises as `make` does."""
        asked = {name: request[name] for name in ASKED if request.get(name)}
        key = json.dumps([agent, asked], sort_keys=True)
        with self._lock:
            if key not in self._of:
                if len(self._of) >= MOST_AGENTS:
                    raise ConfigError("agent", f"{MOST_AGENTS} agents are served already")
                self._of[key] = self._make(agent, asked)
            return self._of[key]

    def of_program(self, headers: Mapping[str, str]) -> Service:
        """Return the service for a program by the headers of its request. Raises as `make` does."""
        asked = protocol.mapping(json.loads(headers.get(ASKED_HEADER, "{}")))
        return self.of(headers.get(AGENT, ""), asked)

    def close(self) -> None:
        """Close all of them."""
        with self._lock:
            for service in self._of.values():
                service.close()


def routes(
    services: Services, handlers: Mapping[str, Handler], end: Callable[[bool], None], *, idles: bool
) -> list[BaseRoute]:
    """Make the routes of handlers by name, of `status`, and of `retire`.

    `end` is called to end the server, with whether a person wants that; `idles` says that it was started by a
    program.
    """
    began, limiter = time.monotonic(), anyio.CapacityLimiter(THREADS)

    def status(headers: Mapping[str, str], sent: Mapping[str, Any]) -> object:
        up_s = round(time.monotonic() - began)
        return {"pid": os.getpid(), "version": __version__, "up_s": up_s, "idles": idles}

    def retire(headers: Mapping[str, str], sent: Mapping[str, Any]) -> object:
        end(sent.get("by_hand") is True)
        return {"pid": os.getpid()}

    def ready(headers: Mapping[str, str], sent: Mapping[str, Any]) -> object:
        return {"ready": services.of_program(headers).agent}

    own = {"status": status, "retire": retire, "ready": ready}

    def respond(name: str, headers: Mapping[str, str], body: bytes) -> object:
        sent = protocol.mapping(protocol.decode(body))
        if name in own:
            return own[name](headers, sent)
        asked = {**sent, "structured": False}  # what is printed is text
        return handlers[name](services.of(headers.get(AGENT, ""), asked), sent)

    async def serve(request: Request) -> Response:
        name = request.url.path.removeprefix(PREFIX)
        body = await guard.read_body(request)
        work = partial(_reply, partial(respond, name, request.headers, body))
        reply = await anyio.to_thread.run_sync(work, limiter=limiter)
        then = reply.lost if await request.is_disconnected() else reply.sent

        async def after() -> None:
            await anyio.to_thread.run_sync(then, limiter=limiter)

        return Response(reply.body, media_type="application/json", background=BackgroundTask(after))

    return [Route(f"{PREFIX}{name}", serve, methods=["POST"]) for name in (*own, *handlers)]


def _reply(respond: Callable[[], object]) -> ProgramReply:
    """Answer a request; an error becomes an answer, too."""
    answer: object
    try:
        answer = respond()
    except CommonplaceError as error:
        answer = {"error": str(error)}
    except Exception as error:  # noqa: BLE001 - a fault in one answer must not end those of others
        answer = {"failed": type(error).__name__}
    return answer if isinstance(answer, ProgramReply) else ProgramReply(json.dumps(answer).encode())
