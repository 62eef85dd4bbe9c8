"""Actions as tools of MCP: shown, approved by a person, done as shown."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Any

from commonplace.actions.action import Action, Call
from commonplace.actions.schema import text
from commonplace.actions.table import every
from commonplace.agent import answers
from commonplace.agent.answers import Caller, ToolAnswer
from commonplace.agent.tools import Confirmations, Tool
from commonplace.memory import Memory
from commonplace.render import screen
from commonplace.types.data import to_data

_WAITING: Confirmations[Any] = Confirmations()


def tools() -> list[Tool]:
    """Return a tool for each action that agents may ask for."""
    return [_tool(one) for one in every() if "mcp" in one.doors]


def find(name: str) -> Tool | None:
    """Return the tool of a name, or None."""
    return next((one for one in tools() if one.name == name), None)


def _tool(action: Action) -> Tool:
    code = text("The code of the preview that the user said yes to.", most=100)
    schema = {**action.body, "properties": {**action.body["properties"], "confirm": code}}
    return Tool(
        f"memory_{action.name}", action.about, schema, partial(_run, action), read_only=False,
        destructive=action.final,
    )  # fmt: skip


def _run(action: Action, memory: Memory, arguments: Mapping[str, Any], caller: Caller) -> ToolAnswer:
    """Show the effect and ask the person to confirm; without a way to ask, take a confirmation code."""
    values = {name: value for name, value in arguments.items() if name != "confirm"}
    request = f"{memory.workspace.root} {action.name} {sorted(values.items())} {caller.name} {caller.session}"
    if code := arguments.get("confirm", ""):
        told, carry = _WAITING.shown(code), _WAITING.redeem(code, request)
        if carry is None:
            return answers.failed("this code confirms nothing by now; nothing was done. Call without confirm")
    else:
        shown = action.show(Call(memory, values, caller.provenance(), datetime.now().astimezone()))
        told, carry = (
            "\n".join(filter(None, [shown.title, shown.text(screen.PLAIN), shown.diff])),
            shown.carry,
        )
        if carry is None:
            return ToolAnswer(told, {"preview": to_data(shown.outcome)})
    if caller.ask is not None:
        code = _WAITING.offer(request, told, carry)
        said = caller.ask(told, code)
        _WAITING.redeem(code, request)
        if said != "accept":
            return answers.failed("nothing was done: the user did not agree")
    elif not code:
        code = _WAITING.offer(request, told, carry)
        asking = "Nothing is done yet. Show this to the user; after a yes, call again with confirm"
        return ToolAnswer(f"{answers.framed(told)}\n{asking}: {code}", {"confirm": code})
    done = carry()
    return ToolAnswer(action.text(done), to_data(done))
