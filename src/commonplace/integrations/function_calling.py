"""The tools of memory for hosts that call models themselves: schemas in three forms, and one call.

    response = client.chat.completions.create(model=…, messages=…, tools=schemas("chat_completions"))
    for asked in response.choices[0].message.tool_calls or ():
        answer = call("notes", asked.function.name, asked.function.arguments)

No package is needed for it. What a model gets wrong is an answer too, which says what would be right.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

from commonplace.agent import tools as table
from commonplace.agent.attachment import Source, opened
from commonplace.agent.tools import ToolAnswer
from commonplace.base.errors import ConfigError
from commonplace.memory import Memory

if TYPE_CHECKING:
    from commonplace.agent.tools import Ask, Tool

Form = Literal["chat_completions", "responses", "messages"]
NAME = "function-calling"
_OPENED: dict[str | None, Memory] = {}
_LOCK = threading.Lock()


def schemas(form: Form = "chat_completions") -> list[dict[str, Any]]:
    """Return the tools as a request takes them: OpenAI's chat completions or responses, Anthropic's messages.

    Raises ConfigError for another form.
    """
    if form not in get_args(Form):
        raise ConfigError("form", f"{form!r} is not allowed; it must be one of {', '.join(get_args(Form))}")
    return [_schema(tool, form) for tool in table.TOOLS]


def _schema(tool: Tool, form: Form) -> dict[str, Any]:
    named: dict[str, Any] = {"name": tool.name, "description": tool.description}
    if form == "messages":
        return {**named, "input_schema": dict(tool.schema)}
    function = {**named, "parameters": dict(tool.schema)}
    if form == "responses":
        return {"type": "function", **function, "strict": False}
    return {"type": "function", "function": function}


def call(
    memory: Source,
    name: str,
    arguments: str | Mapping[str, object] | None = None,
    *,
    agent: str = NAME,
    session: str = "",
    ask: Ask | None = None,
) -> ToolAnswer:
    """Run a tool that a model called, with its arguments as JSON or as values; return its answer.

    A memory given by its path is opened once and kept. `agent` and `session` are recorded with every
    change; `ask` shows a person a pending erasure, which without it waits for the command line. Raises only
    as `Memory.open`: `is_error` marks a call that was wrong.
    """
    return table.call_json(_held(memory), name, arguments, agent=agent, session=session, ask=ask)


def _held(memory: Source) -> Memory:
    if isinstance(memory, Memory):
        return memory
    path = os.path.abspath(memory) if memory is not None else None
    with _LOCK:
        if path not in _OPENED:
            _OPENED[path] = opened(memory, NAME)
        return _OPENED[path]
