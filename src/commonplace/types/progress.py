"""How long work tells how far it has come."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Told how far a stage has come; `done` never falls, `total` may grow."""

    def __call__(self, stage: str, done: int, total: int) -> None:
        """Report `done` of `total` files or passages."""


def silent(stage: str, done: int, total: int) -> None:
    """Report nothing."""
