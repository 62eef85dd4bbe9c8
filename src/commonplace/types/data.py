"""Values as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any


def to_data(value: object) -> Any:  # noqa: ANN401 - what `json.dumps` takes
    """Return a value with everything in it as mappings, lists and scalars.

    A class says in `JSON` which attributes are shown, in that order; `also=others` shows `others` as `also`.
    Without it a dataclass shows its fields and a named tuple its items.
    """
    spec = getattr(value, "JSON", "")
    if not spec and is_dataclass(value):
        spec = " ".join(field.name for field in fields(value))
    elif not spec:
        spec = " ".join(getattr(value, "_fields", ()))
    if spec:
        pairs = (name.partition("=") for name in spec.split())
        return {name: to_data(getattr(value, attribute or name)) for name, _, attribute in pairs}
    if isinstance(value, Mapping):
        return {key: to_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(inner) for inner in value]
    return value
