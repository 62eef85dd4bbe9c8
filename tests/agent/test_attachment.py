"""A memory beside another host's loop: never an error, never late for long, nothing lost, nothing twice."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent import context as contexts
from commonplace.agent.attachment import Attachment, HostModel, Recalled, opened, turns_of
from commonplace.base.errors import ProviderError
from commonplace.providers.llm.base import Message, Request
from commonplace.storage.queue import Queue
from tests.agent.talking import wait_for
from tests.cli.conftest import environment

ASKED = "When does the ferry to Oslo leave?"
EVIDENCE = "17:45"


@pytest.fixture
def memory(folder: Path) -> Iterator[Memory]:
    """One whose recalls are waited for, however busy the machine is."""
    overrides = {"embedding.provider": "none", "usage.record": False, "limits.wait_s": 60}
    with Memory.open(folder, overrides=overrides) as opened:
        yield opened


@pytest.fixture
def beside(memory: Memory) -> Iterator[Attachment]:
    attachment = Attachment(memory, agent="host")
    yield attachment
    attachment.close()


def noted(folder: Path) -> str:
    with Memory.open(folder, overrides={"embedding.provider": "none"}) as memory:
        Queue(memory.workspace).drain(memory.capture)
    return "\n".join(path.read_text("utf-8") for path in sorted((folder / "memory").glob("*.md")))


def test_what_clearly_answers_is_given_once_in_its_frame_and_budget(beside: Attachment) -> None:
    context = beside.recall(ASKED, "s")
    assert context is not None
    assert EVIDENCE in context.text
    assert context.text.startswith("<recalled-notes")
    assert context.tokens <= beside.memory.settings.prompt.budget
    assert beside.recall(ASKED, "s") is None
    assert beside.recall(ASKED, "another") is not None
    beside.given("s", ())
    assert beside.recall(ASKED, "s") is not None


@pytest.mark.parametrize("message", ["", "   ", "thanks!", "谢谢", "ok", "👍"])
def test_small_talk_gets_nothing_and_no_head_of_long_term_memory(beside: Attachment, message: str) -> None:
    assert beside.recall(message, "s") is None
    assert asyncio.run(beside.recall_async(message, "s")) is None


def test_another_process_knows_what_was_given_on_disk_alone(memory: Memory, beside: Attachment) -> None:
    assert beside.recall(ASKED, "s") is not None
    assert Attachment(memory).recall(ASKED, "s") is None
    assert Attachment(memory, on_disk=False).recall(ASKED, "s") is not None


def test_a_recall_is_not_asked_with_what_was_recalled(beside: Attachment) -> None:
    context = beside.recall(ASKED, "s")
    assert context is not None
    assert beside.recall(context.text, "another") is None


def test_a_recall_that_hangs_is_left_behind_and_threads_do_not_pile_up(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hanging = threading.Event()
    overrides = {"embedding.provider": "none", "limits.wait_s": 0.05}
    with Memory.open(folder, overrides=overrides) as memory:
        monkeypatch.setattr(memory, "recall", lambda *arguments, **named: hanging.wait(60))
        attachment = Attachment(memory)
        before = threading.active_count()
        for number in range(10):
            assert attachment.recall(ASKED, str(number)) is None
            assert asyncio.run(attachment.recall_async(ASKED, str(number))) is None
        assert threading.active_count() <= before + contexts.RUNNING
        hanging.set()
        attachment.close()


def test_many_sessions_at_once_are_all_answered(beside: Attachment) -> None:
    async def together() -> list[object]:
        return await asyncio.gather(
            *(beside.recall_async(ASKED, str(number)) for number in range(5 * contexts.RUNNING))
        )

    assert None not in asyncio.run(together())


def test_a_recall_for_which_no_thread_can_be_had_is_none(
    beside: Attachment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        for _ in range(2 * contexts.RUNNING):  # a slot that was taken is given back
            assert beside.recall(ASKED, "s") is None
    assert beside.recall(ASKED, "s") is not None


def test_what_is_observed_is_in_the_queue_and_no_note_is_written(beside: Attachment, folder: Path) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*.md")}
    arguments = {"path": "a.py", "content": "x = 1"}
    beside.observe(beside.execution("s", "write_file", json.dumps(arguments), "written", took_s=0.012))
    asyncio.run(
        beside.observe_async(beside.execution("s", "memory_search", {"query": "ferry"}, "<recalled-notes>"))
    )
    beside.observe(beside.execution("s", "write_file", "no JSON", object()))
    beside.close()
    assert {path: path.read_bytes() for path in folder.rglob("*.md")} == before
    assert Queue(beside.memory.workspace).waiting().entries == 2
    notes = noted(folder)
    assert "Wrote a.py" in notes
    assert "write_file, 12 ms" in notes
    assert "memory_search" not in notes


def test_a_result_that_cannot_be_said_is_observed_all_the_same(beside: Attachment) -> None:
    class Odd:
        def __str__(self) -> str:
            raise ValueError("no")

    assert beside.execution("s", "tool", None, Odd()).result == "(ValueError)"


OBSERVER = """
import sys
from commonplace.agent.attachment import Attachment, opened
attachment = Attachment(opened(sys.argv[1]), agent=sys.argv[2])
for n in range(20):
    arguments = {"path": f"{sys.argv[2]}-{n}.py", "content": f"x = {n}"}
    attachment.observe(attachment.execution("s", "write_file", arguments, "written"))
