"""Expressions that are compiled when they are first used: what a search from the shell need not wait for."""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    def __init__(self, pattern: str, flags: int) -> None:
        self._source = pattern, flags

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever an expression has
        value = getattr(re.compile(*self._source), name)
        setattr(self, name, value)  # from now on it is found without this
        return value


def lazy(pattern: str, flags: int = 0) -> re.Pattern[str]:
    """Return an expression with all methods of a compiled one; a mistake in it is raised by its first use."""
    return cast("re.Pattern[str]", _Lazy(pattern, flags))
