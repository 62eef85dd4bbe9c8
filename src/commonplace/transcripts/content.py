"""What the formats share: contents in blocks, arguments of calls, times."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from commonplace.types.events import Call, Turn

Value = Mapping[str, object]
_TEXTS = frozenset({"text", "input_text", "output_text"})
_MILLISECONDS_FROM = 1e11  # a time larger than this is not in seconds


class Conversation(NamedTuple):
    """One conversation of several in a file: its title, when it began (ISO 8601), what was said."""

    title: str
    at: str
    turns: Sequence[Turn]


def blocks(content: object, *kinds: str) -> list[Value]:
    """Return the blocks of a content that are of one of these kinds."""
    found = content if isinstance(content, list) else []
    return [block for block in found if isinstance(block, Mapping) and block.get("type") in kinds]


def text_of(content: object) -> str:
    """Return the text of a content: one text, or blocks, of which thoughts, images and tools are left out."""
    if isinstance(content, str):
        return content
    found = content if isinstance(content, list) else []
    return "\n".join(filter(None, map(_text_of, found)))


def _text_of(block: object) -> str:
    if isinstance(block, Mapping):
        return text(block, "text") if text(block, "type") in _TEXTS else ""
    return block if isinstance(block, str) else ""


def text(value: Value, key: str) -> str:
    """Return the text at a key, empty where there is none."""
    found = value.get(key)
    return found if isinstance(found, str) else ""


def mapping(value: Value, key: str) -> Value:
    """Return the mapping at a key, empty where there is none."""
    found = value.get(key)
    return found if isinstance(found, Mapping) else {}


def call(value: Value, *, id: str = "id", arguments: str = "input") -> Call:
    """Return the call that a block asks for, from the keys of its format."""
    given = value.get(arguments)
    told = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return Call(text(value, id), text(value, "name"), "" if given is None else told)


def time(value: object) -> str:
    """Return a time as ISO 8601: a text as it is, a number as seconds or milliseconds since 1970."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    try:
        seconds = value / 1000 if value > _MILLISECONDS_FROM else value
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")
    except (ValueError, OverflowError, OSError):
        return ""


def day(at: str) -> str:
    """Return the day of a time, on this machine's clock, as YYYY-MM-DD; empty where it is none."""
    try:
        moment = datetime.fromisoformat(at)
        return (moment.astimezone() if moment.tzinfo else moment).date().isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
