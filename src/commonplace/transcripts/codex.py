"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, an event a line with a payload.

Messages are recorded twice, as items of the model's conversation and as events for the screen; the items are
read. Files of the first versions hold the items themselves. The file of a sub-agent is left out.
"""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn

_EVENTS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS = {"function_call": "arguments", "custom_tool_call": "input", "local_shell_call": "action"}
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_ITEMS = frozenset({"message", "reasoning", *_CALLS}) | _RESULTS


def knows(value: Value) -> bool:
    """Tell whether a line is of this format."""
    if content.text(value, "type") in _EVENTS:
        return isinstance(value.get("payload"), dict)
    bare = content.text(value, "type") in _ITEMS and "message" not in value and "sessionId" not in value
    return bare or ("instructions" in value and "id" in value and "timestamp" in value)


def is_apart(value: Value) -> bool:
    """Tell whether the file that begins with a line is a sub-agent's."""
    return "subagent" in content.mapping(content.mapping(value, "payload"), "source")


def turn(value: Value) -> Turn | None:
    """Return the message, the call or the result of a line, if it holds one."""
    item = content.mapping(value, "payload") if value.get("type") == "response_item" else value
    kind, at = content.text(item, "type"), content.text(value, "timestamp")
    if kind == "message":
        return content.message(item.get("role"), item.get("content"), at)
    if kind in _CALLS:
        named = {**item, "name": "shell"} if kind == "local_shell_call" else item
        return Turn("assistant", "", at, (content.call(named, id="call_id", arguments=_CALLS[kind]),))
    if kind in _RESULTS:
        return Turn("tool", content.text(item, "output"), at, answers=content.text(item, "call_id"))
    return None
