"""Claude's export: `conversations.json`, a list of conversations with their messages in order."""

from __future__ import annotations

from dataclasses import replace

from commonplace.transcripts import content
from commonplace.transcripts.content import Conversation, Value
from commonplace.types.events import Turn

_ROLES = {"human": "user", "assistant": "assistant"}


def knows(value: Value) -> bool:
    """Tell whether an element of the list is of this format."""
    return isinstance(value.get("chat_messages"), list)


def conversation(value: Value) -> Conversation:
    """Return a conversation: of a message the blocks, since `text` also holds tool results."""
    turns: list[Turn] = []
    for message in content.mappings(value.get("chat_messages")):
        body, role = message.get("content"), _ROLES.get(content.text(message, "sender"))
        if turn := content.message(role, body, content.text(message, "created_at"), "tool_use"):
            text = turn.text if content.blocks(body, "text") else content.text(message, "text")
            attached = (
                f"[{content.text(one, 'file_name') or 'attachment'}] {within}"
                for one in content.mappings(message.get("attachments"))
                if (within := content.text(one, "extracted_content"))
            )
            turns.append(replace(turn, text="\n".join([text, *attached])))
    return Conversation(content.text(value, "name"), content.text(value, "created_at"), turns)
