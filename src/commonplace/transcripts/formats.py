"""The formats of transcripts: a table, and the one that a file is of, told from what is in it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from commonplace.transcripts import chatgpt, claude, claude_code, codex, nanobot, openai, openclaw, ours
from commonplace.transcripts.content import Conversation, Value
from commonplace.types.events import Turn

AUTO = "auto"


class Format(NamedTuple):
    """A format: what tells it, and how a message (or, of an archive, a conversation) of it is read."""

    name: str
    title: str
    knows: Callable[[Value], bool]
    turn: Callable[[Value], Turn | None] | None = None
    conversation: Callable[[Value], Conversation] | None = None


# In the order in which they are tried: what says more of itself first.
FORMATS = (
    Format("claude-code", "Claude Code", claude_code.knows, claude_code.turn),
    Format("codex", "Codex", codex.knows, codex.turn),
    Format("openclaw", "OpenClaw", openclaw.knows, openclaw.turn),
    Format("nanobot", "nanobot", nanobot.knows, nanobot.turn),
    Format("commonplace", "commonplace", ours.knows, ours.turn),
    Format("openai", "OpenAI messages", openai.knows, openai.turn),
    Format("chatgpt", "ChatGPT export", chatgpt.knows, conversation=chatgpt.conversation),
    Format("claude", "Claude export", claude.knows, conversation=claude.conversation),
)
_BY_NAME: Mapping[str, Format] = {row.name: row for row in FORMATS}


def find(name: str) -> Format | None:
    """Return the format of a name; None for `auto` and for names of none."""
    return _BY_NAME.get(name)


def told(values: Iterable[object]) -> Format | None:
    """Return the format that the first value which is of any is of."""
    for value in values:
        if isinstance(value, Mapping):
            for row in FORMATS:
                if row.knows(value):
                    return row
    return None
