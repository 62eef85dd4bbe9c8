"""What becomes of a message: the answer, and what happened on the way to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.agent.context import Context
    from commonplace.types import ToolExecution


@dataclass(slots=True)
class Reply:
    """What became of a message: the answer, the tools that ran, the notes that went along.

    `error` is the one line to show where the answer could not be had, `stopped` says that it was broken off;
    `text` is then what had been said.
    """

    text: str = ""
    executions: list[ToolExecution] = field(default_factory=list)
    recalled: Context | None = None
    error: str = ""
    stopped: bool = False
