"""How long work tells how far it has come, and learns that nobody wants it any more.

What works is passed no such thing where it lies far below whoever listens: a listener is of a thread.
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
    """Nobody wants the work any more; it ends where it next looks, before it has written anything."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""


class _Listener(NamedTuple):
    progress: Progress
    wanted: Callable[[], bool]


_NOBODY = _Listener(silent, lambda: True)
_listener: ContextVar[_Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(progress: Progress, wanted: Callable[[], bool]) -> Iterator[None]:
    """Let `progress` be told of what this thread does, which ends where it looks once it is not `wanted`."""
    before = _listener.set(_Listener(progress, wanted))
    try:
        yield
    finally:
        _listener.reset(before)


def check() -> None:
    """Raise Cancelled if nobody wants what this thread does any more."""
    if not (_listener.get() or _NOBODY).wanted():
        raise Cancelled


def tell(stage: str, done: int, total: int) -> None:
    """Report to whoever listens to this thread. Raises Cancelled as `check` does."""
    check()
    (_listener.get() or _NOBODY).progress(stage, done, total)
