"""Renew locks and state in a forked process, where the parent's threads do not exist to release them."""

from __future__ import annotations

import os
from collections.abc import Callable
from weakref import WeakKeyDictionary, WeakSet

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any, TypeVar

    _Owner = TypeVar("_Owner")
_RENEWALS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()
_HELD: WeakSet[Any] = WeakSet()
_TAKEN: list[Any] = []  # of them, during a fork
_PATIENCE_S = 5.0


def renew_in_child(owner: _Owner, renew: Callable[[_Owner], None]) -> None:
    """Call `renew(owner)` in every process that is forked from now on, as long as the owner lives.

    `renew` is a function of the class, which does not keep the owner alive as a bound method would.
    """
    _RENEWALS[owner] = renew


def renewed(lock: _Owner, forget: Callable[[], object] = lambda: None) -> _Owner:
    """Return a lock that is free in every process that is forked from now on, whoever holds it here.

    `forget` drops there what threads of the parent were doing under it.
    """

    def renew(lock: Any) -> None:  # noqa: ANN401 - locks have no type of their own
        lock._at_fork_reinit()
        forget()

    renew_in_child(lock, renew)
    return lock


def held(lock: _Owner) -> _Owner:
    """Return such a lock that no thread holds at a fork: SQLite's copy of a transaction would never end."""
    _HELD.add(lock)
    return renewed(lock)


def _before_fork() -> None:
    _TAKEN.extend(lock for lock in list(_HELD) if lock.acquire(timeout=_PATIENCE_S))


def _after_in_parent() -> None:
    while _TAKEN:
        _TAKEN.pop().release()


def _after_fork() -> None:
    _TAKEN.clear()
    for owner, renew in list(_RENEWALS.items()):
        renew(owner)


os.register_at_fork(before=_before_fork, after_in_parent=_after_in_parent, after_in_child=_after_fork)
