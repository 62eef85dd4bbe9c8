"""A turn as one line of JSON, and back: the format of `sessions/*.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from commonplace.transcripts import lines
from commonplace.types.events import Call, Speaker, Turn

SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
# JSON leaves these as they are, and some readers take them for the end of a line.
_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def line(turn: Turn) -> bytes:
    """Return a turn as a line with its end; what is empty is left out, but for role and text."""
    content: dict[str, object] = {"role": turn.role, "text": turn.text}
    if turn.at:
        content["at"] = turn.at
    if turn.calls:
        content["calls"] = [{"id": c.id, "name": c.name, "arguments": c.arguments} for c in turn.calls]
    if turn.answers:
        content["answers"] = turn.answers
    if turn.tool:
        content["tool"] = turn.tool
    return encoded(content) + b"\n"


def encoded(value: object) -> bytes:
    """Return a JSON value on one line for any reader."""
    try:
        return json.dumps(value, ensure_ascii=False).translate(_BREAKS).encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which only an escape can hold
        return json.dumps(value).encode()


def parsed(raw: bytes) -> object:
    """Return the value on a line, None for one that is cut, damaged or no message by its size.

    NULs of a power cut are passed over.
    """
    raw = raw.strip(b"\0 \t\r\n")
    try:
        lines.check_values(raw)
        value: object = json.loads(raw) if raw else None
    except (ValueError, RecursionError):
        return None
    return value


def knows(content: Mapping[str, object]) -> bool:
    """Whether a line is of this format."""
    return content.get("role") in SPEAKERS and isinstance(content.get("text"), str)


def turn(content: object) -> Turn | None:
    """Return the turn of a line's value, or None where it holds none; unknown keys are passed over."""
    if not isinstance(content, Mapping) or content.get("role") not in SPEAKERS:
        return None
    text, calls = content.get("text"), _calls(content.get("calls"))
    if not isinstance(text, str) and not calls:
        return None
    return Turn(
        cast(Speaker, content["role"]),
        text if isinstance(text, str) else "",
        *(_text(content, "at"), calls, _text(content, "answers"), _text(content, "tool")),
    )


def _calls(value: object) -> tuple[Call, ...]:
    found = value if isinstance(value, list) else []
    return tuple(
        Call(_text(call, "id"), _text(call, "name"), _text(call, "arguments"))
        for call in found
        if isinstance(call, Mapping)
    )


def _text(content: Mapping[str, object], key: str) -> str:
    value = content.get(key)
    return value if isinstance(value, str) else ""
