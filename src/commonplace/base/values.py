"""Frozen dataclasses with slots that cost a start a fifth: the library compiles six texts for each.

To `fields`, `replace`, `asdict`, copies and type checkers they are dataclasses as any others.
"""

from __future__ import annotations

import dataclasses
from dataclasses import MISSING, FrozenInstanceError
from functools import cache
from operator import attrgetter
from types import CodeType, FunctionType

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from collections.abc import Callable
    from dataclasses import dataclass
    from typing import Any
else:

    def dataclass(*, frozen: bool, slots: bool) -> Callable[[type], type]:
        """Make a dataclass, which can only be frozen and have slots."""
        assert frozen
        assert slots
        return _made


__all__ = ["dataclass"]


def _made(cls: type) -> type:
    made: Any = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
    fields = dataclasses.fields(made)
    assert all(field.init and field.repr and field.compare and not field.kw_only for field in fields)
    names = [field.name for field in fields]
    code = _constructor(len(fields)).replace(co_varnames=("self", *names))
    setters = {f"_{n}": _setter(field, getattr(made, field.name).__set__) for n, field in enumerate(fields)}
    defaults = tuple(field.default for field in fields if _is_optional(field))
    made.__init__ = FunctionType(code, setters, "__init__", defaults)
    made.__init__.__qualname__ = f"{made.__qualname__}.__init__"
    made._names = tuple(names)  # `__dataclass_fields__` has the variables of the class as well
    made._values = attrgetter(names[0], *names[1:])
    made.__dataclass_params__.frozen = True
    for name, method in _METHODS.items():
        setattr(made, name, method)
    return made  # type: ignore[no-any-return]


def _is_optional(field: dataclasses.Field[Any]) -> bool:
    return field.default is not MISSING or field.default_factory is not MISSING


def _setter(field: dataclasses.Field[Any], write: Callable[[object, object], None]) -> Callable[..., None]:
    """Return the function that writes a field, with the default of a missing one."""
    factory = field.default_factory
    if factory is MISSING:
        return write
    return lambda self, value: write(self, factory() if value is MISSING else value)


@cache
def _constructor(count: int) -> CodeType:
    """The code of `__init__` for a number of fields."""
    names = [f"v{n}" for n in range(count)]
    made: dict[str, Any] = {}
    lines = "; ".join(f"_{n}(self, {name})" for n, name in enumerate(names))
    exec(f"def init(self, {', '.join(names)}): {lines}", made)  # noqa: S102 - numbers alone
    code: CodeType = made["init"].__code__
    return code


def _equal(self: Any, other: Any) -> bool:  # noqa: ANN401
    return self._values(self) == self._values(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:  # noqa: ANN401
    return hash(self._values(self))


def _repr(self: Any) -> str:  # noqa: ANN401
    values = (f"{name}={getattr(self, name)!r}" for name in self._names)
    return f"{self.__class__.__qualname__}({', '.join(values)})"


def _refuse(self: object, name: str, *value: object) -> None:
    raise FrozenInstanceError(f"cannot assign to or delete field {name!r}")


def _state(self: Any) -> list[object]:  # noqa: ANN401
    return [getattr(self, name) for name in self._names]


def _restore(self: Any, state: list[object]) -> None:  # noqa: ANN401
    for name, value in zip(self._names, state, strict=True):
        object.__setattr__(self, name, value)


_METHODS = {
    "__eq__": _equal, "__hash__": _hash, "__repr__": _repr, "__setattr__": _refuse, "__delattr__": _refuse,
    "__getstate__": _state, "__setstate__": _restore,
}  # fmt: skip
