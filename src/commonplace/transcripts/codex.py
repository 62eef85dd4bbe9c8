"""Codex: `~/.codex/sessions/YYYY/MM/DD/rollout-….jsonl`, an event a line with a payload.

Messages stand there twice, as items of the model's conversation and as events for the screen; the items are
read. Files of the first versions hold the items themselves.
"""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Call, Turn

_EVENTS = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call"})
_RESULTS = frozenset({"function_call_output", "custom_tool_call_output"})
_ITEMS = frozenset({"message", "reasoning"}) | _CALLS | _RESULTS


def knows(value: Value) -> bool:
    """Whether a line is of this format."""
    if content.text(value, "type") in _EVENTS:
        return isinstance(value.get("payload"), dict)
    bare = content.text(value, "type") in _ITEMS and "message" not in value and "sessionId" not in value
    return bare or ("instructions" in value and "id" in value and "timestamp" in value)


def turn(value: Value) -> Turn | None:
    """Return the message, the call or the result of a line, if it holds one."""
    item = content.mapping(value, "payload") if value.get("type") == "response_item" else value
    kind, at = content.text(item, "type"), content.text(value, "timestamp")
    if kind == "message" and item.get("role") == "user":
        return Turn("user", content.text_of(item.get("content")), at)
    if kind == "message" and item.get("role") == "assistant":
        return Turn("assistant", content.text_of(item.get("content")), at)
    if kind in _CALLS:
        return Turn("assistant", "", at, (_call(item),))
    if kind in _RESULTS:
        return Turn("tool", content.text(item, "output"), at, answers=content.text(item, "call_id"))
    return None


def _call(item: Value) -> Call:
    if item.get("type") == "local_shell_call":
        shell = {"id": item.get("call_id"), "name": "shell", "input": item.get("action")}
        return content.call(shell)
    given = "input" if item.get("type") == "custom_tool_call" else "arguments"
    return content.call(item, id="call_id", arguments=given)
