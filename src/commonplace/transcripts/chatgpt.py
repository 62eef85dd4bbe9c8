"""ChatGPT's export: `conversations.json`, a list of conversations, each a tree of messages.

Of a tree the branch is read that ends at `current_node`: answers that were thrown away stay out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from commonplace.transcripts import content
from commonplace.transcripts.content import Conversation, Value
from commonplace.types.events import Call, Turn

_SPOKEN = frozenset({"text", "multimodal_text"})
_HIDDEN = "is_visually_hidden_from_conversation"


def knows(value: Value) -> bool:
    """Whether an element of the list is of this format."""
    return isinstance(value.get("mapping"), Mapping)


def conversation(value: Value) -> Conversation:
    """Return a conversation."""
    turns = [turn for message in _branch(value) if (turn := _turn(message))]
    return Conversation(content.text(value, "title"), content.time(value.get("create_time")), turns)


def _branch(value: Value) -> list[Value]:
    """The messages from the first one to the current one."""
    nodes = content.mapping(value, "mapping")
    name: object = content.text(value, "current_node")
    if name not in nodes:
        name = next(reversed(list(nodes)), None)
    found, seen = [], set()
    while isinstance(name, str) and name in nodes and name not in seen:
        seen.add(name)
        node = content.mapping(nodes, name)
        found.append(content.mapping(node, "message"))
        name = node.get("parent")
    return found[::-1]


def _turn(message: Value) -> Turn | None:
    role = content.mapping(message, "author").get("role")
    said, at = content.mapping(message, "content"), content.time(message.get("create_time"))
    if content.mapping(message, "metadata").get(_HIDDEN) or role not in ("user", "assistant"):
        return None
    recipient = content.text(message, "recipient")
    if role == "assistant" and recipient not in ("", "all"):
        told = content.text(said, "text") or "\n".join(_parts(said))
        return Turn("assistant", "", at, (Call("", recipient, told),))
    if content.text(said, "content_type") not in _SPOKEN:
        return None  # thoughts, custom instructions, results
    return Turn("user" if role == "user" else "assistant", "\n".join(_parts(said)), at)


def _parts(said: Value) -> Iterator[str]:
    parts = said.get("parts")
    for part in parts if isinstance(parts, list) else []:
        text = part.get("text") if isinstance(part, Mapping) else part  # a transcription of what was spoken
        if isinstance(text, str) and text:
            yield text
