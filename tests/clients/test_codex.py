"""Codex itself, unpatched, with what `commonplace install` wrote: a session of ten turns in two languages.

The program is the one that npm installs; the model behind it is scripted, on loopback. Its hooks run once their
user trusts them, which Codex writes down by their hashes: the test does so through Codex's own app server.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import environment
from tests.clients import conversation
from tests.clients.conversation import TURNS, warm, workspace
from tests.clients.environments import modules
from tests.clients.responses_server import Call, responding

__all__ = ["warm", "workspace"]
PROVIDER = """
model = "scripted"
model_provider = "scripted"
sandbox_mode = "danger-full-access"

[model_providers.scripted]
name = "scripted"
base_url = "{url}"
wire_api = "responses"
"""


@pytest.fixture(scope="module")
def program() -> Path:
    return modules("codex") / ".bin" / "codex"


@pytest.fixture
def project(tmp_path: Path, private_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in. Codex starts servers without most variables: what is set as usual is found by both."""
    for name in ("CONFIG", "CACHE", "DATA", "STATE"):
        monkeypatch.delenv(f"XDG_{name}_HOME")
    (private_home / ".codex").mkdir()
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


def rule(request: Mapping[str, Any]) -> str | Call:
    items = request["input"]
    at = max(number for number, item in enumerate(items) if item.get("role") == "user")
    prompt, calls = words(items[at]), [item["name"] for item in items[at:] if item["type"] == "function_call"]
    if "please build the release" in prompt and not calls:
        return Call("exec_command", {"cmd": conversation.BUILD})
    if "look it up" in prompt and "memory_search" not in calls:
        if any(tool.get("name") == "mcp__memory" for tool in request["tools"]):
            return Call("memory_search", {"query": conversation.QUERY}, "mcp__memory")
        return Call("exec_command", {"cmd": "sleep 0.5"})  # Codex does not wait for a server that starts
    return "Done." if calls else "I see."


def words(item: Mapping[str, Any]) -> str:
    content = item.get("content", item.get("output", ""))
    return content if isinstance(content, str) else "\n".join(part.get("text", "") for part in content or ())


def last_turn(request: Mapping[str, Any], before: int) -> str:
    """All that stands in a request behind what the last one of the turn before held."""
    return "\n".join(map(words, request["input"][before:]))


def run(program: Path, project: Path, *arguments: str) -> list[dict[str, Any]]:
    """Let it take a turn; return what it says of it."""
    done = subprocess.run(
        [program, "exec", *arguments], cwd=project, capture_output=True, text=True, stdin=subprocess.DEVNULL,
        env=environment(), timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def trust(program: Path, project: Path) -> list[str]:
    """Trust the hooks that there are, as their user does in /hooks; return their events."""
    process = subprocess.Popen(
        [program, "app-server"], cwd=project, env=environment(), text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None

    def ask(method: str, params: Mapping[str, Any]) -> Any:
        process.stdin.write(json.dumps({"id": method, "method": method, "params": params}) + "\n")  # type: ignore[union-attr]
        process.stdin.flush()  # type: ignore[union-attr]
        answers = map(json.loads, process.stdout)  # type: ignore[arg-type]
        return next(answer for answer in answers if answer.get("id") == method)["result"]

    with process:
        ask("initialize", {"clientInfo": {"name": "test", "title": "test", "version": "1"}})
        (found,) = ask("hooks/list", {"cwds": [os.fspath(project)]})["data"]
        assert (found["warnings"], found["errors"]) == ([], [])
        state = {hook["key"]: {"trusted_hash": hook["currentHash"]} for hook in found["hooks"]}
        edit = {"keyPath": "hooks.state", "value": state, "mergeStrategy": "upsert"}
        ask("config/batchWrite", {"edits": [edit]})
        process.stdin.close()
    assert process.returncode == 0
    assert {hook["trustStatus"] for hook in found["hooks"]} == {"untrusted"}
    return sorted(hook["eventName"] for hook in found["hooks"])


@pytest.mark.timeout(600)
def test_ten_turns(
    program: Path, project: Path, workspace: Path, warm: Callable[[], None], private_home: Path
) -> None:
    settings = private_home / ".codex"
    options = ["--json", "--skip-git-repo-check"]
    with responding(rule) as (url, requests):
        (settings / "config.toml").write_text(PROVIDER.format(url=url))
        conversation.install("codex", workspace, project, settings / "hooks.json")
        run(program, project, *options, TURNS[0][0])
        assert conversation.FRAME not in json.dumps(requests), "hooks that nobody trusts do not run"
        assert trust(program, project) == [
            "postToolUse", "preCompact", "sessionEnd", "sessionStart", "stop", "userPromptSubmit",
        ]  # fmt: skip
        warm()
        requests.clear()
        turns: list[str] = []
        before, name, known = 0, "", 0
        for prompt, _ in TURNS:
            resumed = ["resume", name] if name else []
            events = run(program, project, *resumed, *options, prompt)
            name = name or next(event["thread_id"] for event in events if event["type"] == "thread.started")
            turns.append(last_turn(requests[before], known))
            before, known = len(requests), len(requests[-1]["input"])
    conversation.check_given(turns)
    conversation.check_result(results(requests))
    conversation.check_prefix(requests, "input", "tools")
    conversation.check_notes(workspace, "codex")


def results(requests: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """What tools answered."""
    for request in requests:
        for item in request["input"]:
            if item["type"] == "function_call_output":
                yield words(item)
