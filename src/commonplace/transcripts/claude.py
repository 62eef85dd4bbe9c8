"""Claude's export: `conversations.json`, a list of conversations with their messages in order."""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.transcripts import content
from commonplace.transcripts.content import Conversation, Value
from commonplace.types.events import Turn


def knows(value: Value) -> bool:
    """Whether an element of the list is of this format."""
    return isinstance(value.get("chat_messages"), list)


def conversation(value: Value) -> Conversation:
    """Return a conversation."""
    messages = value.get("chat_messages")
    found = messages if isinstance(messages, list) else []
    turns = [turn for message in found if isinstance(message, Mapping) and (turn := _turn(message))]
    return Conversation(content.text(value, "name"), content.text(value, "created_at"), turns)


def _turn(message: Value) -> Turn | None:
    """A message; its blocks where there are some, since its `text` also holds what tools answered."""
    at, said = content.text(message, "created_at"), message.get("content")
    text = content.text_of(said) if content.blocks(said, "text") else content.text(message, "text")
    if message.get("sender") == "human":
        return Turn("user", text, at)
    if message.get("sender") != "assistant":
        return None
    calls = content.blocks(said, "tool_use")
    return Turn("assistant", text, at, tuple(map(content.call, calls)))
