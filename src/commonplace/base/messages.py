"""English sentences with a code and values, by which a caller can translate them.

A `Message` is its English text wherever a text is wanted. Who shows it in another language takes `code`, a
word that stays the same, and `values`, which may be messages themselves.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any


class Message(str):
    """A sentence in English, with its code and the values in it."""

    __slots__ = ("code", "values")
    code: str
    values: Mapping[str, Any]

    def __new__(cls, text: str, code: str, values: Mapping[str, Any]) -> Message:
        """Take a sentence that is made already."""
        made = super().__new__(cls, text)
        made.code, made.values = code, values
        return made

    def __reduce__(self) -> tuple[Any, ...]:
        """Say how it is copied."""
        return Message, (str(self), self.code, self.values)

    def data(self) -> dict[str, Any]:
        """Return code and values as JSON has them; a message among the values has its text as well."""
        return {"code": self.code, "values": {name: _data(value) for name, value in self.values.items()}}


def message(code: str, english: str, /, **values: object) -> Message:
    """Make a sentence; in it `{name}` is a value, `{n:file}` and `{n:entry|entries}` a number of things."""
    shown = {name: _shown(value) for name, value in values.items()}
    return Message(english.format_map(shown), code, values)


def count(number: int, noun: str, plural: str = "") -> str:
    """Return `1,234 hits`, `1 hit`, and with a plural of its own `2 entries`."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


class _Counted(int):
    """A number that a noun can follow."""

    def __format__(self, spec: str) -> str:
        noun, _, plural = spec.partition("|")
        return count(self, noun, plural) if len(noun) > 1 and noun[0].isalpha() else super().__format__(spec)


def _shown(value: object) -> object:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    return _Counted(value) if type(value) is int else value


def _data(value: object) -> object:
    if isinstance(value, Message):
        return {"text": str(value), **value.data()}
    return [_data(one) for one in value] if isinstance(value, list | tuple) else value
