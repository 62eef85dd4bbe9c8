"""Claude Code itself, unpatched, with what `commonplace install` wrote: a session of ten turns in two languages.

The program is the one inside the package `claude-agent-sdk`; the model behind it is scripted, on loopback.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment
from tests.clients import conversation
from tests.clients.conversation import TURNS, warm, workspace
from tests.clients.environments import interpreter
from tests.clients.messages_server import serving

__all__ = ["warm", "workspace"]


@pytest.fixture(scope="module")
def program() -> Path:
    found = subprocess.run(
        [interpreter("claude-code"), "-c", "import claude_agent_sdk; print(claude_agent_sdk.__path__[0])"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return Path(found.stdout.strip()) / "_bundled" / "claude"


def rule(request: Mapping[str, Any]) -> str | tuple[str, dict[str, Any]]:
    last = json.dumps(request["messages"][-2:])  # what hooks add comes behind what was said
    if "tool_result" in json.dumps(request["messages"][-1]):
        return "Done."
    if "please build the release" in last:
        return "Bash", {"command": conversation.BUILD, "description": "Build"}
    if "look it up" in last:
        return "mcp__memory__memory_search", {"query": conversation.QUERY}
    return "I see."


def last_turn(request: Mapping[str, Any], prompt: str) -> str:
    """All that stands in a request from the last words of the user on, what hooks put beside them included."""
    messages = [json.dumps(message["content"], ensure_ascii=False) for message in request["messages"]]
    at = max(n for n, text in enumerate(messages) if prompt in text)
    return "\n".join(messages[at:])


@pytest.mark.timeout(600)
def test_ten_turns(
    program: Path, workspace: Path, warm: Callable[[], None], private_home: Path, tmp_path: Path
) -> None:
    project = tmp_path / "project"
    project.mkdir()
    conversation.install("claude-code", workspace, project, private_home / ".claude" / "settings.json")
    warm()
    variables = {
        **environment(), "ANTHROPIC_API_KEY": "sk-ant-nobody", "DISABLE_AUTOUPDATER": "1", "TERM": "dumb",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }  # fmt: skip
    options = ["--output-format", "json", "--allowedTools", "Bash", "mcp__memory__memory_search"]
    turns: list[str] = []
    with serving(rule) as (url, model):
        before, name = 0, ""
        for prompt, _ in TURNS:
            resumed = ["--resume", name] if name else []
            done = subprocess.run(
                [program, "-p", prompt, *resumed, *options], cwd=project, stdin=subprocess.DEVNULL, timeout=120,
                env=variables | {"ANTHROPIC_BASE_URL": url}, capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 0, done.stdout + done.stderr
            name = json.loads(done.stdout)["session_id"]
            turns.append(last_turn(model.requests[before], prompt))
            before = len(model.requests)
    conversation.check_given(turns)
    conversation.check_result(
        [
            text_of(block["content"])
            for request in model.requests
            for message in request["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
            if block.get("type") == "tool_result"
        ]
    )
    conversation.check_prefix(model.requests, "messages", "system", "tools")
    conversation.check_notes(workspace, "claude-code")


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content)
