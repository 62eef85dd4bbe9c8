"""Keys of providers: where they come from, and a type that never shows one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Final


class Secret:
    """A key or token; neither `str`, `repr`, formatting nor pickling shows it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value.strip()

    def reveal(self) -> str:
        """Return the key itself, for the one line that puts it into a request."""
        return self._value

    def remove_from(self, text: str) -> str:
        """Return a text without this key, for errors that quote a request."""
        return text.replace(self._value, "[REDACTED:key]") if self._value else text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return "Secret(set)" if self._value else "Secret(unset)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return repr(self)

    def __reduce__(self) -> tuple[type[Secret], tuple[()]]:
        return Secret, ()


NO_KEY: Final = Secret()


def from_environment(names: Sequence[str], environ: Mapping[str, str] | None = None) -> Secret:
    """Return the first of these variables that is set and not blank."""
    environ = os.environ if environ is None else environ
    found = (environ.get(name, "").strip() for name in names)
    return Secret(next(filter(None, found), ""))
