"""What is known of single lines, remembered: a note that gets an entry has all its other lines as before."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

_LINES = 4096
_LONGEST = 500  # characters; longer ones are few, and a few thousand would be many megabytes


def remembered(read: Callable[[str], T]) -> Callable[[str], T]:
    """Remember what a function says of the last few thousand lines; it must depend on the line alone."""
    known = lru_cache(_LINES)(read)

    @wraps(read)
    def ask(line: str) -> T:
        return known(line) if len(line) <= _LONGEST else read(line)

    return ask
