"""Progress and cancellation of long work.

A listener belongs to a thread, so that functions far below need no parameter for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Progress = Callable[[str, int, int], None]  # is given a stage, `done` and `total`, which may grow


class Cancelled(Exception):
    """The work is no longer wanted; it ends at its next check, before it has written anything."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""


_listener: ContextVar[tuple[Progress, Callable[[], bool]]] = ContextVar("listener")
_NOBODY = silent, lambda: True


@contextmanager
def listening(progress: Progress, wanted: Callable[[], bool]) -> Iterator[None]:
    """Report the work of this thread to `progress`; it ends at its next check when it is not `wanted`."""
    before = _listener.set((progress, wanted))
    try:
        yield
    finally:
        _listener.reset(before)


def check() -> None:
    """Raise Cancelled if the work of this thread is no longer wanted."""
    if not _listener.get(_NOBODY)[1]():
        raise Cancelled


def tell(stage: str, done: int, total: int) -> None:
    """Report `done` of `total` files or passages. Raises Cancelled as `check` does."""
    check()
    _listener.get(_NOBODY)[0](stage, done, total)
