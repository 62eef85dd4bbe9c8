"""Progress and cancellation of long work.

A listener belongs to a thread, so that functions far below need no parameter for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from commonplace.base.tuples import NamedTuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object


class Progress(Protocol):
    """Told how far a stage has come; `done` never falls, `total` may grow."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report `done` of `total` files or passages."""


class Cancelled(Exception):
    """The work is no longer wanted; it ends at its next check, before it has written anything."""


def silent(stage: str, done: int, total: int) -> None:
    """Ignore the progress."""


class _Listener(NamedTuple):
    progress: Progress
    wanted: Callable[[], bool]


_NOBODY = _Listener(silent, lambda: True)
_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(progress: Progress, wanted: Callable[[], bool]) -> Iterator[None]:
    """Report the work of this thread to `progress`; it ends at its next check when it is not `wanted`."""
    before = _listener.set(_Listener(progress, wanted))
    try:
        yield
    finally:
        _listener.reset(before)


def check() -> None:
    """Raise Cancelled if the work of this thread is no longer wanted."""
    if not (_listener.get() or _NOBODY).wanted():
        raise Cancelled


def tell(stage: str, done: int, total: int) -> None:
    """Report to whoever listens to this thread. Raises Cancelled as `check` does."""
    check()
    (_listener.get() or _NOBODY).progress(stage, done, total)
