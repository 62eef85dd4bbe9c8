"""Programs that speak the Model Context Protocol with a memory as it is installed: FastMCP, TypeScript, Inspector.

Each is asked the same in one session, by standard streams as `commonplace install generic` prints it, and over HTTP
with a token. The official SDK for Python has its own tests, in test_sdk and tests/servers.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from commonplace.base import tokens
from commonplace.config.settings import Recall
from tests.cli.conftest import environment
from tests.clients.environments import interpreter, modules
from tests.integrations.connected import WRITTEN, Target, check_block, check_note, target
from tests.integrations.contract import NOTES, TURNS, blocks, indexed, workspace

__all__ = ["indexed", "target", "workspace"]
QUESTIONS = [(question, evidence) for question, evidence in TURNS if evidence]


def printed(*line: str | Path) -> Any:
    """Run a program; return the JSON that it prints. It has its own warnings."""
    variables = {name: value for name, value in environment().items() if name != "PYTHONWARNINGS"}
    done = subprocess.run(line, capture_output=True, text=True, env=variables, timeout=120)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def fastmcp(target: Target, questions: list[str]) -> Any:
    script = Path(__file__).with_name("fastmcp_client.py")
    return printed(interpreter("fastmcp"), script, json.dumps(target), json.dumps(questions))


def typescript(target: Target, questions: list[str]) -> Any:
    script = Path(__file__).with_name("typescript_client.mjs")
    return printed("node", script, modules("typescript"), json.dumps(target), json.dumps(questions))


def inspector(target: Target, questions: list[str]) -> Any:
    """A process for each request, which has no completion; a question in each language is asked."""
    program = modules("inspector") / ".bin" / "mcp-inspector"
    server: list[str] = [target["command"], *target["args"]] if "command" in target else [target["url"]]
    if "url" in target:
        server += ["--transport", "http", "--header", f"Authorization: Bearer {target['token']}"]

    def ask(method: str, *more: str) -> Any:
        return printed(program, "--cli", *server, "--method", method, *more)

    def call(name: str, *arguments: str) -> Any:
        return ask("tools/call", "--tool-name", name, "--tool-arg", *arguments)

    return {
        "tools": ask("tools/list", "--strict")["tools"],
        "searches": [call("memory_search", f"query={question}", "limit=1") for question in questions[:2]],
        "resource": ask("resources/read", "--uri", "commonplace://memory/MEMORY.md")["contents"],
        "written": call("memory_write", f"text={WRITTEN}"),
    }


@pytest.mark.parametrize("client", [fastmcp, typescript, inspector])
def test_a_session(client: Any, target: Target, workspace: Path) -> None:
    questions = [question for question, _ in QUESTIONS]
    found = client(target, questions)
    names = [tool["name"] for tool in found["tools"]]
    assert names[:4] == ["memory_search", "memory_get", "memory_timeline", "memory_write"]
    assert all("outputSchema" not in tool for tool in found["tools"])
    sizes = []
    for (_, evidence), result in zip(QUESTIONS, found["searches"], strict=False):
        text = text_of(result)
        (block,) = blocks(text)
        check_block(block, evidence)
        sizes.append(tokens.about(text))
    assert len(sizes) == (2 if client is inspector else len(QUESTIONS))
    assert max(sizes) <= Recall().budget
    print("tokens of the results:", sizes)
    assert found["resource"][0]["text"] == NOTES["MEMORY.md"].rstrip("\n")
    assert found.get("completed", ["memory/2026-02-13.md"])[:1] == ["memory/2026-02-13.md"]
    place = re.match(r"Written to (.+)#L\d+\.", text_of(found["written"]))
    assert place is not None
    check_note(workspace, place[1])


def text_of(result: dict[str, Any]) -> str:
    """The text of an answer, which is all of it."""
    assert "structuredContent" not in result
    assert not result.get("isError")
    (part,) = result["content"]
    return str(part["text"])
