"""nanobot: long-term memory, what was archived of conversations, and its sessions."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from commonplace import config
from commonplace.memory import Memory
from tests.imports.conftest import Bring, written


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / ".nanobot"
    notes = made / "workspace" / "memory"
    notes.mkdir(parents=True)
    (made / "config.json").write_text("{}")
    (notes / "MEMORY.md").write_text("# Long-term Memory\n\n- Mira maintains billing.\n")
    (made / "workspace" / "USER.md").write_text("# User\n\n- Lives in Oslo.\n")
    entries = [
        {"cursor": 1, "timestamp": "2025-03-04 10:22", "content": "Deploys moved\nto Thursday.", "session_key": "cli:a"},
        {"cursor": 2, "timestamp": "2025-03-05 09:00", "content": "The harbour closes at six."},
        {"cursor": 3, "timestamp": "2025-03-05 09:01", "content": ""},
    ]  # fmt: skip
    (notes / "history.jsonl").write_text("".join(json.dumps(one) + "\n" for one in entries) + "{ cut off\n")
    sessions = made / "sessions" / ("0" * 32)
    sessions.mkdir(parents=True)
    name = base64.urlsafe_b64encode(b"cli:direct").decode().rstrip("=")
    lines = [
        {"_type": "metadata", "key": "cli:direct"},
        {"role": "user", "content": "When does the kestrel fly?"},
    ]
    (sessions / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return made


def test_memory_history_and_sessions(root: Path, home: Path, bring: Bring) -> None:
    done = bring(home)
    notes = written(root)
    assert "Mira maintains billing" in notes["MEMORY.md"]
    assert "Oslo" in notes["USER.md"]
    assert (
        "- 10:22 Deploys moved <!-- by: agent; agent: nanobot; session: cli:a; at:"
        in notes["memory/2025-03-04-nanobot.md"]
    )
    assert "  to Thursday." in notes["memory/2025-03-04-nanobot.md"]
    assert "harbour" in notes["memory/2025-03-05-nanobot.md"]
    assert [left.reason for left in done.left_out] == ["1 lines are damaged or hold no entry"]
    assert config.load(root).collections["nanobot-sessions"].format == "nanobot"
    with Memory.open(root) as memory:
        memory.sync()
        assert memory.search("kestrel fly").hits[0].collection == "nanobot-sessions"


def test_home_and_workspace_are_one_source(root: Path, home: Path, bring: Bring) -> None:
    bring(home)
    before = written(root)
    again = bring(home / "workspace", "nanobot")
    assert {one.outcome for one in (*again.files, *again.settings)} == {"same"}
    assert written(root) == before


def test_a_note_that_is_not_utf8_is_left_out_and_named(root: Path, home: Path, bring: Bring) -> None:
    note = home / "workspace" / "memory" / "旧笔记.md"
    note.write_bytes("# 旧\n\n- 茶。\n".encode("gbk"))
    done = bring(home)
    assert "is not UTF-8 (line 1); convert it, then import again" in [left.reason for left in done.left_out]
    assert not any("旧笔记" in path for path in written(root))
    note.write_text("# 旧\n\n- 茶。\n", "utf-8")
    bring(home)
    assert "茶" in written(root)["memory/旧笔记.md"]
