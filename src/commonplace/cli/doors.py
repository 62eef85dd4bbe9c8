"""What a warm server answers by name: the commands of a shell that it saves from loading the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.cli.remedies import WORDS

if TYPE_CHECKING:
    from commonplace.servers.local_server import Door
    from commonplace.servers.methods import Service


def _search(service: Service, request: Mapping[str, Any]) -> object:
    from commonplace.cli import searching

    with service.lane, remedies.spoken_here(WORDS):
        return searching.answer(service, request)


def _prompt(service: Service, request: Mapping[str, Any]) -> object:
    from commonplace.cli import asking

    with service.lane, remedies.spoken_here(WORDS):
        return asking.prompt_answer(service, request)


def _hook(service: Service, request: Mapping[str, Any]) -> object:
    """Answer an event of a client; the connection's own thread notes it once the hook has gone.

    Connections are bounded: a hook that is one too many notes its event by itself. What the hook gave up
    waiting for is not noted, since it has asked full text by then.
    """
    from commonplace.cli import hook
    from commonplace.servers.local_server import Reply

    event = request["event"]

    def note() -> None:
        try:
            service.events().answer(event)
        except Exception as error:  # noqa: BLE001 - its words may be those of a tool, and a log keeps them
            service.tell(f"{type(error).__name__} while an event of a client was noted")

    if event.get("hook_event_name") not in hook.ANSWERED:
        return Reply(hook.TAKEN, note)
    text, given = service.events().compose(event)
    return Reply(hook.TAKEN + text.encode(), given)


DOORS: Mapping[str, Door] = {"search": _search, "prompt": _prompt, "hook": _hook}
