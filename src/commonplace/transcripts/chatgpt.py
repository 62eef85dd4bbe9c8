"""ChatGPT's export: `conversations.json`, a list of conversations, each a tree of messages.

Only the branch that ends at `current_node` is read: answers that were thrown away stay out.
"""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.transcripts import content
from commonplace.transcripts.content import Conversation, Value
from commonplace.types.events import Call, Turn

_SPOKEN = frozenset({"text", "multimodal_text"})
_HIDDEN = "is_visually_hidden_from_conversation"


def knows(value: Value) -> bool:
    """Tell whether an element of the list is of this format."""
    return isinstance(value.get("mapping"), Mapping)


def conversation(value: Value) -> Conversation:
    """Return a conversation: the messages from the first one to the current one."""
    nodes = content.mapping(value, "mapping")
    name: object = content.text(value, "current_node")
    if name not in nodes:
        name = next(reversed(list(nodes)), None)
    branch: dict[str, Turn | None] = {}  # by the names of nodes; a damaged tree may have a circle
    while isinstance(name, str) and name in nodes and name not in branch:
        node = content.mapping(nodes, name)
        branch[name] = _turn(content.mapping(node, "message"))
        name = node.get("parent")
    turns = [turn for turn in branch.values() if turn]
    return Conversation(content.text(value, "title"), content.time(value.get("create_time")), turns[::-1])


def _spoken(parts: object) -> str:
    """The text of the parts of a message, some of which are mappings: what was spoken, written down."""
    items = parts if isinstance(parts, list) else []
    texts = [part.get("text") if isinstance(part, Mapping) else part for part in items]
    return "\n".join(text for text in texts if text and isinstance(text, str))


def _turn(message: Value) -> Turn | None:
    role = content.mapping(message, "author").get("role")
    body, at = content.mapping(message, "content"), content.time(message.get("create_time"))
    if content.mapping(message, "metadata").get(_HIDDEN) or role not in ("user", "assistant"):
        return None
    text = _spoken(body.get("parts"))
    recipient = content.text(message, "recipient")
    if role == "assistant" and recipient not in ("", "all"):
        return Turn("assistant", "", at, (Call("", recipient, content.text(body, "text") or text),))
    if content.text(body, "content_type") not in _SPOKEN:
        return None  # thoughts, custom instructions, results
    return Turn("user" if role == "user" else "assistant", text, at)
