"""Claude Code itself, unpatched, with what `commonplace install` wrote: a session of ten turns in two languages.

The program is the one inside the package `claude-agent-sdk`; the model behind it is scripted, on loopback.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from commonplace.base import tokens
from commonplace.servers import local
from tests.cli.conftest import command, environment
from tests.clients.messages_server import serving
from tests.clients.test_hosts import interpreter

# What is said, and what the memory holds of it; nothing where nothing of it is to be given.
TURNS = (
    ("Where does the Kestrel service run?", "Frankfurt"),
    ("thanks!", ""),
    ("发票服务的负责人是谁？", "林佳慧"),
    ("run the tests again", ""),
    ("please build the release", ""),
    ("On which day is Kestrel deployed?", "Thursdays"),
    ("谢谢！", ""),
    ("Where does the Kestrel service run?", ""),  # given already
    ("look it up: who signs the invoices of the harbour?", ""),
    ("好，继续", ""),
)
FRAME = "<recalled-notes"
BLOCK = re.compile(rf"{FRAME}.*?</recalled-notes>", re.DOTALL)


class Session(NamedTuple):
    """What came of it: for each turn the last message that the model got, and the workspace."""

    turns: list[str]
    requests: list[dict[str, Any]]
    workspace: Path


@pytest.fixture(scope="module")
def program() -> Path:
    found = subprocess.run(
        [interpreter("claude-code"), "-c", "import claude_agent_sdk; print(claude_agent_sdk.__path__[0])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Path(found.stdout.strip()) / "_bundled" / "claude"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n- The owner prefers short answers.\n")
    facts = (
        "The Kestrel service runs in Frankfurt since January.",
        "发票服务的负责人是林佳慧。",
        "Kestrel is deployed on Thursdays, because Mira is there then.",
        "The invoices of the harbour are signed by Ingrid Solheim.",
    )
    for day, fact in enumerate(facts, 11):  # a day each: what stands together is given together
        (root / "memory" / f"2026-01-{day}.md").write_text(f"# 2026-01-{day}\n\n- 09:00 {fact}\n")
    subprocess.run(
        command("-w", root, "sync"), check=True, capture_output=True, env=environment(), timeout=120
    )
    return root


@pytest.fixture
def session(
    program: Path, workspace: Path, private_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Session]:
    with tempfile.TemporaryDirectory(prefix="run-") as sockets:
        monkeypatch.setenv("XDG_RUNTIME_DIR", sockets)
        yield talk(program, workspace, private_home, tmp_path / "project")
        stop = command("-w", workspace, "serve", "stop")
        subprocess.run(stop, capture_output=True, env=environment(), timeout=60)


def talk(program: Path, workspace: Path, home: Path, project: Path) -> Session:
    project.mkdir()
    install = command("-w", workspace, "install", "claude-code", "--user")
    subprocess.run(install, check=True, capture_output=True, env=environment(), cwd=project, timeout=120)
    settings = home / ".claude" / "settings.json"
    # A machine that runs tests is slower than a person's.
    patient = settings.read_text().replace(' hook"', ' hook --deadline 20000"')
    assert patient != settings.read_text()
    settings.write_text(patient)
    connection = local.connect_or_launch(workspace)
    assert connection is not None
    connection.close()
    variables = {
        **environment(), "ANTHROPIC_API_KEY": "sk-ant-nobody", "DISABLE_AUTOUPDATER": "1", "TERM": "dumb",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }  # fmt: skip
    said: list[str] = []
    with serving(rule) as (url, model):
        variables["ANTHROPIC_BASE_URL"] = url
        before, name = 0, ""
        for prompt, _ in TURNS:
            resumed = ["--resume", name] if name else []
            line = [
                program,
                "-p",
                prompt,
                "--output-format",
                "json",
                *resumed,
                "--allowedTools",
                "Bash",
                "mcp__memory__memory_search",
            ]
            done = subprocess.run(
                line,
                cwd=project,
                env=variables,
                capture_output=True,
                text=True,
                stdin=subprocess.DEVNULL,
                timeout=120,
            )
            assert done.returncode == 0, done.stdout + done.stderr
            name = json.loads(done.stdout)["session_id"]
            said.append(last_turn(model.requests[before], prompt))
            before = len(model.requests)
        return Session(said, model.requests, workspace)


def rule(request: Mapping[str, Any]) -> str | tuple[str, dict[str, Any]]:
    last = json.dumps(request["messages"][-2:])  # what hooks add comes behind what was said
    if "tool_result" in json.dumps(request["messages"][-1]):
        return "Done."
    if "please build the release" in last:
        return "Bash", {"command": "touch release.txt && printf 'built %d targets' 7", "description": "Build"}
    if "look it up" in last:
        return "mcp__memory__memory_search", {"query": "who signs the invoices of the harbour"}
    return "I see."


def last_turn(request: Mapping[str, Any], prompt: str) -> str:
    """All that stands in a request from the last words of the user on, what hooks put beside them included."""
    messages = [json.dumps(message["content"], ensure_ascii=False) for message in request["messages"]]
    at = max(n for n, text in enumerate(messages) if prompt in text)
    return "\n".join(messages[at:])


def until(holds: Any) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.timeout(600)
def test_ten_turns(session: Session) -> None:
    # What only the memory holds reached the model, framed, and nothing else did.
    for (prompt, held), text in zip(TURNS, session.turns, strict=True):
        given = "\n".join(BLOCK.findall(text))
        if held:
            assert held in given, prompt
            assert "not instructions" in given
            assert tokens.about(given) < 600
        elif prompt != TURNS[0][0]:
            assert "Kestrel" not in given, prompt
    # A tool's answer is the framed text, without JSON beside it.
    results = [
        block
        for request in session.requests
        for message in request["messages"]
        if isinstance(message["content"], list)
        for block in message["content"]
        if block.get("type") == "tool_result"
    ]
    (found,) = {
        json.dumps(block["content"]) for block in results if "Ingrid Solheim" in json.dumps(block["content"])
    }
    assert FRAME in found
    assert "structuredContent" not in found
    # What was done stands in today's note, and the session in short; what was recalled does not.
    note = session.workspace / "memory" / f"{date.today()}.md"
    until(lambda: note.exists() and "Session summaries" in note.read_text())
    text = note.read_text()
    assert "touch release.txt" in text
    assert "agent: claude-code" in text
    assert "Frankfurt" not in text
    assert FRAME not in text
    assert os.stat(session.workspace / ".commonplace").st_mode & 0o077 == 0
