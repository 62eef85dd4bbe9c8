"""Memory for Pydantic AI as one capability: recall, tools, observation, and a summary after runs.

    agent = Agent(model, capabilities=[MemoryCapability("notes")])

A recalled block accompanies the user's message in the requests to the model only: not in the
instructions, where notes would weigh what the developer's words weigh, and not in the message history.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from commonplace.agent import instructions
from commonplace.agent import tools as table
from commonplace.agent.attachment import Ask, Attachment, Recalled, Source, opened
from commonplace.base.errors import MissingExtra

try:
    from pydantic_ai import Tool
    from pydantic_ai.capabilities import AbstractCapability
    from pydantic_ai.direct import model_request
    from pydantic_ai.messages import (
        ModelRequest,
        ModelResponse,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import FunctionToolset
except ImportError as error:
    raise MissingExtra("memory for Pydantic AI", "pydantic-ai") from error

if TYPE_CHECKING:
    from pydantic_ai import RunContext
    from pydantic_ai.messages import ModelMessage
    from pydantic_ai.models import ModelRequestContext
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import ToolDefinition

NAME = "pydantic-ai"
MOST_CONVERSATIONS = 256  # whose recalled blocks are held; those not heard of for longest are dropped


class MemoryCapability(AbstractCapability[Any]):
    """A capability for `Agent(capabilities=[…])`; one for all conversations of an agent."""

    def __init__(self, memory: Source = None, *, tools: bool = True, summaries: bool = True) -> None:
        """Take a memory or the path of its workspace; its tools and summaries can be left out.

        A conversation is known by its `conversation_id`, which Pydantic AI takes from the message history.
        Raises as `Memory.open`.
        """
        self._attachment = Attachment(opened(memory, NAME), agent=NAME, on_disk=False)
        self._with_tools, self._with_summaries = tools, summaries
        self._recalled: OrderedDict[str, Recalled] = OrderedDict()

    def get_instructions(self) -> str | None:
        """Return when to recall, write and correct, where the model has the tools for it."""
        return instructions.text() if self._with_tools else None

    def get_toolset(self) -> FunctionToolset[Any] | None:
        """Return the tools of memory."""
        if not self._with_tools:
            return None
        return FunctionToolset(
            [
                Tool.from_schema(
                    partial(self._call, tool.name),
                    tool.name,
                    tool.description,
                    dict(tool.schema),
                    takes_ctx=True,
                )
                for tool in table.TOOLS
            ],
            id="commonplace",
        )

    async def _call(self, name: str, ctx: RunContext[Any], **arguments: object) -> str:
        answer = await asyncio.to_thread(
            table.call_json, self._attachment.memory, name, arguments, agent=NAME, session=_session(ctx)
        )
        return answer.text

    # --- before a model request ---------------------------------------------------------------------

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Recall for the message of a run."""
        earlier = [words for message in ctx.messages for words in map(_asked, _parts(message)) if words]
        await self._of(_session(ctx)).recall(_text(ctx.prompt), earlier)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Add recalled blocks to the messages that they were recalled for, in this request alone."""
        recalled = self._of(_session(ctx))
        messages = request_context.messages
        blocks = iter(recalled.beside(_asked(part) for message in messages for part in _parts(message)))
        return replace(request_context, messages=[_with(message, blocks) for message in messages])

    def _of(self, session: str) -> Recalled:
        recalled = self._recalled.setdefault(session, Recalled(self._attachment, session))
        self._recalled.move_to_end(session)
        while len(self._recalled) > MOST_CONVERSATIONS:
            self._recalled.popitem(last=False)[1].clear()
        return recalled

    # --- afterwards ---------------------------------------------------------------------------------

    async def after_tool_execute(
        self, ctx: RunContext[Any], *, call: ToolCallPart, tool_def: ToolDefinition, args: Any, result: Any
    ) -> Any:
        """Have a tool observed."""
        await self._attachment.observe_async(
            self._attachment.execution(_session(ctx), call.tool_name, args, result)
        )
        return result

    async def on_tool_execute_error(
        self,
        ctx: RunContext[Any],
        *,
        call: ToolCallPart,
        tool_def: ToolDefinition,
        args: Any,
        error: Exception,
    ) -> Any:
        """Have a failure observed, and let it go on."""
        failed = f"{type(error).__name__}: {error}"
        await self._attachment.observe_async(
            self._attachment.execution(_session(ctx), call.tool_name, args, "", failed)
        )
        raise error

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Keep the messages of a conversation of several runs, and sum it up when that is due."""
        if self._with_summaries:
            new = result.new_messages()
            before = result.all_messages()[: -len(new) or None]
            if any(_asked(part) for message in before for part in _parts(message)):
                await self._sum_up(ctx, _session(ctx), before, new)
        return result

    async def _sum_up(
        self, ctx: RunContext[Any], session: str, before: Sequence[ModelMessage], new: Sequence[ModelMessage]
    ) -> None:
        attachment = self._attachment
        if isinstance(ctx.model, Model):
            attachment.ask_with(_asking(ctx.model), ctx.model.model_name)
        attachment.begin(session)
        await asyncio.to_thread(attachment.keep, session, _turns(new), earlier=_turns(before))
        attachment.rest(session)
        await asyncio.to_thread(attachment.settle)


