"""The hook that observes tools: what it hands to a worker, and that a note comes of it."""

from __future__ import annotations

import json
import time
from datetime import datetime
from pathlib import Path

from commonplace import Memory
from commonplace.agent.hooks import HookManager
from commonplace.agent.lifecycle import ObservationHook
from commonplace.agent.worker import IndexWorker
from commonplace.types import Entry, ToolExecution
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import answer
from tests.providers.server import Reply, Server

AT = datetime(2026, 2, 13, 10, 22, 5)


class Direct:
    """A worker that writes at once."""

    def __init__(self, memory: Memory) -> None:
        self.memory, self.entries = memory, list[Entry]()

    def submit(self, entry: Entry) -> None:
        self.entries.append(entry)
        self.memory.capture([entry])


def test_tools_become_entries_that_are_found_again(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as memory:
        worker = Direct(memory)
        hook = ObservationHook(worker, memory.settings, tmp_path)
        written = {"file_path": str(tmp_path / "src" / "walnut.py"), "content": "desk = 'ann@example.com'"}
        hook.on_tool_executed(ToolExecution("8f3a", "Write", written, "ok", at=AT, agent="nanobot"))
        hook.on_tool_executed(ToolExecution("8f3a", "Write", written, "ok", at=AT, agent="nanobot"))
        hook.on_tool_executed(ToolExecution("8f3a", "Read", {"file_path": "a"}, "short", at=AT))
        assert len(worker.entries) == 1
        assert "ann@example.com" not in worker.entries[0].text
        (hit,) = memory.search("walnut by:tool session:8f3a agent:nanobot", min_score=0.0).hits
        assert "modified `src/walnut.py`" in hit.text
        assert hit.labels == ("untrusted",)
        assert "by: tool" not in hit.text
        assert memory.search("walnut session:other", min_score=0.0).hits == ()


def test_a_worker_writes_what_the_hook_saw_and_the_model_filed(tmp_path: Path, server: Server) -> None:  # noqa: F811
    (tmp_path / "memory").mkdir()
    filed = {"number": 1, "type": "feature", "concepts": ["pattern"], "title": "The desk has an owner"}
    server.script.append(Reply(answer(json.dumps({"observations": [filed]}))))
    settings = {
        "embedding.provider": "none", "llm.provider": "compatible", "llm.model": "test-model",
        "llm.base_url": f"{server.url}/v1", "observe.enrich": True,
    }  # fmt: skip
    with Memory.open(tmp_path, overrides=settings) as memory, IndexWorker(memory) as worker:
        manager = HookManager([ObservationHook(worker, memory.settings, tmp_path)], entry_points=False)
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
    assert note.read_text("utf-8") == (
        "# 2026-02-13\n\n## Observations\n\n"
        "- 10:22 The desk has an owner <!-- by: tool; agent: nanobot; session: 8f3a; at: 2026-02-13T10:22:05 -->\n"
        "  Write; modified `walnut.py`; feature; pattern\n"
        "  ```diff\n  + desk = '[REDACTED:email]'\n  ```\n"
    )
    assert b"ann@example.com" not in server.requests[0].body
