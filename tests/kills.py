"""Kill a process at a step of its writing: a file forced to the disk, renamed or removed, or rows that are committed."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

STEPS = ("fsync", "replace", "rename", "unlink", "rmdir")


def deadly(limit: int) -> None:
    """Kill this process (SIGKILL) at its step of this number, counted from 1; 0 lets it live."""
    from commonplace.storage import state

    seen = 0

    def step() -> None:
        nonlocal seen
        seen += 1
        if seen == limit:
            os.kill(os.getpid(), signal.SIGKILL)

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            step()
            return real(*arguments, **named)

        return call

    os.fsync = lambda descriptor: None  # a kill cuts no power
    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))
    known = state.writing

    @contextmanager
    def writing(*arguments: Any, **named: Any) -> Iterator[Any]:
        with known(*arguments, **named) as connection:
            yield connection
            step()  # before the commit
        step()

    state.writing = writing