def _session(ctx: RunContext[Any]) -> str:
    return ctx.conversation_id or ctx.run_id or ""


def _parts(message: ModelMessage) -> Sequence[Any]:
    return message.parts if isinstance(message, ModelRequest) else ()


def _asked(part: Any) -> str:
    return _text(part.content) if isinstance(part, UserPromptPart) else ""


def _text(content: Any) -> str:
    """The words of a prompt, which may hold images and files as well."""
    if isinstance(content, str):
        return content.strip()
    texts = (one if isinstance(one, str) else getattr(one, "content", "") for one in content or ())
    return "\n".join(text for text in texts if isinstance(text, str)).strip()


def _with(message: ModelMessage, blocks: Iterator[str]) -> ModelMessage:
    """A message with the blocks of its parts before them; what is in the history stays as it is."""
    parts: list[Any] = []
    for part in _parts(message):
        block = next(blocks)
        parts += [UserPromptPart(block), part] if block else [part]
    return replace(message, parts=parts) if len(parts) > len(_parts(message)) else message


def _turns(messages: Iterable[ModelMessage]) -> list[dict[str, Any]]:
    """Messages in the form of chat completions."""
    turns: list[dict[str, Any]] = []
    for message in messages:
        at = message.timestamp.isoformat() if message.timestamp else ""
        if isinstance(message, ModelResponse):
            calls = [
                {
                    "id": part.tool_call_id,
                    "function": {"name": part.tool_name, "arguments": part.args_as_json_str()},
                }
                for part in message.parts
                if isinstance(part, ToolCallPart)
            ]
            text = "\n".join(part.content for part in message.parts if isinstance(part, TextPart))
            turns.append({"role": "assistant", "content": text, "tool_calls": calls, "timestamp": at})
        for part in _parts(message):
            if words := _asked(part):
                turns.append({"role": "user", "content": words, "timestamp": at})
            elif isinstance(part, ToolReturnPart):
                content = part.model_response_str()
                about = {"tool_call_id": part.tool_call_id, "name": part.tool_name, "timestamp": at}
                turns.append({"role": "tool", "content": content, **about})
    return turns


def _asking(model: Model) -> Ask:
    """Ask the model of a run from another thread, on the loop that it belongs to."""
    loop = asyncio.get_running_loop()

    def ask(messages: Any, max_tokens: int, deadline_s: float) -> str:
        kinds = {"system": SystemPromptPart, "user": UserPromptPart}
        parts = [kinds.get(message["role"], UserPromptPart)(message["content"]) for message in messages]
        asked = model_request(
            model, [ModelRequest(parts=parts)], model_settings=ModelSettings(max_tokens=max_tokens)
        )
        response = asyncio.run_coroutine_threadsafe(asked, loop).result(deadline_s)
        return "".join(part.content for part in response.parts if isinstance(part, TextPart))

    return ask
