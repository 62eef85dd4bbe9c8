"""What an examination gives: one finding a check, with its remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "wrong", "skipped"]


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found. `check` is `group.name`; `told` and `remedy` are one line each."""

    check: str
    state: State
    told: str
    remedy: str = ""

    @property
    def group(self) -> str:
        """The group that the check belongs to."""
        return self.check.partition(".")[0]
