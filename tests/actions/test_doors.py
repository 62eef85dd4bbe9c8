"""An action that is added as one row works through every door; that of the page is in tests/page."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click.testing
import pytest

from commonplace.cli.application import cli
from commonplace.memory import Memory
from commonplace.panel.application import Panel
from commonplace.servers.access import Access
from commonplace.servers.methods import Service, respond
from commonplace.servers.protocol import Connection, Exchange
from tests.actions.sample import FILE
from tests.panel.conftest import NOW, QUIET, WIDE, Person
from tests.servers.api.conftest import TOKEN, Api
from tests.servers.conftest import Served


def stamps(workspace: Path) -> list[str]:
    file = workspace / FILE
    return file.read_text().split() if file.exists() else []


def test_the_command_line(workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")

    def run(*arguments: str, **named: Any) -> click.testing.Result:
        return click.testing.CliRunner().invoke(cli, ["-w", str(workspace), *arguments], **named)

    shown = run("stamp", "tea", "--loud", "--dry-run")
    assert (shown.exit_code, stamps(workspace)) == (0, [])
    assert "+TEA" in shown.stdout
    done = run("stamp", "tea", "--format", "json")
    assert (json.loads(done.stdout)["word"], stamps(workspace)) == ("tea", ["tea"])
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)
    assert run("stamp", "ink", input="n\n").exit_code == 130
    assert run("stamp", "ink", input="y\n").stderr.endswith("stamped ink\n")
    assert run("stamp", "x" * 21).exit_code == 2
    assert "In capitals." in run("stamp", "--help").stdout
    assert stamps(workspace) == ["tea", "ink"]


def test_http(serve: Callable[..., Served], workspace: Path) -> None:
    api = Api(serve(Access(TOKEN)), workspace)
    assert {"/api/stamp", "/api/stamp/preview"} <= api.document["paths"].keys()
    shown = api.post("/api/stamp/preview", word="tea")
    other = api.post("/api/stamp/preview", word="ink")
    assert (shown["word"], stamps(workspace)) == ("tea", [])
    assert api.post("/api/stamp", preview=shown["preview"])["word"] == "tea"
    assert api.refused("POST", "/api/stamp", {"preview": shown["preview"]})[0] == 409  # once
    assert api.refused("POST", "/api/stamp", {"preview": other["preview"]})[0] == 409  # outdated
    assert api.refused("POST", "/api/stamp/preview", {"word": "x" * 21})[0] == 400
    assert stamps(workspace) == ["tea"]
    assert "stamp" in {one["name"] for one in api.get("/api/actions")}


def called(service: Service, arguments: dict[str, str], said: str = "") -> Any:
    """Call the tool, of a client whose person says something to each question, or cannot be asked."""
    asked: list[str] = []

    def ask(text: str, code: str) -> Any:
        asked.append(text)
        return said

    connection = Connection(elicits=bool(said))
    request = {"name": "memory_stamp", "arguments": arguments}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": request}
    answer: Any = respond(message, connection, service, Exchange(ask=ask))
    assert all("+tea" in text for text in asked)
    return answer["result"]


def test_mcp_asks_the_person(service: Service, workspace: Path) -> None:
    assert called(service, {"word": "tea"}, "decline")["isError"]
    assert stamps(workspace) == []
    assert not called(service, {"word": "tea"}, "accept")["isError"]
    assert stamps(workspace) == ["tea"]


def test_mcp_takes_the_code_where_nobody_can_be_asked(service: Service, workspace: Path) -> None:
    listed: Any = respond({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, Connection(), service)
    assert "memory_stamp" in {one["name"] for one in listed["result"]["tools"]}

    def code() -> str:
        return str(called(service, {"word": "tea"})["content"][0]["text"].rpartition(" ")[2])

    assert called(service, {"word": "ink", "confirm": code()})["isError"]  # it is of another word
    held = code()
    assert stamps(workspace) == []
    assert called(service, {"word": "tea", "confirm": held})["content"][0]["text"] == "stamped tea"
    assert called(service, {"word": "tea", "confirm": held})["isError"]  # used up
    held = code()
    assert called(service, {"word": "tea", "confirm": held}, "decline")["isError"]  # whoever sends it
    assert stamps(workspace) == ["tea"]


async def _at_the_panel(workspace: Path) -> None:
    with Memory.open(workspace, overrides=QUIET) as memory:
        panel = Panel(memory, lambda online: [], now=lambda: NOW)
        async with panel.run_test(size=WIDE) as pilot:
            person = Person(panel, pilot)
            await person.press("escape", "m")
            await person.sees("Stamp a word.")
            await person.press("end", "enter")
            await person.sees("What is stamped.")
            await person.press(*"tea", "enter")
            await person.sees("In capitals.")
            await person.press("down", "enter")
            await person.sees("Stamp TEA?")
            assert stamps(workspace) == []
            await person.press("y")
            await person.sees("stamped TEA")


def test_the_panel(workspace: Path) -> None:
    import asyncio

    asyncio.run(_at_the_panel(workspace))
    assert stamps(workspace) == ["TEA"]
