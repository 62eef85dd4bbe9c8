"""Named tuples that are declared as those of `typing`, without its import and its checks of annotations."""

from __future__ import annotations

from collections import namedtuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, NamedTuple

__all__ = ["NamedTuple"]


class _Fields(type):
    """Makes classes of tuples from the annotations in the body of a class."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        """Make a class; that of the base itself has no fields."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = [body.pop(field) for field in fields if field in body]
        made = namedtuple(name, fields, defaults=defaults)  # type: ignore[misc]
        for attribute, value in body.items():
            setattr(made, attribute, value)
        return made


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Fields):
        """A tuple with names for its places: subclasses declare them, as those of `typing.NamedTuple` do."""
