"""The arguments of a tool as people and weak models give them, read as the tool takes them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import date, datetime
from typing import Any

from commonplace.base.errors import ConfigError

_WHOLE = re.compile(r"([+-]?\d{1,15})(?:\.0*)?")
_NULL = frozenset({"null", "none", "undefined"})
_FLAGS = {"true": True, "false": False}
_SHOWN = 60  # characters of a value in an error
DAYS = "2026-02-13, 2026-02, yesterday, last Tuesday, 上周三"  # how a time may be written, in an error


def fitted(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> dict[str, object]:
    """Return arguments in the types of a schema, as far as they say what is meant.

    Numbers and booleans may come as text, a list as JSON or as one text with commas. A null, or an empty
    value of another type than text, counts as not given. The rest stays as it is, for the schema to refuse.
    """
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    values = {}
    for name, value in arguments.items():
        kind = properties.get(name, {})
        is_text = kind.get("type") == "string" and "enum" not in kind
        may_lack = name in properties and name not in schema.get("required", ())
        if isinstance(value, str) and value.strip().lower() in _NULL and not is_text:
            value = None
        if value is None or (may_lack and not is_text and value in ("", [])):
            continue
        values[name] = _fitted(value, kind)
    return values


def _fitted(value: object, kind: Mapping[str, Any]) -> object:
    if isinstance(value, float) and value.is_integer() and kind.get("type") == "integer":
        return int(value)  # JSON knows 5.0 as an integer
    if not isinstance(value, str):
        return value
    text = value.strip()
    match kind.get("type"):
        case "integer" if whole := _WHOLE.fullmatch(text):
            return int(whole[1])
        case "boolean":
            return _FLAGS.get(text.lower(), value)
        case "array":
            return _texts(text)
        case "string" if "enum" in kind:
            return text.lower()
    return value


def _texts(text: str) -> list[object]:
    """A list that came as one text."""
    if text.startswith("["):
        try:
            read = json.loads(text)
        except (ValueError, RecursionError):
            read = None
        if isinstance(read, list):
            return read
    return [part.strip() for part in text.split(",") if part.strip()]


def day(name: str, text: str) -> tuple[date, date] | None:
    """Return the first and the last day of a time in any words for it, as seen from today; None for no text.

    Raises ConfigError with what would be right.
    """
    from commonplace.language import dates

    written = unquoted(text)
    if not written:
        return None
    if span := dates.read(written, date.today()):
        return span.first, span.last
    shown = written if len(written) <= _SHOWN else f"{written[: _SHOWN - 1]}…"
    raise ConfigError(name, f"{shown!r} is no date that is understood; write {DAYS}")


def unquoted(text: str) -> str:
    """Return a time or a reference without the quotation marks around it, and a moment as its day."""
    text = text.strip().strip("\"'“”「」").strip()
    try:
        return datetime.fromisoformat(text).date().isoformat() if "T" in text[10:11] else text
    except ValueError:
        return text


def question(arguments: Mapping[str, Any]) -> str:
    """Return the question of a search with the filters among its arguments. Raises ConfigError.

    In its text only phrases and exclusions are operators: a model may pass a whole message.
    """
    filters = []
    if after := day("after", arguments.get("after", "")):
        filters.append(f"after:{after[0]}")
    if before := day("before", arguments.get("before", "")):
        filters.append(f"before:{before[1]}")
    if path := str(arguments.get("path", "")).strip():
        if '"' in path or "\n" in path:
            raise ConfigError("path", f"{path!r} is not allowed; leave out quotation marks and line breaks")
        filters.append(f'path:"{path}"')
    from commonplace.search import wording
    from commonplace.search.query import DIALOGUE_CHARACTERS

    query, written = str(arguments["query"]), " ".join(filters)
    # Before a question: an open quotation mark in it would take in what follows.
    room = max(0, DIALOGUE_CHARACTERS - len(written) - 1) if written else len(query)
    asked = wording.plain(query) if len(query) <= room else wording.words(query, room)
    return f"{written} {asked}".strip()
