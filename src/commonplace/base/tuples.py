"""Named tuples that cost a start a tenth of what those of `typing` do, of which a search makes a hundred.

`typing` compiles a text for each class and for each annotation, and makes each class from another one. Here
classes with equally many fields share the code of their constructor, and annotations are texts that are never
reads: modules that declare such classes begin with `from __future__ import annotations`.
"""

from __future__ import annotations

from collections import _tuplegetter  # type: ignore[attr-defined]
from functools import cache
from types import CodeType, FunctionType

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, NamedTuple

    Self = Any

__all__ = ["NamedTuple"]


class _Fields(type):
    """Makes classes of tuples from what is declared in the body of a class."""

    def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
        """Make a class; that of the base itself has no fields."""
        fields = tuple(body.get("__annotations__", ()))
        defaults = {field: body[field] for field in fields if field in body}
        if fields[len(fields) - len(defaults) :] != tuple(defaults):
            raise TypeError(f"{name}: a field without a default follows one that has a default")
        code = _constructor(len(fields)).replace(co_varnames=("_cls", *fields))
        new = FunctionType(code, {"_new": tuple.__new__}, "__new__", tuple(defaults.values()))
        new.__qualname__ = f"{name}.__new__"
        methods = _METHODS | body | {field: _tuplegetter(n, "") for n, field in enumerate(fields)}
        own = {"__new__": new, "__slots__": (), "__match_args__": fields}
        return type.__new__(
            type if bases else cls,
            name,
            (tuple,) if bases else (),
            {**methods, **own, "_fields": fields, "_field_defaults": defaults},
        )


@cache
def _constructor(count: int) -> CodeType:
    """The code of `__new__` for a number of fields."""
    names = "".join(f"_{n}," for n in range(count))
    code: CodeType = eval(f"lambda _cls,{names}: _new(_cls, ({names}))").__code__  # noqa: S307 - numbers alone
    return code


def _replace(self: Self, /, **changes: object) -> Self:
    """Return a tuple with other values in some fields."""
    done = self._make(map(changes.pop, self._fields, self))
    if changes:
        raise TypeError(f"{type(self).__name__} has no fields {', '.join(changes)}")
    return done


def _asdict(self: Self) -> dict[str, object]:
    """Return the values by the names of their fields."""
    return dict(zip(self._fields, self, strict=True))


def _values(self: Self) -> tuple[object, ...]:
    """Return what a copy is made from."""
    return tuple(self)


def _repr(self: Self) -> str:
    values = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
    return f"{type(self).__name__}({', '.join(values)})"


_METHODS = {
    "_make": classmethod(tuple.__new__),
    "_replace": _replace,
    "__replace__": _replace,
    "_asdict": _asdict,
    "__repr__": _repr,
    "__getnewargs__": _values,
}


if not TYPE_CHECKING:

    class NamedTuple(metaclass=_Fields):
        """A tuple with names for its places: subclasses declare them, as those of `typing.NamedTuple` do."""
