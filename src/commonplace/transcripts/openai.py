"""Messages as OpenAI's chat completions take them, one a line or all of them in one list."""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn

_ROLES = frozenset({"system", "developer", "user", "assistant", "tool", "function"})
_TIMES = ("timestamp", "created_at", "ts")  # which are no part of the format, and often there


def knows(value: Value) -> bool:
    """Tell whether a line is of this format."""
    said = value.get("content", value.get("tool_calls", 0))
    return content.text(value, "role") in _ROLES and isinstance(said, str | list | None)


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one."""
    if not knows(value):
        return None
    role, text = value["role"], content.text_of(value.get("content"))
    at = next(filter(None, (content.time(value.get(key)) for key in _TIMES)), "")
    if role == "assistant":
        return Turn("assistant", text, at, tuple(
            content.call({**content.mapping(call, "function"), "id": call.get("id")}, arguments="arguments")
            for call in content.mappings(value.get("tool_calls"))
        ))  # fmt: skip
    if role in ("tool", "function"):
        return Turn("tool", text, at, (), content.text(value, "tool_call_id"), content.text(value, "name"))
    return Turn("user" if role == "user" else "system", text, at)
