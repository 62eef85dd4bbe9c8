"""Claude Code: `~/.claude/projects/FOLDER/ID.jsonl`, an event a line, its message as the API has it.

Left out: what the program itself put in (`isMeta`), the talk of sub-agents (`isSidechain`), summaries of
earlier messages (`isCompactSummary`), and errors in the place of an answer (`isApiErrorMessage`).
"""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn

_EVENTS = frozenset({"user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation"})
_MARKS = frozenset({"sessionId", "uuid", "parentUuid", "leafUuid", "messageId"})
_NOT_SPOKEN = ("isMeta", "isSidechain", "isCompactSummary", "isApiErrorMessage")


def knows(value: Value) -> bool:
    """Tell whether a line is of this format."""
    return content.text(value, "type") in _EVENTS and not _MARKS.isdisjoint(value)


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one."""
    message, role = content.mapping(value, "message"), value.get("type")
    if any(value.get(key) for key in _NOT_SPOKEN):
        return None
    at, body = content.text(value, "timestamp"), message.get("content")
    results = content.blocks(body, "tool_result")
    if role == "user" and results and not content.text_of(body):
        answer = "\n".join(content.text_of(block.get("content")) for block in results)
        return Turn("tool", answer, at, answers=content.text(results[0], "tool_use_id"))
    return content.message(role, body, at, "tool_use") if message else None