"""


def test_processes_at_once_that_never_close_lose_nothing(folder: Path) -> None:
    line = [sys.executable, "-c", OBSERVER, os.fspath(folder)]
    running = [subprocess.Popen([*line, name], env=environment()) for name in ("one", "two", "three")]
    assert [process.wait(120) for process in running] == [0, 0, 0]
    notes = noted(folder)
    assert [
        name for name in ("one", "two", "three") for n in range(20) if f"Wrote {name}-{n}.py" not in notes
    ] == []


def test_sessions_of_any_name_are_kept_and_summed_up(beside: Attachment, folder: Path) -> None:
    asked: list[Sequence[object]] = []

    def ask(messages: Sequence[object], max_tokens: int, deadline_s: float) -> str:
        asked.append(messages)
        parts = {
            "request": "Asked about the kestrel.",
            "done": [],
            "decisions": [],
            "learned": [],
            "open": [],
        }
        return json.dumps({"worth_keeping": True, **parts})

    beside.ask_with(ask)
    for session in ("../../etc/passwd", "telegram:12/3", "x" * 500):
        messages = [{"role": "user", "content": f"Where is the kestrel? {number}"} for number in range(3)]
        beside.keep(session, messages[:1])
        beside.begin(session)
        beside.keep(session, messages[1:], earlier=[{"role": "user", "content": "not again"}])
        beside.rest(session)
        assert beside.settle(60)
    assert len(asked) == 3
    assert "JSON schema" in str(asked[0])
    assert "not again" not in str(asked)
    assert (
        sorted(path.parent.name for path in folder.rglob("*.jsonl") if path.parent.name != "spool")
        == ["sessions"] * 3
    )
    assert noted(folder).count("Asked about the kestrel.") == 3


def test_what_another_process_left_is_summed_up_at_the_beginning(memory: Memory, folder: Path) -> None:
    first, second = Attachment(memory), Attachment(memory)
    first.begin("s")
    first.settle(60)
    said = [{"role": "user", "content": f"We decided on kestrel {number}."} for number in range(3)]
    first.keep("s", said)
    assert first.settle(60)
    assert "kestrel 2" not in noted(folder)
    first._summarizer.pending._let_go("s")  # as when its process was killed
    second.begin("s")
    assert second.settle(60)
    assert "Decided – We decided on kestrel 0." in noted(folder)
    first.close()
    second.close()


def test_a_session_that_rests_is_summed_up_and_let_go_of(folder: Path) -> None:
    """A host of thousands of sessions holds no file open for those that rest."""
    overrides = {"embedding.provider": "none", "summary.idle_s": 1}
    with Memory.open(folder, overrides=overrides) as memory:
        attachment = Attachment(memory)
        attachment.begin("s")
        attachment.keep(
            "s", [{"role": "user", "content": f"We decided on kestrel {number}."} for number in range(3)]
        )
        wait_for(lambda: "We decided on kestrel 2." in noted(folder))
        wait_for(lambda: not attachment._summarizer.pending.is_open("s"))
        attachment.begin("s")
        wait_for(lambda: attachment._summarizer.pending.is_open("s"))
        attachment.close()


def test_a_host_s_model_that_fails_is_an_error_of_a_provider() -> None:
    def ask(messages: Sequence[object], max_tokens: int, deadline_s: float) -> str:
        raise OSError("the key is sk-123")

    with pytest.raises(ProviderError, match="OSError") as failed:
        HostModel(ask, "m").answer(Request((Message("user", "?"),)))
    assert "sk-123" not in str(failed.value)


def test_turns_of_hosts_hold_only_what_was_said() -> None:
    messages = [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": [{"type": "text", "text": "one"}]},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "function": {"name": "f", "arguments": "{}"}}],
        },
        {"role": "tool", "tool_call_id": "c", "name": "f", "content": "two"},
        {"odd": 1},
    ]
    assert [(turn.role, turn.text) for turn in turns_of(messages)] == [
        ("system", "rules"), ("user", "one"), ("assistant", ""), ("tool", "two"),
    ]  # fmt: skip


def test_blocks_stay_beside_their_messages_while_these_are_there(memory: Memory) -> None:
    attachment = Attachment(memory, on_disk=False)
    recalled = Recalled(attachment, "s")

    async def talk() -> None:
        await recalled.recall(ASKED, [])
        assert [EVIDENCE in text for text in recalled.beside([ASKED, "thanks!"])] == [True, False]
        await recalled.recall(ASKED, [ASKED, "thanks!"])  # nothing new
        assert [EVIDENCE in text for text in recalled.beside([ASKED, "thanks!", ASKED])] == [
            True,
            False,
            False,
        ]
        await recalled.recall(ASKED, [])  # the conversation was shortened
        assert [EVIDENCE in text for text in recalled.beside([ASKED])] == [True]
        recalled.clear()
        assert recalled.beside([ASKED]) == [""]

    asyncio.run(talk())
    attachment.close()


def test_a_memory_is_opened_by_its_path(folder: Path, memory: Memory) -> None:
    assert opened(memory) is memory
    with opened(folder, "host") as held:
        assert held.workspace.root == folder
