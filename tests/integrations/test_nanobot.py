"""nanobot itself, by its Python interface and by `nanobot agent -m`, against a scripted model on loopback."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nanobot", reason="no nanobot here; ./run test --clients makes an environment for it")

from nanobot import Nanobot
from nanobot.agent.tools.context import ToolContext

from commonplace.agent.seen import KIND
from commonplace.base.paths import Workspace
from commonplace.integrations import nanobot as adapter
from commonplace.storage import keyvalue
from tests.agent.model_server import Model, Say, model_serving
from tests.cli import conftest as cli
from tests.integrations.connected import stop_server, ten_turns_by_tools
from tests.integrations.contract import (
    Call,
    Contract,
    Heard,
    Host,
    Step,
    blocks,
    files_with,
    indexed,
    settle,
    synced,
    workspace,
)

__all__ = ["indexed", "workspace"]
ROOT = Path(__file__).parents[2]
SUMMARY = {
    "worth_keeping": True, "request": "Asked when deploys go out.", "done": ["Said that it is on Tuesdays."],
    "decisions": [], "learned": [], "open": [],
}  # fmt: skip


@pytest.fixture(scope="session")
def metadata(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The metadata of this package as pyproject.toml declares it, whatever is installed here."""
    folder = tmp_path_factory.mktemp("metadata")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    info = folder / f"commonplace_memory-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(
        f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n"
    )
    points = project["entry-points"]["nanobot.tools"]
    lines = ["[nanobot.tools]", *(f"{name} = {value}" for name, value in points.items())]
    (info / "entry_points.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture
def model() -> Iterator[Model]:
    with model_serving() as running:
        yield running


@pytest.fixture
def configured(tmp_path: Path, model: Model, metadata: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration of nanobot whose model is the scripted one."""
    monkeypatch.syspath_prepend(str(metadata))
    importlib.invalidate_caches()
    file = tmp_path / "config.json"
    file.write_text(configuration(tmp_path / "nanobot", model))
    return file


def configuration(own: Path, model: Model) -> str:
    """What nanobot's file says of its own workspace, which is made, and of its model."""
    own.mkdir()
    defaults = {"workspace": str(own), "model": "scripted", "provider": "custom"}
    providers = {"custom": {"apiKey": "none", "apiBase": model.url}}
    return json.dumps({"agents": {"defaults": defaults}, "providers": providers})


def words(content: Any) -> str:
    if isinstance(content, list):
        return "\n".join(part.get("text", "") for part in content)
    return str(content or "")


class Talk:
    """One session with nanobot, on one event loop."""

    def __init__(self, workspace: Path, model: Model, configured: Path, runner: asyncio.Runner) -> None:
        self.workspace, self.model, self.configured, self.runner = workspace, model, configured, runner
        self.bot = Nanobot.from_config(configured)

    def say(self, message: str, *steps: Step) -> Heard:
        script = [Say(calls=((s.tool, s.arguments),)) if isinstance(s, Call) else Say(s) for s in steps]
        self.model.script = list(script)
        self.model.aside = lambda asked: script.pop(0) if asked.get("tools") else Say(json.dumps(SUMMARY))
        before = len(self.model.requests)
        result = self.runner.run(self.bot.run(message, session_key="cli:test"))
        asked = [one for one in self.model.requests[before:] if one.get("tools")]
        return Heard(
            ["\n".join(words(m["content"]) for m in one["messages"]) for one in asked], result.content
        )

    @property
    def tool(self) -> adapter.MemoryTool:
        tool = self.bot._loop.tools.get("memory_search")
        return tool._wrapped  # type: ignore[no-any-return]


@pytest.fixture
def talk(workspace: Path, model: Model, configured: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Talk]:
    monkeypatch.setenv("COMMONPLACE_WORKSPACE", str(workspace))
    with asyncio.Runner() as runner:
        yield Talk(workspace, model, configured, runner)


@pytest.fixture
def host(talk: Talk) -> Iterator[Host]:
    def reopened() -> Talk:
        return Talk(talk.workspace, talk.model, talk.configured, talk.runner)

    close = talk.tool._attachment.close
    yield Host(talk.workspace, talk.say, str, stores_blocks=True, close=close, more={"reopened": reopened})
    close()


class TestContract(Contract):
    """The promises of every adapter."""


def test_the_entry_point_is_loaded_and_registers_one_tool(talk: Talk) -> None:
    talk.say("Hello!", "Hi.")
    offered = [tool["function"] for tool in talk.model.requests[-1]["tools"]]
    search = next(tool for tool in offered if tool["name"] == "memory_search")
    assert "before answering about prior work" in search["description"]
    assert [tool["name"] for tool in offered if tool["name"].startswith("memory")] == ["memory_search"]


def test_a_provider_that_fails_says_nothing(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def get_or_create(self, key: str) -> None:
            raise OSError("the sessions are gone")

    monkeypatch.setattr(talk.tool, "_sessions", Broken())
    assert talk.say("On which day do deploys go out?", "I do not know.").answer == "I do not know."


def test_a_cleared_session_is_given_everything_again(talk: Talk) -> None:
    talk.say("On which day do deploys go out?", "On Tuesdays.")
    talk.say("/new")
    heard = talk.say("On which day do deploys go out?", "On Tuesdays.")
    assert len(blocks(heard.requests[0])) == 1


def test_after_a_compaction_passages_come_again_and_no_turn_is_observed_anew(talk: Talk) -> None:
    talk.say(
        "On which day do deploys go out?",
        Call("write_file", {"path": "one.txt", "content": "x"}),
        "On Tuesdays.",
    )
    session = talk.bot._loop.sessions.get_or_create("cli:test")
    session.last_archived = len(session.messages)
    heard = talk.say(
        "On which day do deploys go out?",
        Call("write_file", {"path": "two.txt", "content": "x"}),
        "On Tuesdays.",
    )
    assert len(blocks(heard.requests[0].split("On which day")[-1])) == 1
    talk.tool._attachment.close()
    notes = synced(talk.workspace)
    assert (notes.count("Wrote one.txt"), notes.count("Wrote two.txt")) == (1, 1)


def test_a_second_agent_on_one_bus_observes_no_turn_twice(talk: Talk) -> None:
    loop = talk.bot._loop
    again = adapter.MemoryTool.create(
        ToolContext(
            config=loop.tools_config, workspace=str(loop.workspace), bus=loop.bus, sessions=loop.sessions
        )
    )
    talk.say("Write it down.", Contract.edit, "Done.")
    talk.tool._attachment.close()
    again._attachment.close()
    assert synced(talk.workspace).count("Wrote out.txt") == 1


def test_ten_turns_by_the_server_that_install_enters(
    workspace: Path, model: Model, private_home: Path, tmp_path: Path
) -> None:
    """nanobot starts the server, and its model calls the tools; the plugin has a workspace of its own, empty."""
    file = private_home / ".nanobot" / "config.json"
    file.parent.mkdir()
    file.write_text(configuration(tmp_path / "nanobot", model))
    line = cli.command("-w", workspace, "install", "nanobot")
    subprocess.run(line, capture_output=True, env=cli.environment(), check=True, timeout=60)
    with asyncio.Runner() as runner:
        talk = Talk(workspace, model, file, runner)
        ten_turns_by_tools(talk.say, workspace, "mcp_memory_")
        offered = [tool["function"]["name"] for tool in model.requests[-1]["tools"]]
        assert sum(name.startswith("mcp_memory_") for name in offered) == 7
        runner.run(talk.bot.aclose())
    stop_server(workspace)


@pytest.fixture
def command(configured: Path, model: Model, metadata: Path) -> Callable[[str, Say], str]:
    """Send one message by the command line, a process of its own."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(metadata), str(ROOT / "src")]),
        "PYTHONWARNINGS": "ignore",
    }

    def send(message: str, *script: Say) -> str:
        model.script = list(script)
        model.aside = lambda asked: Say(json.dumps(SUMMARY))
        line = [
            "-m",
            "nanobot",
            "agent",
            "-c",
            str(configured),
            "-s",
            "cli:test",
            "--no-markdown",
            "-m",
            message,
        ]
        done = subprocess.run(
            [sys.executable, *line], env=environment, capture_output=True, text=True, timeout=120
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return send


def test_processes_that_come_and_go_share_what_was_given_and_sum_up_what_was_left(
    command: Callable[..., str], configured: Path, model: Model, tmp_path: Path, private_home: Path
) -> None:
    """The notes of nanobot's own workspace, whose MEMORY.md only nanobot writes."""
    settle()
    own = tmp_path / "nanobot"
    (own / "memory").mkdir()
    long_term = "# Memory\n\n- Deploys go out on Tuesdays; Mira signs them off.\n"
    (own / "memory" / "MEMORY.md").write_text(long_term)
    assert "On Tuesdays." in command("On which day do deploys go out?", Say("On Tuesdays."))
    assert len(blocks(words(model.chats[-1]["messages"][-1]["content"]))) == 1
    command("thanks!", Say("Sure."))
    command("On which day do deploys go out?", Say("On Tuesdays."))
    assert blocks(words(model.chats[-1]["messages"][-1]["content"])) == [], "given by another process"
    assert model.others == [], "three messages are not old enough to be summed up before the fourth"
    command("good night", Say("Good night."))
    assert len(model.others) == 1
    assert "[user] On which day do deploys go out?" in words(model.others[0]["messages"][-1]["content"])
    notes = synced(own)
    assert "Said that it is on Tuesdays." in notes
    assert "agent: nanobot; session: cli:test" in notes
    assert (own / "memory" / "MEMORY.md").read_text() == long_term
    assert files_with(own, "<recalled-notes") == []
    assert keyvalue.each(Workspace(own), KIND)
