"""nanobot: `WORKSPACE/sessions/KEY.jsonl`, a line about the session, then messages as chat completions'.

The file is written anew as a whole at every save. What the host appended to a message of the user is marked,
so that it can be taken off exactly.
"""

from __future__ import annotations

from collections.abc import Mapping

from commonplace.transcripts import openai
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn


def knows(value: Value) -> bool:
    """Whether a line is of this format; only the first one tells."""
    return value.get("_type") == "metadata"


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one; those of automations were said by nobody."""
    if "_type" in value or value.get("_automation_turn"):
        return None
    text = value.get("content")
    for mark in value.values():
        if not isinstance(mark, Mapping) or mark.get("version") != 1:
            continue
        suffix, blocks = mark.get("suffix"), mark.get("blocks")
        if isinstance(text, str) and isinstance(suffix, str) and suffix:
            text = text.removesuffix(suffix).rstrip("\n")
        elif isinstance(text, list) and isinstance(blocks, list) and text[-len(blocks) :] == blocks:
            text = text[: len(text) - len(blocks)]
    return openai.turn({**value, "content": text} if "content" in value else value)
