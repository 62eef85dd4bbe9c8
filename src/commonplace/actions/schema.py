"""JSON Schema (https://json-schema.org/draft/2020-12) of parameters and answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]


def text(about: str = "", *, least: int = 0, most: int | None = None, **more: object) -> Schema:
    """Describe a text of so many characters."""
    bounds = {**({"minLength": least} if least else {}), **({"maxLength": most} if most is not None else {})}
    return _about({"type": "string", **bounds, **more}, about)


def number(low: int, high: int, about: str = "") -> Schema:
    """Describe a whole number between two, both included."""
    return _about({"type": "integer", "minimum": low, "maximum": high}, about)


def flag(about: str = "") -> Schema:
    """Describe a yes or a no."""
    return _about({"type": "boolean"}, about)


def listed(items: Schema, about: str = "", most: int | None = None) -> Schema:
    """Describe a list."""
    return _about({"type": "array", "items": items, **({"maxItems": most} if most else {})}, about)


def record(required: str = "", /, **properties: Schema) -> Schema:
    """Describe an object that has no other properties; names of those that must be there, apart by blanks."""
    needed = {"required": required.split()} if required else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed}


def _about(schema: Schema, about: str) -> Schema:
    return {**schema, "description": about} if about else schema
