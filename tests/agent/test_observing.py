"""The hook that observes tools: what it hands to a worker, and that a note comes of it."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from commonplace import Memory
from commonplace.agent.observing import ObservationHook
from commonplace.types import Entry, ToolExecution

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
