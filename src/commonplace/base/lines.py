"""Caches of results by line and by text: a note that grows keeps its other lines."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps

from commonplace.base.digests import blake2b

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, TypeVar

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


def recent(count: int, read: Callable[..., T]) -> Callable[..., T]:
    """Cache the results of a function for the last few texts and arguments.

    By the digest alone: no text is kept that may hold a secret, unless it is kept in what was made of it.
    """
    known: dict[tuple[Any, ...], T] = {}

    @wraps(read)
    def ask(text: str | bytes, *more: object) -> T:
        data = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        key = (blake2b(data, digest_size=16).digest(), *more)
        if (found := known.get(key)) is None:
            found = read(text, *more)
            for old in list(known)[: 1 - count]:
                known.pop(old, None)
            known[key] = found
        return found

    return ask
