"""Operations of a warm server for commands of a shell, which then need not load the engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from commonplace.base import remedies
from commonplace.cli.remedies import WORDS

if TYPE_CHECKING:
    from commonplace.servers.methods import Service
    from commonplace.servers.programs import Handler, ProgramReply

MODELS_S = 0.1  # that a prompt waits for models, before words alone answer


def _search(service: Service, request: Mapping[str, Any]) -> object:
    from commonplace.cli import searching

    with service.lane, remedies.spoken_here(WORDS):
        return searching.answer(service, request)


def _prompt(service: Service, request: Mapping[str, Any]) -> object:
    from commonplace.cli import asking

    with service.lane, remedies.spoken_here(WORDS):
        return asking.prompt_answer(service, request)


def _hook(service: Service, request: Mapping[str, Any]) -> object:
    """Answer an event of a client; it is noted once the hook has gone.

    Requests are bounded: a hook that is one too many notes its event by itself.
    """
    from commonplace.cli import hook
    from commonplace.servers.programs import ProgramReply

    event, events = request["event"], service.events()

    def note() -> None:
        try:
            events.answer(event)
        except Exception as error:  # noqa: BLE001 - its words may be those of a tool, and a log keeps them
            service.tell(f"{type(error).__name__} while an event of a client was noted")

    if "is_late" in request:  # answered without a server, by words alone
        if request["is_late"] or event.get("hook_event_name") != "SessionStart":
            events.missed(event)
        return ProgramReply(hook.TAKEN, service.warm)
    if event.get("hook_event_name") in hook.ANSWERED:
        return _answered(service, event, is_named=bool(request.get("named")))
    return ProgramReply(hook.TAKEN, note)


def _answered(service: Service, event: Mapping[str, Any], *, is_named: bool) -> ProgramReply:
    """Answer an event that a client waits for; by words alone as long as the models are not loaded.

    An answer after the hook's deadline does not count as given, since the hook used full text by then: the
    next message brings it, as it brings the models' hits if the models were not loaded yet.
    """
    from commonplace.cli import hook
    from commonplace.servers.programs import ProgramReply

    events, is_start = service.events(), event["hook_event_name"] == "SessionStart"
    by_words = not is_start and not service.is_warm(MODELS_S)
    if by_words:
        root = service.memory.workspace.root
        with hook.open_memory(root, service.agent, is_named=is_named, words_alone=True) as memory:
            text, given = type(events)(memory, service.agent).compose(event)
    else:
        text, given = events.compose(event)

    def sent() -> None:
        given()
        if by_words:
            events.missed(event)
        if is_start:
            service.warm()

    return ProgramReply(hook.TAKEN + text.encode(), sent, lambda: events.missed(event))


DOORS: Mapping[str, Handler] = {"search": _search, "prompt": _prompt, "hook": _hook}
