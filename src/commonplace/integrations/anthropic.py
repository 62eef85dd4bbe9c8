"""The memory tool of Claude (`memory_20250818`) over the notes of a workspace, for the package `anthropic`.

    client.beta.messages.run_tools(model=…, messages=…, tools=[MemoryTool("notes")])

It answers a model as the tool of the reference does; the files are your notes.
Source: https://platform.claude.com/docs/en/agents-and-tools/tool-use/memory-tool
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from commonplace.agent.attachment import Source, opened
from commonplace.agent.authorship import CommandRefused
from commonplace.agent.files import Files
from commonplace.base.errors import MissingExtra

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
except ImportError as error:
    raise MissingExtra("the memory tool of Claude", "anthropic") from error

if TYPE_CHECKING:
    from anthropic.types.beta import BetaCacheControlEphemeralParam, BetaMemoryTool20250818Command


class MemoryTool(BetaAbstractMemoryTool):
    """The tool for `Anthropic`: give it to `tools` of `run_tools`."""

    def __init__(
        self,
        memory: Source = None,
        *,
        agent: str = "claude",
        session: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Take a memory or the path of its workspace; changes are recorded with `agent` and `session`.

        Raises as `Memory.open`.
        """
        super().__init__(cache_control=cache_control)
        self._files = Files(opened(memory, agent), agent=agent, session=session)

    def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command. Raises ToolError with the words of the reference."""
        return _carried_out(self._files, command)

    view = create = str_replace = insert = delete = rename = execute


class AsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The tool for `AsyncAnthropic`: the same, without holding up the event loop."""

    def __init__(
        self,
        memory: Source = None,
        *,
        agent: str = "claude",
        session: str = "",
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        """Take a memory or the path of its workspace, as `MemoryTool` does."""
        super().__init__(cache_control=cache_control)
        self._files = Files(opened(memory, agent), agent=agent, session=session)

    async def execute(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry out a command. Raises ToolError with the words of the reference."""
        return await asyncio.to_thread(_carried_out, self._files, command)

    view = create = str_replace = insert = delete = rename = execute


def _carried_out(files: Files, command: BetaMemoryTool20250818Command) -> str:
    # A command that the SDK does not know comes as the mapping that the model sent.
    arguments = command if isinstance(command, Mapping) else dict(command)
    try:
        return files.call(str(arguments.get("command", "")), arguments)
    except CommandRefused as error:
        raise ToolError(str(error)) from error
