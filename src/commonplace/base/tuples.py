"""Named tuples that are declared as those of `typing`, without its import and its checks of annotations."""

from __future__ import annotations

import collections

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any
    from typing import NamedTuple as NamedTuple


class _Fields(type):
    """Makes classes of tuples from the annotations in the body of a class."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        """Make a class; that of the base itself has no fields."""
        if not bases:
            return super().__new__(cls, name, bases, body)
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in fields if field in body}
        known = {"_fields": fields, "_field_defaults": defaults, "__match_args__": fields, "__slots__": ()}
        places = {field: collections._tuplegetter(at, "") for at, field in enumerate(fields)}  # type: ignore[attr-defined]
        return type(name, (tuple,), {**_METHODS, **known, **places, **body})


def _new(cls: Any, *values: object, **named: object) -> object:  # noqa: ANN401 - compiled by the first call
    made = eval("lambda _c, {0}: _t(_c, ({0},))".format(", ".join(cls._fields)), {"_t": tuple.__new__})  # noqa: S307
    made.__defaults__ = tuple(cls._field_defaults.values())  # before another thread sees it
    cls.__new__ = made
    return cls(*values, **named)


_METHODS = {
    "__new__": _new,
    "__repr__": lambda own: f"{type(own).__name__}({', '.join(map('%s=%r'.__mod__, own._asdict().items()))})",
    "__getnewargs__": lambda own: tuple(own),
    "_asdict": lambda own: dict(zip(own._fields, own, strict=True)),
    "_make": classmethod(lambda cls, values: cls(*values)),
    "_replace": lambda own, /, **named: type(own)(*[*map(named.pop, own._fields, own)], **named),
}

if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Fields):
        """A tuple with names for its places: subclasses declare them, as those of `typing.NamedTuple` do."""
