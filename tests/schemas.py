"""Schemas of tools and of the HTTP API use no keyword that is described and not checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

KNOWN = {
    "title", "description", "default", "examples", "$schema", "type", "properties", "additionalProperties",
    "required", "items", "enum", "anyOf", "minItems", "maxItems", "minLength", "maxLength", "minimum", "maximum",
}  # fmt: skip
TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}


def check(schema: Mapping[str, Any]) -> None:
    """Assert that `providers.llm.schemas` knows every keyword and type of a schema."""
    kind = schema.get("type", [])
    assert schema.keys() <= KNOWN, schema
    assert ({kind} if isinstance(kind, str) else set(kind)) <= TYPES, schema
    parts = [*schema.get("properties", {}).values(), *schema.get("anyOf", ())]
    parts += [
        schema[name] for name in ("items", "additionalProperties") if isinstance(schema.get(name), Mapping)
    ]
    for part in parts:
        check(part)
