"""Completions for a person who types an argument of a prompt or of an address of notes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from commonplace.config.settings import WORKSPACE_COLLECTION as WORKSPACE
from commonplace.servers import resources
from commonplace.servers.prompts import PROMPTS
from commonplace.servers.protocol import PARAMS, Refusal, mapping

if TYPE_CHECKING:
    from commonplace.memory import Memory

MOST = 100  # values of one answer, by the specification


def complete(memory: Memory, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values that an argument may have, those that begin with what is typed first.

    https://modelcontextprotocol.io/specification/2025-11-25/server/utilities/completion. Raises Refusal for a
    reference or an argument that there is not.
    """
    argument = mapping(params, "argument")
    name, typed = argument.get("name"), argument.get("value")
    if not isinstance(name, str) or not isinstance(typed, str):
        raise Refusal(PARAMS, "argument must have a name and a value, both texts")
    values = _matching(_values(memory, mapping(params, "ref"), name, params), typed)
    return {"values": values[:MOST], "total": len(values), "hasMore": len(values) > MOST}


def _values(memory: Memory, ref: Mapping[str, Any], name: str, params: Mapping[str, Any]) -> Iterable[str]:
    """All values that an argument may have. Raises Refusal."""
    template = resources.TEMPLATE["uriTemplate"]
    match ref.get("type"), ref.get("uri", ref.get("name")), name:
        case "ref/resource", uri, "collection" if uri == template:
            return resources.collections(memory)
        case "ref/resource", uri, "path" if uri == template:
            chosen = mapping(params, "context", "arguments").get("collection")
            return resources.paths(memory, chosen if isinstance(chosen, str) else WORKSPACE)
        case "ref/prompt", prompt, _ if any((one.name, one.argument) == (prompt, name) for one in PROMPTS):
            # Topics are the titles of notes.
            return dict.fromkeys(note.title for note in memory.notes() if note.title)
    known = [f"{one.argument} of {one.name}" for one in PROMPTS]
    raise Refusal(
        PARAMS, f"nothing completes this; there are collection and path of {template}, {', '.join(known)}"
    )


def _matching(values: Iterable[str], typed: str) -> list[str]:
    """The values that hold what is typed, in any case; those that begin with it first."""
    sought = typed.casefold()
    holding = [(value.casefold(), value) for value in values if sought in value.casefold()]
    return [value for _, value in sorted(holding, key=lambda one: (not one[0].startswith(sought), one[0]))]
