"""`commonplace summarize`: by hand, for what is pending, and without writing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.upkeep.summaries import Summarizer
from tests.cli.conftest import Run
from tests.providers.conftest import server  # noqa: F401
from tests.providers.llm.conftest import answer, refusal
from tests.providers.server import Reply, Server
from tests.upkeep.conversations import ANSWER, CHINESE, ENGLISH, SECRET, talk, turns


@pytest.fixture
def sessions(workspace: Path) -> Path:
    with Memory.open(workspace) as memory:
        talk(memory, "first", turns(ENGLISH, day="2026-03-01"))
        talk(memory, "second", turns(CHINESE, day="2026-03-02"))
    return workspace / "memory"


def test_the_newest_unless_it_is_named(run: Run, sessions: Path) -> None:
    done = run("summarize")
    assert (done.exit_code, done.stdout) == (0, "memory/2026-03-02.md:5\n")
    assert "完成 – 部署已改到周四。已修改 schema.py，" in (sessions / "2026-03-02.md").read_text("utf-8")
    done = run("summarize", "first")
    assert (done.exit_code, done.stdout) == (0, "memory/2026-03-01.md:5\n")
    done = run("summarize", "first")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "nothing new that is worth a summary" in done.stderr


def test_a_dry_run_writes_nothing(run: Run, sessions: Path) -> None:
    done = run("summarize", "first", "--dry-run")
    assert done.exit_code == 0
    assert done.stdout == "- Done – I changed schema.py: `id` is a uuid now.\n"
    assert not (sessions / "2026-03-01.md").exists()


def test_a_language_model_writes_it_where_one_is_set(
    run: Run,
    sessions: Path,
    server: Server,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in {"PROVIDER": "compatible", "MODEL": "m", "BASE_URL": f"{server.url}/v1"}.items():
        monkeypatch.setenv(f"COMMONPLACE_LLM_{name}", value)
    server.script = [Reply(answer(json.dumps(ANSWER))), Reply(refusal("no such key"), 401)]
    done = run("summarize", "first")
    assert (done.exit_code, done.stdout, done.stderr) == (0, "memory/2026-03-01.md:5-8\n", "")
    assert "Decided – The deploy is on Thursday" in (sessions / "2026-03-01.md").read_text("utf-8")
    assert SECRET.encode() not in server.requests[0].body
    done = run("summarize", "second", "--dry-run")
    assert done.exit_code == 0
    assert "no language model wrote this (" in done.stderr


def test_what_is_pending(run: Run, sessions: Path) -> None:
    done = run("summarize", "--pending")
    assert (done.exit_code, done.stdout) == (3, "")
    with Memory.open(sessions.parent) as memory:
        left = Summarizer(memory)
        assert left.pending.open("first")
        left.pending.close("first")
        assert left.pending.open("second")
        done = run("summarize", "--pending")  # the second is open
        assert (done.exit_code, done.stdout) == (0, "first: memory/2026-03-01.md:5\n")
        done = run("summarize", "second")
        assert done.exit_code == 1
        assert "session second: another process has it open" in done.stderr
        left.pending.close("second")
    assert run("summarize", "--pending").stdout == "second: memory/2026-03-02.md:5\n"


def test_what_there_is_not(run: Run, sessions: Path) -> None:
    done = run("summarize", "fist")
    assert done.exit_code == 1
    assert "session fist: no such session; did you mean first?" in done.stderr
    assert run("summarize", "../MEMORY").exit_code == 1
    assert run("summarize", "first", "--pending").exit_code == 2
    assert run("summarize", "--dry-run", "--pending").exit_code == 2


def test_without_sessions(run: Run) -> None:
    done = run("summarize")
    assert done.exit_code == 1
    assert "no session has a transcript" in done.stderr
