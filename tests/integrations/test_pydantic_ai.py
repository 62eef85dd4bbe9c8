"""Pydantic AI itself, with its own scripted model: capabilities, message histories, tools."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip(
    "pydantic_ai", reason="no pydantic-ai here; ./run test --clients makes an environment for it"
)

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from commonplace.integrations.pydantic_ai import MemoryCapability
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
SUMMARY = {
    "worth_keeping": True, "request": "Asked about deploys.", "done": ["Wrote out.txt."], "decisions": [],
    "learned": [], "open": [],
}  # fmt: skip


def words(part: Any) -> str:
    content = getattr(part, "content", "")
    return (
        content
        if isinstance(content, str)
        else "\n".join(one for one in content or () if isinstance(one, str))
    )


class Talk:
    """One conversation with an agent: each turn is given the history of the one before."""

    def __init__(self, workspace: Path, **options: bool) -> None:
        self.workspace = workspace
        self.capability = MemoryCapability(workspace, **options)
        self.script: list[Step] = []
        self.requests: list[tuple[list[Any], AgentInfo]] = []
        self.summaries: list[str] = []
        self.messages: list[Any] = []
        self.agent = Agent(FunctionModel(self.answer), capabilities=[self.capability])

        @self.agent.tool_plain
        def write_file(path: str, content: str) -> str:
            """Write a file."""
            if path.startswith("/"):
                raise PermissionError(f"{path} is read-only: mount it anew")
            return "written"

    def answer(self, messages: list[Any], info: AgentInfo) -> ModelResponse:
        if not info.function_tools:
            self.summaries.append(words(messages[-1].parts[-1]))
            return ModelResponse([TextPart(json.dumps(SUMMARY))])
        self.requests.append((list(messages), info))
        step = self.script.pop(0)
        return ModelResponse(
            [ToolCallPart(step.tool, step.arguments) if isinstance(step, Call) else TextPart(step)]
        )

    def say(self, message: str, *steps: Step) -> Heard:
        self.script, before = list(steps), len(self.requests)
        result = asyncio.run(self.agent.run(message, message_history=self.messages))
        self.messages = result.all_messages()
        asked = self.requests[before:]
        return Heard(
            ["\n".join(words(part) for m in sent for part in m.parts) for sent, _ in asked], result.output
        )

    def history(self) -> str:
        """What a program stores: messages as JSON, without the results of tools that searched."""
        kept = [
            message
            for message in self.messages
            if not any(getattr(part, "tool_name", "") == "memory_search" for part in message.parts)
            and not any(FRAME in words(part) for part in message.parts if part.part_kind == "text")
        ]
        return ModelMessagesTypeAdapter.dump_json(kept).decode().replace('\\"', '"')

    def host(self) -> Host:
        def reopened() -> Talk:
            return Talk(self.workspace)

        close = self.capability._attachment.close
        return Host(self.workspace, self.say, self.history, close=close, more={"reopened": reopened})


@pytest.fixture
def host(workspace: Path) -> Iterator[Host]:
    host = Talk(workspace, summaries=False).host()
    yield host
    host.close()


class TestContract(Contract):
    """The promises of every adapter."""


def test_instructions_and_tools_are_there_and_hold_no_note(workspace: Path) -> None:
    talk = Talk(workspace)
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    sent, info = talk.requests[0]
    assert "memory_search" in (info.instructions or "")
    assert FRAME not in (info.instructions or "")
    assert {"memory_search", "memory_write", "write_file"} <= {tool.name for tool in info.function_tools}
    assert [part.part_kind for part in sent[0].parts] == ["user-prompt", "user-prompt"]
    assert FRAME not in str(talk.messages)


def test_tools_and_summaries_can_be_left_out(workspace: Path) -> None:
    talk = Talk(workspace, tools=False, summaries=False)
    for _ in range(4):
        talk.say("On which day do deploys go out?", "On Tuesdays.")
    assert [tool.name for tool in talk.requests[0][1].function_tools] == ["write_file"]
    assert talk.requests[0][1].instructions is None
    assert talk.summaries == []
    assert not (workspace / "sessions").exists()


def test_a_conversation_is_summed_up_by_its_own_model_once(workspace: Path) -> None:
    talk = Talk(workspace)
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    assert not (workspace / "sessions").exists(), "one run is no conversation"
    talk.say("Write it down.", Contract.edit, "Done.")
    assert talk.summaries == []
    talk.say("thanks!", "Sure.")
    assert len(talk.summaries) == 1
    assert "[user] On which day do deploys go out?" in talk.summaries[0]
    assert FRAME not in talk.summaries[0]
    talk.say("bye", "Bye.")
    assert len(talk.summaries) == 1
    talk.capability._attachment.close()
    notes = synced(workspace)
    assert "Asked about deploys." in notes
    assert "agent: pydantic-ai" in notes


def test_a_tool_that_fails_is_observed_and_fails(workspace: Path) -> None:
    talk = Talk(workspace)
    with pytest.raises(PermissionError):
        talk.say("Write it down.", Call("write_file", {"path": "/etc/passwd", "content": "x"}))
    talk.capability._attachment.close()
    assert "Failed to write passwd" in synced(workspace)


def test_agents_of_one_process_do_not_mix_conversations(workspace: Path) -> None:
    capability = Talk(workspace)
    first = capability.say("On which day do deploys go out?", "On Tuesdays.")
    capability.messages = []
    second = capability.say("On which day do deploys go out?", "On Tuesdays.")
    assert len(blocks(first.requests[0])) == len(blocks(second.requests[0])) == 1


def test_a_streamed_run_is_the_same(workspace: Path) -> None:
    talk = Talk(workspace)
    seen: list[Any] = []

    async def answer(messages: list[Any], info: AgentInfo) -> Any:
        seen.append(messages)
        yield "On Tuesdays."

    async def stream() -> None:
        agent = Agent(FunctionModel(stream_function=answer), capabilities=[talk.capability])
        async with agent.run_stream("On which day do deploys go out?") as result:
            assert await result.get_output() == "On Tuesdays."
        assert FRAME not in str(result.all_messages())

    asyncio.run(stream())
    assert FRAME in words(seen[0][0].parts[0])


def test_what_the_documentation_shows_works(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(workspace.parent)
    talk = Talk(workspace)
    talk.script = ["On Tuesdays."]
    names: dict[str, Any] = {"Agent": Agent, "model": FunctionModel(talk.answer)}
    exec(documented("Pydantic AI"), names)
    assert names["agent"].run_sync("On which day do deploys go out?").output == "On Tuesdays."
    assert "Tuesdays" in "".join(words(part) for part in talk.requests[0][0][0].parts)
