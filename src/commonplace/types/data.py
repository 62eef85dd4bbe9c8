"""Values as JSON has them, and lines as hits cite them."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any


def to_data(value: object) -> Any:  # noqa: ANN401 - what `json.dumps` takes
    """Return a value with everything in it as mappings, lists and scalars.

    A class says in `JSON` which attributes are shown, in that order; `score=shown_score` shows `shown_score`
    as `score`.
    Without it a dataclass shows its fields and a named tuple its items.
    """
    if names := getattr(value, "JSON", "") or _names(value):
        pairs = (name.partition("=") for name in names.split())
        return {name: to_data(getattr(value, attribute or name)) for name, _, attribute in pairs}
    if isinstance(value, Mapping):
        return {key: to_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(inner) for inner in value]
    return value


def _names(value: object) -> str:
    """The fields of a dataclass, the items of a named tuple; empty for anything else."""
    from dataclasses import fields, is_dataclass

    if is_dataclass(value):
        return " ".join(field.name for field in fields(value))
    return " ".join(getattr(value, "_fields", ()))


def cite(path: str, start_line: int, end_line: int) -> str:
    """Return `path#L12-L18`, or `path#L12` for a single line."""
    return f"{path}#L{start_line}" + (f"-L{end_line}" if end_line != start_line else "")
