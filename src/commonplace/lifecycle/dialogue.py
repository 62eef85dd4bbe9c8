"""Conversations on their way to a model: turns as its messages, messages as turns, and what they take."""

from __future__ import annotations

from collections.abc import Iterable

from commonplace.estimates import about
from commonplace.llm.base import Message, ToolCall
from commonplace.types.conversation import Call, Turn

_AROUND = 4  # tokens that a chat template puts around a message


def messages(turns: Iterable[Turn]) -> tuple[Message, ...]:
    """Return turns as a model is sent them.

    Two of the user in a row become one, since the templates of many models take only alternating ones.
    """
    made: list[Message] = []
    for turn in turns:
        calls = tuple(ToolCall(call.id, call.name, call.arguments) for call in turn.calls)
        if turn.role == "user" and made and made[-1].role == "user":
            made[-1] = Message("user", f"{made[-1].content}\n\n{turn.text}")
        else:
            made.append(Message(turn.role, turn.text, calls, turn.answers))
    return tuple(made)


def turns(sent: Iterable[Message], at: str = "") -> tuple[Turn, ...]:
    """Return messages as turns said `at` a moment; a tool's answer is named after the call it answers."""
    names: dict[str, str] = {}
    made = []
    for message in sent:
        names |= {call.id: call.name for call in message.calls}
        calls = tuple(Call(call.id, call.name, call.arguments) for call in message.calls)
        tool = names.get(message.answers, "") if message.role == "tool" else ""
        made.append(Turn(message.role, message.content, at, calls, message.answers, tool))
    return tuple(made)


def tokens(conversation: Iterable[Turn]) -> int:
    """About how many tokens turns take in a request."""
    return sum(map(weigh, conversation))


def weigh(turn: Turn) -> int:
    """About how many tokens one turn takes, its tool calls included."""
    calls = sum(about(call.name) + about(call.arguments) for call in turn.calls)
    return _AROUND + about(turn.text) + calls
