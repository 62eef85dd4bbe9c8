"""What a forked process begins anew: its parent's threads do not exist in it, and never let go of a lock."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

_Owner = TypeVar("_Owner")
_RENEWALS: WeakKeyDictionary[Any, Callable[[Any], None]] = WeakKeyDictionary()


def renew_in_child(owner: _Owner, renew: Callable[[_Owner], None]) -> None:
    """Call `renew(owner)` in every process that is forked from now on, as long as the owner lives.

    `renew` is a function of the class, which does not keep the owner alive as a bound method would.
    """
    _RENEWALS[owner] = renew


def _after_fork() -> None:
    for owner, renew in list(_RENEWALS.items()):
        renew(owner)


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)
