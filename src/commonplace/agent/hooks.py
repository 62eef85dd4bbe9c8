"""What a host tells whoever wants to know: a message came, a tool ran, an answer is about to go out."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from commonplace.types import CompactionEvent, MessageEvent, SessionEvent, ToolExecution

Told = Awaitable[None] | None


class AgentHook:
    """Somebody who is told what happens; every method may be left out, and may be plain or async."""

    def on_session_start(self, event: SessionEvent) -> Told:
        """A session begins."""

    def on_message_received(self, event: MessageEvent) -> Told:
        """A message of the user came in."""

    def on_tool_executed(self, execution: ToolExecution) -> Told:
        """A tool ran, well or not."""

    def on_response_ready(self, event: MessageEvent) -> Told:
        """An answer is about to go out."""

    def on_session_idle(self, event: SessionEvent) -> Told:
        """Nothing was said for a while."""

    def on_session_end(self, event: SessionEvent) -> Told:
        """A session is over."""

    def on_before_compaction(self, event: CompactionEvent) -> Told:
        """A conversation is about to be shortened; what must not be lost is to be written now."""
