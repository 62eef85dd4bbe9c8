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
    from commonplace.cli import hook

    return hook.answer(service, request)


DOORS: Mapping[str, Door] = {"search": _search, "prompt": _prompt, "hook": _hook}
