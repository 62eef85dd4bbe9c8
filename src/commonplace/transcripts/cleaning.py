"""Turns as they may be written down: without recalled notes, private parts and secrets."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from commonplace.redaction.recalled import strip_blocks
from commonplace.redaction.redact import redact, strip_private
from commonplace.types.events import Call, Turn


def cleaned(turn: Turn) -> Turn:
    """Return a turn without what must not reach a disk, in its text, its calls and their arguments."""
    calls = tuple(Call(call.id, _text(call.name), _arguments(call.arguments)) for call in turn.calls)
    return replace(turn, text=_text(turn.text), calls=calls, tool=_text(turn.tool))


def _text(text: str) -> str:
    return redact(strip_private(strip_blocks(text)))[0]


def _arguments(text: str) -> str:
    """Clean every text inside of JSON, where escapes would hide it, then the whole, where names tell."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return _text(text)
    inner = _inside(value)
    return redact(text if inner == value else json.dumps(inner, ensure_ascii=False))[0]


def _inside(value: object) -> object:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, list):
        return [_inside(item) for item in value]
    if isinstance(value, Mapping):
        return {_text(key): _inside(item) for key, item in value.items()}
    return value
