"""nanobot: `WORKSPACE/sessions/KEY.jsonl`, a line about the session, then messages as chat completions'.

The host writes the file anew at every save. It marks what it appended to a message of the user, so that this
can be taken off exactly.
"""

from __future__ import annotations

from commonplace.transcripts import content, openai
from commonplace.transcripts.content import Value
from commonplace.types.events import Turn


def knows(value: Value) -> bool:
    """Tell whether a line is of this format; only the first line of a file shows it."""
    return value.get("_type") == "metadata"


def turn(value: Value) -> Turn | None:
    """Return the message of a line, if it holds one that is not of an automation."""
    if "_type" in value or value.get("_automation_turn"):
        return None
    text = value.get("content")
    for mark in content.mappings(list(value.values())):
        if mark.get("version") == 1:
            text = _without(text, mark.get("suffix"), mark.get("blocks"))
    return openai.turn({**value, "content": text} if "content" in value else value)


def _without(text: object, suffix: object, blocks: object) -> object:
    """Return a content without what its host appended to it."""
    if isinstance(text, str) and isinstance(suffix, str) and suffix:
        return text.removesuffix(suffix).rstrip("\n")
    if isinstance(text, list) and isinstance(blocks, list) and text[-len(blocks) :] == blocks:
        return text[: len(text) - len(blocks)]
    return text
