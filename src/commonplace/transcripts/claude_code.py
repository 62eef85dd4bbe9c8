"""Claude Code: `~/.claude/projects/FOLDER/ID.jsonl`, an event a line, its message as the API has it.

Left out: what the program itself put in (`isMeta`), the talk of sub-agents (`isSidechain`), and summaries of
what stands above (`isCompactSummary`).
"""

from __future__ import annotations

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn

_EVENTS = frozenset({"user", "assistant", "system", "summary", "file-history-snapshot", "queue-operation"})
_MARKS = frozenset({"sessionId", "uuid", "parentUuid", "leafUuid", "messageId"})
_NOT_SAID = ("isMeta", "isSidechain", "isCompactSummary")


def knows(value: Value) -> bool:
    """Whether a line is of this format."""
    return content.text(value, "type") in _EVENTS and not _MARKS.isdisjoint(value)


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one."""
    role, message = value.get("type"), content.mapping(value, "message")
    if role not in ("user", "assistant") or not message or any(value.get(key) for key in _NOT_SAID):
        return None
    at, said = content.text(value, "timestamp"), message.get("content")
    text = content.text_of(said)
    if role == "assistant":
        calls = tuple(content.call(block) for block in content.blocks(said, "tool_use"))
        return Turn("assistant", text, at, calls)
    results = content.blocks(said, "tool_result")
    if results and not text:
        told = "\n".join(content.text_of(block.get("content")) for block in results)
        return Turn("tool", told, at, answers=content.text(results[0], "tool_use_id"))
    return Turn("user", text, at)
