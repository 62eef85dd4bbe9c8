"""`sessions`: followed, listed, shown, unfollowed, as on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.transcripts import conversations


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "a1.jsonl").write_bytes(conversations.claude_code().data)
    return folder


def test_from_following_to_unfollowing(run: Run, logs: Path) -> None:
    followed = run("sessions", "follow", str(logs), "--format", "claude-code", "--name", "claude-code")
    assert followed.output == f"following {logs} as claude-code; `commonplace sync` reads it\n"
    assert run("sync").exit_code == 0
    found = run("search", "kestrel", "--format", "files").output
    assert "claude-code/a1.jsonl" in found
    (row,) = run("sessions", "list").output.splitlines()
    assert row.split()[:2] == ["claude-code/a1.jsonl", "claude-code"]
    assert (
        run("sessions", "unfollow", "claude-code").output
        == "unfollowed claude-code; its files are untouched\n"
    )
    assert run("sessions", "list").output == "no transcripts\n"
    assert run("search", "kestrel").exit_code == 3


def test_messages_are_shown(run: Run, logs: Path) -> None:
    run("sessions", "follow", str(logs))
    shown = run("sessions", "show", "a1").output
    assert f"{conversations.LOOKED}\n  → exec" in shown
    assert conversations.FOUND in shown
    last = run("sessions", "show", "a1", "--last", "1").output
    assert last == f"L9 · assistant · {conversations.TIMES[3]}\n{conversations.ANSWERED}\n"
    (one,) = json.loads(run("sessions", "show", "a1", "--last", "1", "--format", "json").output)
    assert (one["line"], one["role"], one["text"]) == (9, "assistant", conversations.ANSWERED)


def test_what_a_terminal_would_obey_is_not_shown(run: Run, logs: Path) -> None:
    text = json.dumps({"role": "user", "content": "\x1b[2J\x1b]0;gone\x07 hello"})
    (logs / "b.jsonl").write_text(text + "\n")
    run("sessions", "follow", str(logs))
    assert "\x1b" not in run("sessions", "show", "b").output


def test_lists_as_json(run: Run, logs: Path) -> None:
    assert json.loads(run("sessions", "list", "--format", "json").output) == []
    run("sessions", "follow", str(logs))
    (one,) = json.loads(run("sessions", "list", "--format", "json").output)
    assert (one["id"], one["format"], one["collection"]) == ("logs/a1.jsonl", "claude-code", "logs")
    assert one["size"] == (logs / "a1.jsonl").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["show", "nobody"], "nobody: no such session"),
        (["unfollow", "nobody"], "unknown collection 'nobody'; known: none"),
        (["follow", "/nowhere/at/all"], "path: /nowhere/at/all is neither a file nor a folder"),
    ],
)
def test_mistakes_are_one_line(run: Run, arguments: list[str], said: str) -> None:
    result = run("sessions", *arguments)
    assert result.exit_code == 1
    assert said in result.output
    assert result.output.count("\n") == 1
