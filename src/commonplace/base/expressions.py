"""Expressions that are compiled when they are first used: what a search from the shell need not wait for.

Python before 3.11.5 goes on from where the last, failed round of a possessive group came to, not from where
it began (https://github.com/python/cpython/issues/106052). Such a group ends with an alternative that never
matches, `(?:…|(?!))*+`: it puts the round back.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, AnyStr


class _Lazy:
    def __init__(self, pattern: Any, flags: int) -> None:  # noqa: ANN401 - a text or bytes
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever an expression has
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)  # from now on it is found without this
        return value


def lazy(pattern: AnyStr, flags: int = 0) -> re.Pattern[AnyStr]:
    """Return an expression with all methods of a compiled one; a mistake in it is raised by its first use."""
    return _Lazy(pattern, flags)  # type: ignore[return-value]
