"""`commonplace hook`: an event of a coding client's session, read from standard input.

Whatever happens, the exit code is 0 and nothing is said about trouble: an agent must not stop, and its user
must not lose a message, because of a memory. Events that a client waits for have a deadline: a warm server
answers them, otherwise full text does, otherwise nobody. All others are handed over and not waited for.
"""

from __future__ import annotations

import json
import os
import sys
import time
from _thread import start_new_thread
from typing import TYPE_CHECKING, Any

from commonplace.servers import local

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from commonplace.servers.methods import Service

DEADLINE_S = 0.3  # of an event that the client waits for
SERVER_S = 0.18  # of it, for a warm server; what is left is enough for full text
HANDED_S = 0.2  # for a warm server to take an event that nobody waits for
ANSWERED = frozenset(("SessionStart", "UserPromptSubmit"))  # as `agent.client_events` has them, unimported
NOTED = frozenset(("PostToolUse", "PostToolUseFailure", "PreCompact", "Stop", "SessionEnd"))
_LONGEST = local.LONGEST - 4096  # bytes of an event that a server takes


def run(workspace: str | None = None, agent: str | None = None, *, debug: bool = False) -> int:
    """Read an event, and print what goes into the conversation; return 0.

    With `debug` there is no deadline, and what goes wrong is raised.
    """
    began = time.monotonic()
    try:
        event = _read()
        name = event.get("hook_event_name")
        if name in ANSWERED and not debug:
            # The thread ends the process whatever this one hangs in; what was printed by then stands.
            start_new_thread(_end_at, (began + DEADLINE_S,))
        if name in ANSWERED or name in NOTED:
            _handle(event, workspace, agent, began)
    except BaseException:
        if debug:
            raise
    return 0


def answer(service: Service, request: Mapping[str, Any]) -> dict[str, str]:
    """Answer an event that a warm server is given; what nobody waits for is done afterwards."""
    import threading

    from commonplace.agent.client_events import ClientEvents

    def later(work: Any) -> None:  # noqa: ANN401 - called without arguments
        threading.Thread(target=work, name="commonplace-hook", daemon=True).start()

    event = request["event"]
    events = ClientEvents(service.memory, service.agent, later=later)
    if event.get("hook_event_name") in ANSWERED:
        return {"output": events.answer(event)}
    later(lambda: events.answer(event))
    return {"output": ""}


def _read() -> dict[str, Any]:
    data = bytearray()
    while part := os.read(0, 1 << 16):
        data += part
        if len(data) > _LONGEST:
            return {}
    event = json.loads(data)
    return event if isinstance(event, dict) else {}


def _end_at(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
    os._exit(0)


def _handle(event: dict[str, Any], workspace: str | None, agent: str | None, began: float) -> None:
    from commonplace.base import paths

    root = paths.resolve_workspace(workspace, os.environ)
    name = os.environ.get("COMMONPLACE_AGENT", "") if agent is None else agent
    waited = event["hook_event_name"] in ANSWERED
    wait_s = SERVER_S - (time.monotonic() - began) if waited else HANDED_S
    try:
        answered = local.call(root, "hook", name, {"event": event}, max(0.01, wait_s))
        if "output" in answered:
            _print(answered["output"])
            return
    except local.Unanswered:
        pass
    if waited:
        _print(_alone(root, name, event, overrides=_TEXT_ALONE))
        _start_server(root, name)
    elif _forked():
        _start_server(root, name)
        _alone(root, name, event)
        os._exit(0)


# Without a server nothing is embedded and no model loaded while a client waits.
_TEXT_ALONE = {"embedding.provider": "none", "search.rerank": "off", "index.sync_on_search": False}


def _alone(
    root: Path, agent: str, event: dict[str, Any], overrides: Mapping[str, object] | None = None
) -> str:
    """Answer an event in this process."""
    from commonplace import config
    from commonplace.agent.client_events import ClientEvents
    from commonplace.memory import Memory

    with Memory(root, config.load(root, overrides=overrides, agent=agent), agent=agent) as memory:
        # The queue of sessions is left to whoever is not waited for.
        later = (lambda work: None) if overrides else (lambda work: work())
        return ClientEvents(memory, agent, later=later).answer(event)


def _start_server(root: Path, agent: str) -> None:
    from commonplace import config

    if config.load(root, agent=agent).server.start != "never":
        local.launch(root)


def _forked() -> bool:
    """Go on in a process of its own, which the client does not wait for; False in this one."""
    if not hasattr(os, "fork"):
        return True
    if os.fork():
        return False
    os.setsid()
    nobody = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(nobody, standard)
    return True


def _print(output: str) -> None:
    """Write an answer at once: all of it or nothing."""
    if output:
        sys.stdout.flush()
        os.write(1, output.encode() + b"\n")
