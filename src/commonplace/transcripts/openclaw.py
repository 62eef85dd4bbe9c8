"""OpenClaw: `~/.openclaw/agents/NAME/sessions/ID.jsonl`, a head, then events; some of them hold messages."""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn


def knows(value: Value) -> bool:
    """Whether a line is of this format."""
    if value.get("type") == "session":
        return "version" in value and "id" in value and "timestamp" in value
    return value.get("type") == "message" and "role" in content.mapping(value, "message")


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one."""
    message = content.mapping(value, "message")
    if value.get("type") != "message" or not message:
        return None
    at = content.text(value, "timestamp") or content.time(message.get("timestamp"))
    role, body = message.get("role"), message.get("content")
    if role == "toolResult":
        names = content.text(message, "toolCallId"), content.text(message, "toolName")
        return Turn("tool", content.text_of(body), at, (), *names)
    return content.message(role, body, at, "toolCall", "arguments")
