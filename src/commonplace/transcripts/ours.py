"""A turn as one line of JSON, and back: the format of `sessions/*.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import cast, get_args

from commonplace.transcripts import content
from commonplace.transcripts.content import Value
from commonplace.types.data import to_data
from commonplace.types.events import Call, Speaker, Turn

SPEAKERS: tuple[Speaker, ...] = get_args(Speaker)
# JSON leaves these as they are, and some readers take them for the end of a line.
_BREAKS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}


def line(turn: Turn) -> bytes:
    """Return a turn as a line with its end; what is empty is left out, but for role and text."""
    return encoded({k: part for k, part in to_data(turn).items() if part or k in ("role", "text")}) + b"\n"


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
        content.check_values(raw)
        return content.parsed(raw) if raw else None
    except (ValueError, RecursionError):
        return None


def knows(value: Value) -> bool:
    """Tell whether a line is of this format."""
    return value.get("role") in SPEAKERS and isinstance(value.get("text"), str)


def turn(value: object) -> Turn | None:
    """Return the turn of a line's value; None for other values. Unknown keys are ignored."""
    if not isinstance(value, Mapping) or value.get("role") not in SPEAKERS:
        return None
    calls = content.mappings(value.get("calls"))
    if not isinstance(value.get("text"), str) and not calls:
        return None
    text, at, answers, tool = (content.text(value, key) for key in ("text", "at", "answers", "tool"))
    asked = [Call(*(content.text(call, key) for key in ("id", "name", "arguments"))) for call in calls]
    return Turn(cast(Speaker, value["role"]), text, at, tuple(asked), answers, tool)
