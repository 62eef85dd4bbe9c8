"""Calls of tools: each gets an answer in time, in order; in a conversation each has one."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from commonplace.agent import loop
from commonplace.agent.loop import INTERRUPTED, NOT_KEPT, Toolbox, paired
from commonplace.agent.tools import TOOLS, Caller, Tool, ToolAnswer
from commonplace.memory import Memory
from commonplace.types.events import Call, ToolExecution, Turn

NOTHING = {"type": "object", "properties": {}, "additionalProperties": False}


def run(
    root: Path, offered: Sequence[Tool], calls: Sequence[Call], deadline_s: float = 10, approve: Any = None
) -> list[ToolExecution]:
    tools = Toolbox(Memory.open(root), offered, Caller("a", "s"), approve)
    done = [tools.refused(call, "") for call in calls]
    tools.run(calls, done, deadline_s)
    return done


def call(name: str, arguments: str = "{}", place: int = 0) -> Call:
    return Call(f"call_{place}", name, arguments)


def test_calls_run_in_order_as_the_caller(tmp_path: Path) -> None:
    order: list[str] = []

    def meet(memory: Memory, given: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        order.append(given["name"])
        return ToolAnswer(f"{given['name']} for {caller.agent} in {caller.session}")

    tool = Tool("meet", "", {"type": "object", "properties": {"name": {"type": "string"}}}, meet)
    names = ["first", "second", "third"]
    done = run(tmp_path, [tool], [call("meet", f'{{"name": "{name}"}}') for name in names])
    assert [execution.result for execution in done] == [f"{name} for a in s" for name in names]
    assert order == names
    assert all(execution.duration_ms > 0 for execution in done)
    assert done[0].arguments == {"name": "first"}


def test_mistakes_are_answers(tmp_path: Path) -> None:
    def fail(memory: Memory, given: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        raise RuntimeError("out of paper")

    tools = [*TOOLS, Tool("print", "", NOTHING, fail)]
    calls = [
        call("remember_it"),
        call("memory_search", '{"query": '),
        call("memory_search", "[]"),
        call("memory_search", '{"question": "tea"}'),
        call("memory_get", '{"path": "memory/2026-02-30.md"}'),
        call("print"),
        call("memory_status", ""),
    ]
    errors = [execution.error for execution in run(tmp_path, tools, calls)]
    assert errors[0].startswith("unknown tool 'remember_it'; there are memory_search,")
    assert errors[1] == 'memory_search: the arguments are not a JSON object: {"query": '
    assert errors[2] == "memory_search: the arguments are not a JSON object: []"
    assert "query" in errors[3]
    assert "memory/2026-02-30.md" in errors[4]
    assert errors[5] == "print failed: RuntimeError: out of paper"
    assert errors[6] == ""


def test_a_tool_that_hangs_and_too_many_calls(tmp_path: Path) -> None:
    held = threading.Event()

    def hang(memory: Memory, given: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        held.wait(10)
        return ToolAnswer("late")

    tools = [Tool("hang", "", NOTHING, hang), *TOOLS]
    done = run(tmp_path, tools, [call("hang"), *[call("memory_status")] * loop.MOST_CALLS], 0.05)
    held.set()
    assert done[0].error == "no result within 0.05 s"
    assert done[1].error == "not run: no time was left for it"
    assert done[-1].error == f"not run: only {loop.MOST_CALLS} calls of one answer are"


def test_an_answer_as_a_turn(tmp_path: Path) -> None:
    wanted = call("memory_status", place=7)
    (done,) = run(tmp_path, TOOLS, [wanted])
    turn = loop.answered(wanted, done)
    assert (turn.role, turn.answers, turn.tool) == ("tool", "call_7", "memory_status")
    assert turn.text == done.result


# --- what needs a yes -----------------------------------------------------------------------------------

ASKED = {"type": "object", "properties": {"sure": {"type": "boolean"}}, "additionalProperties": False}


class Burning:
    """A tool that burns a house, and a person who is asked."""

    def __init__(self, *, says: bool = True) -> None:
        self.says, self.burnt = says, 0
        self.asked: list[tuple[str, str, bool]] = []
        self.tool = Tool("burn", "", ASKED, self.run, read_only=False, destructive=True, asks=self.asks)

    def run(self, memory: Memory, given: Mapping[str, Any], caller: Caller) -> ToolAnswer:
        self.burnt += bool(given.get("sure"))
        return ToolAnswer("burnt" if given.get("sure") else "would burn")

    def asks(self, memory: Memory, given: Mapping[str, Any]) -> str:
        return "burn the house" if given.get("sure") else ""

    def approve(self, tool: Tool, preview: str) -> bool:
        here = threading.current_thread() is threading.main_thread()
        self.asked.append((tool.name, preview, here))
        return self.says


def test_a_person_is_asked_in_the_thread_that_calls(tmp_path: Path) -> None:
    house = Burning()
    calls = [call("memory_status"), call("burn", '{"sure": true}'), call("burn")]
    status, burnt, preview = run(tmp_path, [*TOOLS, house.tool], calls, approve=house.approve)
    assert house.asked == [("burn", "burn the house", True)]
    assert (burnt.result, preview.result, status.error) == ("burnt", "would burn", "")


def test_a_no_is_told_and_holds_for_the_whole_answer(tmp_path: Path) -> None:
    house = Burning(says=False)
    calls = [call("burn", '{"sure": true}', place) for place in range(5)]
    done = run(tmp_path, [house.tool], calls, approve=house.approve)
    assert [execution.error for execution in done] == [f"burn: {loop.DECLINED}"] * 5
    assert (len(house.asked), house.burnt) == (1, 0)


def test_without_anybody_to_ask_it_is_refused(tmp_path: Path) -> None:
    house = Burning()
    (done,) = run(tmp_path, [house.tool], [call("burn", '{"sure": true}')])
    assert (done.error, house.burnt) == (f"burn: {loop.NOBODY}", 0)
    (preview,) = run(tmp_path, [house.tool], [call("burn")])
    assert preview.result == "would burn"


def test_what_is_to_be_forgotten_is_not_kept_by_asking_for_it() -> None:
    asked = Turn(
        "assistant", "", calls=(call("memory_forget", '{"what": "the diary"}'), call("memory_status"))
    )
    kept = loop.kept(asked)
    assert [one.arguments for one in kept.calls] == [loop.UNTOLD, "{}"]
    assert loop.parsed(loop.UNTOLD) is not None


# --- conversations that were cut ----------------------------------------------------------------------


ONE, TWO = Call("one", "memory_search", "{}"), Call("two", "memory_get", "{}")
QUESTION = Turn("assistant", "", calls=(ONE, TWO))
WHOLE = [
    Turn("user", "Which tea?"),
    QUESTION,
    Turn("tool", "white", answers="one", tool="memory_search"),
    Turn("tool", "tea", answers="two", tool="memory_get"),
    Turn("assistant", "White tea."),
]


def test_what_is_whole_stays_as_it_is() -> None:
    assert paired(WHOLE) == WHOLE


def test_a_cut_at_either_end() -> None:
    assert paired(WHOLE[2:]) == WHOLE[4:]
    assert paired(WHOLE[:3]) == [*WHOLE[:3], Turn("tool", INTERRUPTED, answers="two", tool="memory_get")]


def test_a_result_that_was_left_out_says_so() -> None:
    assert paired([WHOLE[1], replace(WHOLE[2], text="")])[1].text == NOT_KEPT


@given(st.lists(st.sampled_from([*WHOLE, Turn("tool", "again", answers="one")]), max_size=12))
def test_every_call_is_followed_by_its_answers(turns: list[Turn]) -> None:
    kept = paired(turns)
    assert [turn for turn in kept if turn.role != "tool"] == [turn for turn in turns if turn.role != "tool"]
    waiting: list[str] = []
    for turn in kept:
        if turn.role == "tool":
            waiting.remove(turn.answers)
        else:
            assert waiting == []
            waiting = [call.id for call in turn.calls]
    assert waiting == []
