"""Memory for the OpenAI Agents SDK: recall before a message, tools observed, a history without recall.

    memory = with_memory("notes", "chat-1")
    await Runner.run(agent, message, **memory)

A recalled block is an item of the user before the message it was recalled for. It stays there for the later
turns of this process and is never stored: `MemorySession` removes it from the items that the SDK stores.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace.agent import tools as table
from commonplace.agent.attachment import Attachment, Recalled, Source, opened
from commonplace.agent.loop import NOT_KEPT
from commonplace.base.errors import MissingExtra
from commonplace.redaction.recalled import strip_blocks

try:
    from agents import FunctionTool, RunConfig, RunHooks, SQLiteSession
except ImportError as error:
    raise MissingExtra("memory for the OpenAI Agents SDK", "openai-agents") from error

if TYPE_CHECKING:
    from agents import Agent, RunContextWrapper, Tool
    from agents.memory import Session, SessionInputCallback
    from agents.tool_context import ToolContext

    from commonplace.memory import Memory

NAME = "openai-agents"
MOST_TOOLS = 100  # that run at a time in one session
Item = dict[str, Any]


def with_memory(
    memory: Source = None, session: Session | str = "default", run_config: RunConfig | None = None
) -> dict[str, Any]:
    """Return the arguments of `Runner.run` that give one session a memory: session, run_config and hooks.

    `session` is one of the SDK's, or an id for one in memory. Keep the result for as long as the session
    lasts. Raises as `Memory.open`.
    """
    attachment = Attachment(opened(memory, NAME), agent=NAME, on_disk=False)
    stored = SQLiteSession(session) if isinstance(session, str) else session
    config = run_config or RunConfig()
    wrapped = MemorySession(stored, attachment)
    recall = partial(wrapped.recall, config.session_input_callback)
    return {
        "session": wrapped,
        "run_config": replace(config, session_input_callback=recall),
        "hooks": ToolObserver(attachment, stored.session_id),
    }


def memory_tools(memory: Source = None, session: str = "") -> list[FunctionTool]:
    """Return the tools of memory for `Agent(tools=…)`. Raises as `Memory.open`."""
    source = opened(memory, NAME)
    return [
        FunctionTool(
            name=tool.name,
            description=tool.description,
            params_json_schema=dict(tool.schema),
            on_invoke_tool=partial(_call, source, tool.name, session),
            strict_json_schema=False,
        )
        for tool in table.TOOLS
    ]


async def _call(memory: Memory, name: str, session: str, context: ToolContext, arguments: str) -> str:
    answer = await asyncio.to_thread(table.call_json, memory, name, arguments, agent=NAME, session=session)
    return answer.text


class MemorySession:
    """A session of the SDK whose history has no recalled blocks."""

    def __init__(self, session: Session, attachment: Attachment) -> None:
        """Wrap a session; all that is not about keeping items is its own."""
        self._session = session
        self._recalled = Recalled(attachment, session.session_id)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._session, name)

    async def get_items(self, limit: int | None = None) -> list[Item]:
        """Return the history as it is stored."""
        items: list[Item] = await self._session.get_items(limit)
        return items

    async def add_items(self, items: Sequence[Item]) -> None:
        """Store items without recalled blocks."""
        stored = [*filter(None, map(_without, items))]
        if stored:
            await self._session.add_items(stored)

    async def pop_item(self) -> Item | None:
        """Remove the newest item and return it."""
        item: Item | None = await self._session.pop_item()
        return item

    async def clear_session(self) -> None:
        """Clear the history; everything may be given to it again."""
        await self._session.clear_session()
        self._recalled.clear()

    async def recall(
        self, then: SessionInputCallback | None, history: list[Item], new: list[Item]
    ) -> list[Item]:
        """Add the recalled block to a message: the `session_input_callback` of the SDK.

        `then` is the owner's own callback, which is given history and message first.
        """
        merged = history + new
        if then is not None:
            merged = then(history, new)
            merged = await merged if inspect.isawaitable(merged) else merged
        question = next(filter(None, map(_asked, reversed(new))), "")
        await self._recalled.recall(question, map(_asked, history))
        together: list[Item] = []
        for item, block in zip(merged, self._recalled.beside(map(_asked, merged)), strict=True):
            # As words of the user: what notes say must not weigh what instructions of the developer weigh.
            together += [{"role": "user", "content": block}, item] if block else [item]
        return together


def _asked(item: Mapping[str, Any]) -> str:
    """The words of a message of the user; empty for any other item."""
    if item.get("role") != "user":
        return ""
    content = item.get("content")
    if isinstance(content, str):
        return content.strip()
    parts = content if isinstance(content, list) else []
    return "\n".join(
        part["text"] for part in parts if isinstance(part, Mapping) and isinstance(part.get("text"), str)
    ).strip()


def _without(item: Item) -> Item | None:
    """Return an item without recalled blocks; None if it has no other content."""
    key = "output" if "output" in item else "content"
    value = item.get(key)
    if isinstance(value, str):
        text = strip_blocks(value)
        if text == value:
            return item
        if not text.strip() and key == "content":
            return None
        return {**item, key: text if text.strip() else NOT_KEPT}
    if not isinstance(value, list):
        return item
    parts = [_part(part) for part in value]
    if parts == value:
        return item
    left = [part for part in parts if not (isinstance(part, Mapping) and part.get("text") == "")]
    if not left and key == "content":
        return None
    return {**item, key: left or NOT_KEPT}


def _part(part: Any) -> Any:
    """A part of a content without recalled blocks in its text."""
    if not isinstance(part, Mapping) or not isinstance(part.get("text"), str):
        return part
    text = strip_blocks(part["text"])
    return part if text == part["text"] else {**part, "text": text.strip()}


class ToolObserver(RunHooks):
    """Run hooks that have tools observed; those of memory are not."""

    def __init__(self, attachment: Attachment, session: str) -> None:
        """Bind to what observes, and to the session that the tools run in."""
        self._attachment, self._session = attachment, session
        self._started: dict[str, float] = {}

    async def on_tool_start(self, context: RunContextWrapper, agent: Agent, tool: Tool) -> None:
        """Note when a tool begins."""
        while len(self._started) >= MOST_TOOLS:  # of tools that failed, which end without a word
            self._started.pop(next(iter(self._started)))
        self._started[getattr(context, "tool_call_id", tool.name)] = time.perf_counter()

    async def on_tool_end(self, context: RunContextWrapper, agent: Agent, tool: Tool, result: object) -> None:
        """Have what it did observed."""
        now = time.perf_counter()
        took_s = now - self._started.pop(getattr(context, "tool_call_id", tool.name), now)
        arguments = getattr(context, "tool_arguments", "")
        await self._attachment.observe_async(
            self._attachment.execution(self._session, tool.name, arguments, result, took_s=took_s)
        )
