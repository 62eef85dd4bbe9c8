"""Tool calls of one answer, run side by side: every call gets an answer, in order, whatever happens."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.agent import answers, tools
from commonplace.deadline import Deadline
from commonplace.types.conversation import Call, ToolExecution, Turn

if TYPE_CHECKING:
    from commonplace.memory import Memory

MOST_CALLS = 16  # of one answer that are run; a model that asks for more has lost its way


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
    ) -> None:
        """Take the tools; a call that takes longer than `deadline_s` is answered without its result."""
        self.offered = tuple(offered)
        self._memory, self._deadline_s = memory, deadline_s
        self._caller = tools.Caller(agent, session)

    def run(self, calls: Sequence[Call]) -> list[ToolExecution]:
        """Run calls in threads of their own; return what came of each, in the order of the calls."""
        done: list[ToolExecution | None] = [None] * len(calls)

        def work(place: int, call: Call) -> None:
            done[place] = self._run(call)

        threads = [
            threading.Thread(target=work, args=(place, call), name=f"commonplace-tool-{place}", daemon=True)
            for place, call in enumerate(calls[:MOST_CALLS])
        ]
        for thread in threads:
            thread.start()
        deadline = Deadline(self._deadline_s)
        for thread in threads:
            thread.join(deadline.left_s())
        return [
            found or self._unanswered(call, place)
            for place, (call, found) in enumerate(zip(calls, done, strict=True))
        ]

    def refused(self, call: Call, error: str) -> ToolExecution:
        """Return what stands for a call that was not run, or not to its end."""
        at, by = datetime.now().astimezone(), self._caller
        arguments = parsed(call.arguments) or {}
        return ToolExecution(by.session, call.name, arguments, error=error, at=at, agent=by.agent)

    def _run(self, call: Call) -> ToolExecution:
        begun, at = time.perf_counter(), datetime.now().astimezone()
        arguments = parsed(call.arguments)
        answer = self._answer(call, arguments)
        return ToolExecution(
            self._caller.session,
            call.name,
            arguments or {},
            "" if answer.is_error else answer.text,
            answer.text if answer.is_error else "",
            at,
            (time.perf_counter() - begun) * 1000,
            self._caller.agent,
        )

    def _answer(self, call: Call, arguments: Mapping[str, object] | None) -> tools.Answer:
        tool = next((tool for tool in self.offered if tool.name == call.name), None)
        if tool is None:
            return answers.failed(
                f"unknown tool {call.name!r}; there are {', '.join(tool.name for tool in self.offered)}"
            )
        if arguments is None:
            return answers.failed(f"{call.name}: the arguments are not a JSON object: {call.arguments[:200]}")
        try:
            return tools.run(tool, self._memory, arguments, self._caller)
        except Exception as error:  # noqa: BLE001 - a tool may be anybody's; the model is told
            return answers.failed(f"{call.name} failed: {type(error).__name__}: {error}")

    def _unanswered(self, call: Call, place: int) -> ToolExecution:
        if place >= MOST_CALLS:
            error = f"not run: only {MOST_CALLS} calls of one answer are"
        else:
            error = f"no result within {self._deadline_s:g} s"
        return self.refused(call, error)


def answered(call: Call, execution: ToolExecution) -> Turn:
    """Return the turn that answers a call."""
    at = execution.at.isoformat(timespec="seconds")
    return Turn("tool", execution.error or execution.result, at, answers=call.id, tool=call.name)


def kept(turn: Turn) -> Turn:
    """Return a turn as a transcript keeps it: what tools give may hold addresses and numbers of others."""
    if turn.role != "tool":
        return turn
    from commonplace.notes.redact import redact_personal

    return replace(turn, text=redact_personal(turn.text)[0])


def parsed(arguments: str) -> dict[str, object] | None:
    """Read the arguments of a call: a JSON object, empty where there are none; None for anything else."""
    try:
        read = json.loads(arguments or "{}")
    except (ValueError, RecursionError):
        return None
    return read if isinstance(read, dict) else None
