"""Values as JSON has them, and lines as hits cite them."""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any


def to_data(value: object) -> Any:  # noqa: ANN401 - what `json.dumps` takes
    """Return a value with everything in it as mappings, lists and scalars.

    A class says in `JSON` which attributes are shown, in that order; `id=docid` shows `docid` as `id`,
    `score:4` a score to four places. Without it a dataclass shows its fields and a named tuple its items.
    """
    if names := getattr(value, "JSON", "") or _names(value):
        return dict(_shown(value, name) for name in names.split())
    if isinstance(value, Mapping):
        return {key: to_data(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_data(inner) for inner in value]
    return value


def _shown(value: object, spelled: str) -> tuple[str, object]:
    shown, _, digits = spelled.partition(":")
    name, _, attribute = shown.partition("=")
    found = getattr(value, attribute or name)
    return name, to_data(round(found, int(digits)) if digits else found)


def _names(value: object) -> str:
    """The fields of a dataclass, the items of a named tuple; empty for anything else."""
    from dataclasses import fields, is_dataclass

    names = [field.name for field in fields(value)] if is_dataclass(value) else getattr(value, "_fields", ())
    return " ".join(names)


class Cites:
    """Mixin: the citation of lines of a file."""

    __slots__ = ()
    path: str
    start_line: int
    end_line: int

    @property
    def citation(self) -> str:
        """`path#L12-L18`, `path#L12` for a single line, the path alone without lines."""
        return cite(self.path, self.start_line, self.end_line) if self.start_line else self.path


def cite(path: str, start_line: int, end_line: int) -> str:
    """Return `path#L12-L18`, or `path#L12` for a single line."""
    return f"{path}#L{start_line}" + (f"-L{end_line}" if end_line != start_line else "")
