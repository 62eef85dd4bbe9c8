"""Hooks that keep a session in memory: what is observed, summed up, and when it rests."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import ObservationHook, SummaryHook
from commonplace.agent.worker import IndexWorker
from commonplace.providers.fake import FakeModel
from commonplace.providers.llm.base import Request
from commonplace.providers.llm.client import Client
from commonplace.types import Entry, ToolExecution
from commonplace.types.events import MessageEvent, SessionEvent, Turn
from commonplace.upkeep.summaries import Summarizer
from tests.providers.conftest import server  # noqa: F401
from tests.upkeep.conftest import memory  # noqa: F401
from tests.upkeep.conversations import (
    ANSWER,
    CHINESE,
    CHINESE_ANSWER,
    ENGLISH,
    asked,
    model,
    note,
    talk,
    turns,
)

# --- observing ----------------------------------------------------------------------------------------


AT = datetime(2026, 2, 13, 10, 22, 5)


class Direct:
    """A worker that writes at once."""

    def __init__(self, opened: Memory) -> None:
        self.memory, self.entries = opened, list[Entry]()

    def submit(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.memory.capture([entry])


def test_tools_become_entries_that_are_found_again(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as opened:
        worker = Direct(opened)
        hook = ObservationHook(worker, opened.settings, tmp_path)
        written = {"file_path": str(tmp_path / "src" / "walnut.py"), "content": "desk = 'ann@example.com'"}
        hook.on_tool_executed(ToolExecution("8f3a", "Write", written, "ok", at=AT, agent="nanobot"))
        hook.on_tool_executed(ToolExecution("8f3a", "Write", written, "ok", at=AT, agent="nanobot"))
        hook.on_tool_executed(ToolExecution("8f3a", "Read", {"file_path": "a"}, "short", at=AT))
        assert len(worker.entries) == 1
        assert "ann@example.com" not in worker.entries[0].text
        (hit,) = opened.search("walnut by:tool session:8f3a agent:nanobot", min_score=0.0).hits
        assert "modified `src/walnut.py`" in hit.text
        assert hit.labels == ("untrusted",)
        assert "by: tool" not in hit.text
        assert opened.search("walnut session:other", min_score=0.0).hits == ()


def test_a_worker_writes_what_the_hook_saw(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    settings = {"embedding.provider": "none"}
    with Memory.open(tmp_path, overrides=settings) as opened, IndexWorker(opened) as worker:
        manager = HookManager([ObservationHook(worker, opened.settings, tmp_path)], entry_points=False)
        written = {"file_path": "walnut.py", "content": "desk = 'ann@example.com'"}
        manager.emit(
            "on_tool_executed", ToolExecution("8f3a", "Write", written, "ok", at=AT, agent="nanobot")
        )
        note = tmp_path / "memory" / "2026-02-13.md"
        until = time.monotonic() + 60
        while not note.exists() and time.monotonic() < until:
            time.sleep(0.01)
        manager.close()
        assert worker.stop(60)
    text = note.read_text("utf-8")
    assert text.startswith("# 2026-02-13\n\n## Observations\n\n- 10:22 ")
    assert "modified `walnut.py`" in text
    assert "desk" not in text


# --- summing up ---------------------------------------------------------------------------------------


START = SessionEvent("s1", "kestrel")


def eventually(holds: Callable[[], bool]) -> bool:
    until = time.monotonic() + 20
    while not holds() and time.monotonic() < until:
        time.sleep(0.005)
    return holds()


@pytest.fixture
def hanging() -> Iterator[tuple[Client, threading.Event]]:
    """A model that does not answer before it is let go."""
    let_go = threading.Event()

    def rule(request: Request) -> str:
        let_go.wait(30)

        return json.dumps(ANSWER)

    yield Client(FakeModel(rule)), let_go
    let_go.set()


def test_idle_then_more_then_the_end(memory: Memory) -> None:  # noqa: F811
    hook = SummaryHook(Summarizer(memory, model(ANSWER, CHINESE_ANSWER)), wait_s=30)
    manager = HookManager([hook], entry_points=False)
    manager.emit("on_session_start", START)
    talk(memory, "s1", turns(ENGLISH))
    manager.emit("on_session_idle", START)
    assert eventually(lambda: "Asked – " in note(memory))
    talk(memory, "s1", turns(CHINESE, hour=16))
    manager.emit("on_session_end", START)
    assert note(memory).count("- 16:02 请求 – ") == 1
    assert "Asked – " not in note(memory)  # the one summary was brought up to date
    assert note(memory).count("agent: kestrel; session: s1") == 1
    manager.close()
    assert hook.close(5)


def test_the_host_does_not_wait_for_a_rest(memory: Memory, hanging) -> None:  # noqa: F811
    llm, let_go = hanging
    hook = SummaryHook(Summarizer(memory, llm))
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    hook.on_session_idle(START)
    assert note(memory) == ""
    let_go.set()
    assert hook.close(20)
    assert "Asked – " in note(memory)


def test_the_end_waits_no_longer_than_told_and_the_rest_is_pending(memory: Memory, hanging) -> None:  # noqa: F811
    llm, let_go = hanging
    hook = SummaryHook(Summarizer(memory, llm), wait_s=0.05)
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    hook.on_session_end(START)
    assert note(memory) == ""
    assert not hook.close(0.05)
    mark = Summarizer(memory).pending.read("s1")
    assert mark is not None
    assert (mark.done, mark.held) == (0, True)
    let_go.set()
    assert hook.close(20)
    assert note(memory).count("Asked – ") == 1
    assert Summarizer(memory, model()).run_pending() == []


def test_what_was_left_behind_is_done_when_a_session_starts(memory: Memory) -> None:  # noqa: F811
    earlier = Summarizer(memory)
    earlier.pending.open("old")
    talk(memory, "old", turns(ENGLISH))
    earlier.pending.close("old")
    hook = SummaryHook(Summarizer(memory, model(ANSWER)))
    hook.on_message_received(MessageEvent("s1", Turn("user", "hello"), "kestrel"))
    assert eventually(lambda: "session: old" in note(memory))
    assert hook.close(20)


def test_the_old_waits_for_the_new(memory: Memory, hanging) -> None:  # noqa: F811
    earlier = Summarizer(memory)
    for name in ("old1", "old2"):
        earlier.pending.open(name)
        talk(memory, name, turns(ENGLISH))
        earlier.pending.close(name)
    llm, let_go = hanging
    hook = SummaryHook(Summarizer(memory, llm), wait_s=30)
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    assert eventually(lambda: bool(asked(llm)))  # one of the old ones is under way
    hook.on_session_idle(START)
    let_go.set()
    assert eventually(lambda: note(memory).count("Asked – ") == 3)
    places = [note(memory).index(f"session: {name}") for name in ("old1", "s1", "old2")]
    assert places == sorted(places)
    assert hook.close(20)


def test_a_failure_is_no_end(memory: Memory) -> None:  # noqa: F811
    blocked = memory.workspace.memory_dir / "2026-02-13.md"
    blocked.mkdir()
    hook = SummaryHook(Summarizer(memory, model(ANSWER, ANSWER)))
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    hook.on_session_idle(START)
    assert eventually(lambda: len(asked(hook._summarizer.llm)) == 1)
    blocked.rmdir()
    hook.on_session_end(START)
    assert note(memory).count("Asked – ") == 1
    assert hook.close(20)


def test_what_fails_at_the_end_is_anybodys_to_do(memory: Memory) -> None:  # noqa: F811
    blocked = memory.workspace.memory_dir / "2026-02-13.md"
    blocked.mkdir()
    hook = SummaryHook(Summarizer(memory, model(ANSWER)), wait_s=30)
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    hook.on_session_end(START)
    assert hook.close(20)  # it does not try again between the next two lines
    blocked.rmdir()
    (outcome,) = Summarizer(memory, model(ANSWER)).run_pending()
    assert outcome.written is not None


def test_switched_off_it_does_nothing(memory: Memory) -> None:  # noqa: F811
    settings = memory.settings.summary._replace(enabled=False)
    hook = SummaryHook(Summarizer(memory, model(ANSWER), settings))
    hook.on_session_start(START)
    talk(memory, "s1", turns(ENGLISH))
    hook.on_session_idle(START)
    hook.on_session_end(START)
    assert hook.close(20)
    assert note(memory) == ""
    assert hook._summarizer.pending.marks() == []
