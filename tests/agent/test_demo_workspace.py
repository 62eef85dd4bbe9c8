"""An agent's `memory_search` on the workspace that ships, in both languages, with the bundled model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace.agent.client_events import ClientEvents
from commonplace.agent.loop import AgentLoop
from commonplace.memory import Memory
from commonplace.providers.llm.client import Client
from commonplace.providers.opening import open_llm
from tests import demo
from tests.agent.model_server import Model, Say, call, last
from tests.agent.talking import own

QUESTIONS = [
    ("What filled the disk of the primary database?", "kestrel_cdc"),
    ("When does my flight to Berlin leave?", "00:55 on Sunday 10 May"),
    ("豆豆上哪所小学，哪天报到？", "青禾小学"),
    ("膝盖受伤，医生说几周不能跑步？", "膝"),
]


@pytest.fixture
def memory(tmp_path: Path, model: Model) -> Iterator[Memory]:
    root = demo.copied(tmp_path / "notes")
    settings = {key: value for key, value in own(model).items() if key != "embedding.provider"}
    with Memory.open(root, overrides=settings) as opened:
        opened.sync()
        yield opened


def test_memory_search_answers_agents_in_both_languages(memory: Memory, model: Model) -> None:
    llm = open_llm(memory.workspace, memory.settings)
    assert isinstance(llm, Client)
    with AgentLoop(memory, llm) as loop:
        for question, evidence in QUESTIONS:
            model.script = [call("memory_search", query=question), Say("I see.")]
            reply = loop.respond(question)
            (execution,) = reply.executions
            assert execution.error == ""
            assert evidence in last(model.chats[-1], "tool"), question
            assert "#L" in execution.result
    llm.model.close()  # type: ignore[attr-defined]


def test_a_short_message_that_asks_nothing_gets_what_is_clear_alone(memory: Memory) -> None:
    def given(message: str) -> str:
        event = {"hook_event_name": "UserPromptSubmit", "session_id": message[:9], "prompt": message}
        return ClientEvents(memory, "claude-code").answer(event)

    assert [
        given(one) for one in ("run the tests again", "commit this with a good message", "再跑一遍测试")
    ] == [""] * 3
    assert "kestrel_cdc" in given("kestrel_cdc filled the disk")
    assert given("豆豆的小学")
    assert given("what about the load test?")  # it asks
