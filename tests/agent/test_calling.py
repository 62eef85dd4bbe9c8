"""Calls of one answer: side by side, answers in order, and every mistake an answer as well."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from commonplace.agent import calling
from commonplace.agent.calling import Toolbox
from commonplace.agent.tools import TOOLS, Answer, Caller, Tool
from commonplace.memory import Memory
from commonplace.types.conversation import Call

NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def box(root: Path, *offered: Tool, deadline_s: float = 10) -> Toolbox:
    return Toolbox(Memory.open(root), offered, session="s", agent="a", deadline_s=deadline_s)


def call(name: str, arguments: str = "{}", place: int = 0) -> Call:
    return Call(f"call_{place}", name, arguments)


def test_calls_run_side_by_side_and_answer_in_order(tmp_path: Path) -> None:
    meeting = threading.Barrier(3, timeout=5)

    def run(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
        meeting.wait()  # raises unless all three are here at once
        return Answer(f"{given['name']} for {caller.agent} in {caller.session}")

    tool = Tool("meet", "", {"type": "object", "properties": {"name": {"type": "string"}}}, run)
    calls = [call("meet", f'{{"name": "{name}"}}') for name in ("first", "second", "third")]
    done = box(tmp_path, tool).run(calls)
    assert [execution.result for execution in done] == [
        "first for a in s", "second for a in s", "third for a in s",
    ]  # fmt: skip
    assert all(execution.duration_ms > 0 for execution in done)
    assert done[0].arguments == {"name": "first"}


def test_mistakes_are_answers(tmp_path: Path) -> None:
    def fail(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
        raise RuntimeError("out of paper")

    tools = box(tmp_path, *TOOLS, Tool("print", "", NOTHING, fail))
    calls = [
        call("remember_it"),
        call("memory_search", '{"query": '),
        call("memory_search", "[]"),
        call("memory_search", '{"question": "tea"}'),
        call("memory_get", '{"path": "memory/2026-02-30.md"}'),
        call("print"),
        call("memory_status", ""),
    ]
    errors = [execution.error for execution in tools.run(calls)]
    assert errors[0].startswith("unknown tool 'remember_it'; there are memory_search,")
    assert errors[1] == 'memory_search: the arguments are not a JSON object: {"query": '
    assert errors[2] == "memory_search: the arguments are not a JSON object: []"
    assert "query" in errors[3]
    assert "memory/2026-02-30.md" in errors[4]
    assert errors[5] == "print failed: RuntimeError: out of paper"
    assert errors[6] == ""


def test_a_tool_that_hangs_and_too_many_calls(tmp_path: Path) -> None:
    held = threading.Event()

    def hang(memory: Memory, given: Mapping[str, Any], caller: Caller) -> Answer:
        held.wait(10)
        return Answer("late")

    tools = box(tmp_path, Tool("hang", "", NOTHING, hang), deadline_s=0.05)
    done = tools.run([call("hang"), *[call("nothing")] * calling.MOST_CALLS])
    held.set()
    assert done[0].error == "no result within 0.05 s"
    assert done[1].error.startswith("unknown tool")
    assert done[-1].error == f"not run: only {calling.MOST_CALLS} calls of one answer are"


def test_an_answer_as_a_turn(tmp_path: Path) -> None:
    wanted = call("memory_status", place=7)
    (done,) = box(tmp_path, *TOOLS).run([wanted])
    turn = calling.answered(wanted, done)
    assert (turn.role, turn.answers, turn.tool) == ("tool", "call_7", "memory_status")
    assert turn.text == done.result
