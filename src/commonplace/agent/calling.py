"""Tool calls of one answer, run side by side: every call gets an answer, in order, whatever happens."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.agent import answers, tools
from commonplace.agent.tools import FORGETS
from commonplace.base.deadline import Deadline
from commonplace.types.events import Call, ToolExecution, Turn

if TYPE_CHECKING:
    from commonplace.memory import Memory

Approve = Callable[["tools.Tool", str], bool]  # a tool and what it would do; whether a person says yes

MOST_CALLS = 16  # of one answer that are run; a model that asks for more has lost its way
UNTOLD = '{"what": "not kept"}'  # stands for what a model asked to have forgotten
NOBODY = "not done: it needs the yes of a person, and nobody is here to give it; nothing was changed"
DECLINED = "not done: the user said no; nothing was changed"
INTERRUPTED = "interrupted: there is no result"
NOT_KEPT = "the result was not kept"  # that of a search is left out of a transcript


class Toolbox:
    """The tools that a model is offered in one session, and what runs its calls."""

    def __init__(
        self,
        memory: Memory,
        offered: Sequence[tools.Tool],
        *,
        session: str = "",
        agent: str = "",
        deadline_s: float = 60.0,
        approve: Approve | None = None,
    ) -> None:
        """Take the tools; a call that takes longer than `deadline_s` is answered without its result.

        `approve` asks a person about a call that needs a yes; without it every such call is refused.
        """
        self.offered = tuple(offered)
        self._memory, self._deadline_s, self._approve = memory, deadline_s, approve
        self._caller = tools.Caller(agent, session, asks_itself=approve is not None)

    def run(self, calls: Sequence[Call]) -> list[ToolExecution]:
        """Run calls in threads of their own; return what came of each, in the order of the calls.

        Those of tools that may need a yes come first, here and one after the other: a person is asked about
        them, who may take longer than a tool.
        """
        done: dict[int, ToolExecution] = {}
        self._ask_about(calls[:MOST_CALLS], done)

        def work(place: int, call: Call) -> None:
            done[place] = self._run(call)

        threads = [
            threading.Thread(target=work, args=(place, call), name=f"commonplace-tool-{place}", daemon=True)
            for place, call in enumerate(calls[:MOST_CALLS])
            if place not in done
        ]
        for thread in threads:
            thread.start()
        deadline = Deadline(self._deadline_s)
        for thread in threads:
            thread.join(deadline.left_s())
        late = f"no result within {self._deadline_s:g} s"
        beyond = f"not run: only {MOST_CALLS} calls of one answer are"
        return [
            done.get(place) or self.refused(call, late if place < MOST_CALLS else beyond)
            for place, call in enumerate(calls)
        ]

    def refused(self, call: Call, error: str) -> ToolExecution:
        """Return what stands for a call that was not run, or not to its end."""
        at, by = datetime.now().astimezone(), self._caller
        arguments = parsed(call.arguments) or {}
        return ToolExecution(by.session, call.name, arguments, error=error, at=at, agent=by.agent)

    def _ask_about(self, calls: Sequence[Call], done: dict[int, ToolExecution]) -> None:
        """Run the calls of tools that may need a yes, each once it is given."""
        declined: set[str] = set()
        for place, call in enumerate(calls):
            tool, arguments = self._tool(call), parsed(call.arguments)
            if tool is not None and tool.asks is not None and arguments is not None:
                why_not = self._why_not(tool, arguments, declined)
                done[place] = self.refused(call, f"{call.name}: {why_not}") if why_not else self._run(call)

    def _why_not(self, tool: tools.Tool, arguments: Mapping[str, object], declined: set[str]) -> str:
        """Ask a person about what a call would do; return why it is not to run.

        A no holds for all calls of an answer.
        """
        try:
            preview = tool.asks(self._memory, arguments) if tool.asks is not None else ""
        except Exception as error:  # noqa: BLE001 - a tool may be anybody's; the model is told
            return f"not done: what it would do cannot be told ({type(error).__name__}: {error})"
        if not preview:
            return ""
        if self._approve is None:
            return NOBODY
        if tool.name in declined or not self._approve(tool, preview):
            declined.add(tool.name)
            return DECLINED
        return ""

    def _run(self, call: Call) -> ToolExecution:
        begun, at, by = time.perf_counter(), datetime.now().astimezone(), self._caller
        tool, arguments = self._tool(call), parsed(call.arguments)
        if tool is None:
            known = ", ".join(tool.name for tool in self.offered)
            answer = answers.failed(f"unknown tool {call.name!r}; there are {known}")
        elif arguments is None:
            wrong = f"the arguments are not a JSON object: {call.arguments[:200]}"
            answer = answers.failed(f"{call.name}: {wrong}")
        else:
            try:
                answer = tools.run(tool, self._memory, arguments, by)
            except Exception as error:  # noqa: BLE001 - a tool may be anybody's; the model is told
                answer = answers.failed(f"{call.name} failed: {type(error).__name__}: {error}")
        result, wrong = ("", answer.text) if answer.is_error else (answer.text, "")
        took_ms = (time.perf_counter() - begun) * 1000
        return ToolExecution(by.session, call.name, arguments or {}, result, wrong, at, took_ms, by.agent)

    def _tool(self, call: Call) -> tools.Tool | None:
        return next((tool for tool in self.offered if tool.name == call.name), None)


def parsed(arguments: str) -> dict[str, object] | None:
    """Read the arguments of a call: a JSON object, empty where there are none; None for anything else."""
    try:
        value = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


# --- calls and their answers in a conversation ----------------------------------------------------------


def answered(call: Call, execution: ToolExecution) -> Turn:
    """Return the turn that answers a call."""
    at = execution.at.isoformat(timespec="seconds")
    return Turn("tool", execution.error or execution.result, at, answers=call.id, tool=call.name)


def erased(execution: ToolExecution) -> bool:
    """Whether a call erased something."""
    return execution.tool == FORGETS and not execution.error and bool(execution.arguments.get("confirm"))


def kept(turn: Turn) -> Turn:
    """Return a turn as a transcript keeps it.

    What tools give may hold addresses and numbers of others, and what is to be forgotten is not written down
    by asking for it.
    """
    if turn.role != "tool":
        calls = (replace(call, arguments=UNTOLD) if call.name == FORGETS else call for call in turn.calls)
        return replace(turn, calls=tuple(calls))
    from commonplace.redaction.redact import redact_personal

    return replace(turn, text=redact_personal(turn.text)[0])


def paired(turns: Iterable[Turn]) -> list[Turn]:
    """Return turns without answers to calls that are not there, and with one for each call that has none.

    So a transcript can be gone on with that was cut, at its beginning for a budget or at its end by a crash:
    the servers of models demand it.
    """
    found: list[Turn] = []
    waiting: list[Call] = []

    def interrupt() -> None:
        found.extend(Turn("tool", INTERRUPTED, answers=call.id, tool=call.name) for call in waiting)

    for turn in turns:
        if turn.role == "tool":
            call = next((call for call in waiting if call.id == turn.answers), None)
            if call is not None:
                waiting.remove(call)
                found.append(turn if turn.text else replace(turn, text=NOT_KEPT))
            continue
        interrupt()
        waiting = list(turn.calls)
        found.append(turn)
    interrupt()
    return found
