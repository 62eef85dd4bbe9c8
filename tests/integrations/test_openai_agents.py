"""The OpenAI Agents SDK itself, with its own scripted model: sessions, run configurations, run hooks."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "agents", reason="no openai-agents here; ./run test --clients makes an environment for it"
)

from agents import Agent, RunConfig, Runner, SQLiteSession, function_tool, set_tracing_disabled
from agents.memory import Session
from agents.testing import ScriptedModel, assistant_message, function_call

from commonplace.integrations.openai_agents import memory_tools, with_memory
from tests.integrations.contract import (
    FRAME,
    Call,
    Contract,
    Heard,
    Host,
    Step,
    blocks,
    documented,
    indexed,
    synced,
    workspace,
)

__all__ = ["indexed", "workspace"]
set_tracing_disabled(True)


@function_tool
def write_file(path: str, content: str) -> str:
    """Write a file."""
    return "written"


def text_of(items: Any) -> str:
    items = [items] if isinstance(items, str) else items
    return "\n".join(item if isinstance(item, str) else words(item) for item in items)


def words(item: Any) -> str:
    content = item.get("content", item.get("output", ""))
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content or ())


class Talk:
    """One session with an agent, in one event loop a turn, as scripts have it."""

    def __init__(self, workspace: Path, stored: Session, run_config: RunConfig | None = None) -> None:
        self.workspace, self.stored = workspace, stored
        self.memory = with_memory(workspace, stored, run_config)
        self.model = ScriptedModel()
        self.agent = Agent(name="a", model=self.model, tools=[write_file, *memory_tools(workspace)])
        self.calls = 0

    def say(self, message: str, *steps: Step) -> Heard:
        for step in steps:
            self.calls += 1
            if isinstance(step, Call):
                said = function_call(step.tool, step.arguments, call_id=f"c{self.calls}")
            else:
                said = assistant_message(step, item_id=f"m{self.calls}")
            self.model.enqueue([said])
        before = len(self.model.calls)
        result = asyncio.run(Runner.run(self.agent, message, **self.memory))
        self.model.assert_complete()
        return Heard([text_of(call.input) for call in self.model.calls[before:]], result.final_output)

    def history(self) -> str:
        return json.dumps(asyncio.run(self.stored.get_items()), ensure_ascii=False).replace('\\"', '"')

    def host(self) -> Host:
        def reopened() -> Talk:
            return Talk(self.workspace, self.stored)

        attachment = self.memory["hooks"]._attachment
        return Host(
            self.workspace, self.say, self.history, close=attachment.close, more={"reopened": reopened}
        )


@pytest.fixture
def talk(workspace: Path, tmp_path: Path) -> Talk:
    return Talk(workspace, SQLiteSession("chat/1", tmp_path / "sessions.db"))


@pytest.fixture
def host(talk: Talk) -> Iterator[Host]:
    host = talk.host()
    yield host
    host.close()


class TestContract(Contract):
    """The promises of every adapter."""


def test_a_block_stays_beside_its_message_for_the_later_turns(talk: Talk) -> None:
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    heard = talk.say("And who signs?", "Mira.")
    sent = talk.model.calls[-1].input
    assert [item["role"] for item in sent[:2]] == ["user", "user"]
    assert sent[0]["content"].startswith(FRAME)
    assert sent[1]["content"] == "On which day do deploys go out?"
    assert len(blocks(heard.requests[0])) == 1


def test_a_cleared_session_is_given_everything_again(talk: Talk) -> None:
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    asyncio.run(talk.memory["session"].clear_session())
    assert len(blocks(talk.say("On which day do deploys go out?", "On Tuesdays.").requests[0])) == 1


def test_a_message_that_was_taken_back_is_recalled_for_again(talk: Talk) -> None:
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    for _ in range(2):
        asyncio.run(talk.memory["session"].pop_item())
    assert len(blocks(talk.say("On which day do deploys go out?", "On Tuesdays.").requests[0])) == 1


def test_the_owner_s_own_callback_comes_first(workspace: Path) -> None:
    def last_two(history: list[Any], new: list[Any]) -> list[Any]:
        return [*history[-2:], *new]

    talk = Talk(
        workspace, SQLiteSession("s"), RunConfig(session_input_callback=last_two, workflow_name="mine")
    )
    assert talk.memory["run_config"].workflow_name == "mine"
    for _ in range(3):
        talk.say("Hello!", "Hi.")
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    assert len(talk.model.calls[-1].input) == 4


def test_a_result_of_a_search_is_not_stored_and_its_call_has_an_answer(talk: Talk) -> None:
    talk.say("Search.", Call("memory_search", {"query": "ferry"}), "At 17:45.")
    items = asyncio.run(talk.stored.get_items())
    assert [item.get("output") for item in items if item.get("type") == "function_call_output"] == [
        "the result was not kept"
    ]


def test_a_wrong_call_is_an_answer(talk: Talk) -> None:
    heard = talk.say("Search.", Call("memory_search", {"question": "ferry"}), "Sorry.")
    assert "memory_search: 'query' is missing" in heard.requests[-1]


def test_an_id_alone_is_a_session_in_memory(workspace: Path) -> None:
    memory = with_memory(workspace)
    assert memory["session"].session_id == "default"
    assert isinstance(memory["session"], Session)


def test_a_streamed_run_is_the_same(talk: Talk) -> None:
    async def stream() -> None:
        talk.model.enqueue([function_call("write_file", {"path": "out.txt", "content": "x"}, call_id="c1")])
        talk.model.enqueue([assistant_message("On Tuesdays.")])
        streamed = Runner.run_streamed(talk.agent, "On which day do deploys go out?", **talk.memory)
        async for _ in streamed.stream_events():
            pass
        assert streamed.final_output == "On Tuesdays."

    asyncio.run(stream())
    assert len(blocks(text_of(talk.model.calls[-1].input))) == 1
    assert FRAME not in talk.history()
    talk.host().close()
    assert "Wrote out.txt" in synced(talk.workspace)


def test_several_runs_of_one_process_at_once_keep_their_sessions_apart(workspace: Path) -> None:
    talks = [Talk(workspace, SQLiteSession(f"s{number}")) for number in range(4)]

    async def together() -> None:
        for talk in talks:
            talk.model.enqueue([assistant_message("On Tuesdays.")])
        message = "On which day do deploys go out?"
        await asyncio.gather(*(Runner.run(talk.agent, message, **talk.memory) for talk in talks))

    asyncio.run(together())
    assert [len(blocks(text_of(talk.model.calls[-1].input))) for talk in talks] == [1] * 4


def test_what_the_documentation_shows_works(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.parent)
    model = ScriptedModel([[assistant_message("On Tuesdays.")]])
    names = {
        "Runner": Runner,
        "agent": Agent(name="a", model=model),
        "message": "On which day do deploys go out?",
    }
    exec(documented("OpenAI Agents SDK"), names)
    assert names["result"].final_output == "On Tuesdays."  # type: ignore[attr-defined]
    assert "Tuesdays" in text_of(model.calls[0].input)
