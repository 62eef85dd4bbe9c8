"""What agents write under `remember.writes = "review"` waits, at every door, until the owner decides."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.actions.statements import expire, notice
from commonplace.agent import tools
from commonplace.agent.answers import Caller, ToolAnswer
from commonplace.agent.authorship import CommandRefused
from commonplace.agent.files import Files
from commonplace.agent.items import Items, Put
from commonplace.agent.store import MemoryStore
from commonplace.base import paths
from commonplace.base.errors import AccessDenied
from commonplace.types import Entry, Provenance
from tests.cli.conftest import Run, command, environment
from tests.cli.conftest import run as run
from tests.servers.api.conftest import Api
from tests.servers.api.test_routes import served as served

FACT, MARK = "The printer is on floor three.", "<!-- tentative -->"
CODEX = Provenance("agent", "codex")


@pytest.fixture(autouse=True)
def reviewed(private_home: Path) -> None:
    """Settings of the owner by which the entries of codex wait, and no other's."""
    file = paths.user_config_dir() / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text('[agents.codex.remember]\nwrites = "review"\n\n[agents.nanobot]\n')


def called(memory: Memory, name: str, agent: str, **arguments: object) -> ToolAnswer:
    tool = tools.find(name)
    assert tool is not None
    return tools.run(tool, memory, arguments, Caller(agent))


def test_what_an_agent_writes_waits_and_is_not_recalled(run: Run, workspace: Path) -> None:
    assert run("remember", "--long-term", "--agent", "codex", FACT).exit_code == 0
    assert f"{FACT} {MARK}" in (workspace / "MEMORY.md").read_text()
    with Memory.open(workspace) as memory:
        assert memory.recall("Where is the printer?").tentative
        assert list(memory.search("printer status:tentative").hits)
        memory.remember("The scanner is on floor four.", provenance=Provenance("agent", "nanobot"))
        memory.remember("The kettle is on floor five.")
        memory.capture([Entry("ran the printer test", datetime.now(), provenance=CODEX)])
        assert "waits for you" in notice(memory)
    assert sum(path.read_text().count(MARK) for path in workspace.rglob("*.md")) == 1


def test_the_tools_of_an_agent_write_what_waits_and_correct_nothing(workspace: Path) -> None:
    with Memory.open(workspace) as memory:  # a server for all agents, which say their names
        assert not called(memory, "memory_write", "codex", text=FACT, long_term=True).is_error
        denied = called(memory, "memory_correct", "codex", old="Aged white tea after lunch.", new="Coffee.")
        assert denied.is_error
        assert "wait for the owner" in denied.text
    with Memory.open(workspace, agent="codex") as memory:  # one for codex, whatever name a client says
        called(memory, "memory_write", "nanobot", text="The shredder is on floor six.", long_term=True)
        with pytest.raises(CommandRefused, match="wait for the owner"):
            Files(memory, agent="codex").call(
                "create", {"path": "/memories/x.md", "file_text": "- A fact.\n"}
            )
        with pytest.raises(AccessDenied):
            MemoryStore(memory).write_long_term("# Memory\n", agent="codex")
    text = (workspace / "MEMORY.md").read_text()
    assert text.count(MARK) == 2
    assert "~~" not in text
    assert not (workspace / "memory" / "x.md").exists()


@pytest.mark.parametrize(
    "text",
    [
        "---\nThe cow rule is two.",
        "- ```\n  x\n  ```\n- The dog rule is three.",
        "The quokka code is zulu. <!-- status: superseded -->",
        "<!-- superseded -->\nThe emu code is echo.",
    ],
)
def test_no_mark_is_put_where_it_does_not_hold(workspace: Path, text: str) -> None:
    with Memory.open(workspace) as memory:
        for long_term in (True, False):
            answer = called(memory, "memory_write", "codex", text=text, long_term=long_term)
            assert answer.is_error or MARK in (workspace / str(answer.data["path"])).read_text("utf-8")
            assert not memory.recall("cow dog quokka emu rule code").hits


def test_what_integrations_store_waits_too(workspace: Path) -> None:
    with Memory.open(workspace, agent="codex") as memory:
        with pytest.raises(AccessDenied):
            Items(memory, agent="codex").put([Put(("facts",), "k", {"text": "The quokka code is zulu."})])
        MemoryStore(memory).append_today("The wombat code is yankee.")
        assert "The wombat code is yankee. <!-- tentative -->" in (workspace / "memory").joinpath(
            f"{datetime.now():%Y-%m-%d}.md"
        ).read_text("utf-8")


def test_an_agent_under_review_undoes_nothing(run: Run, workspace: Path) -> None:
    assert run("correct", "Lin signs it off.", "Mira signs it off.").exit_code == 0
    refused = run("--agent", "codex", "undo", "--yes")
    assert (refused.exit_code, "wait for the owner" in refused.stderr) == (1, True)
    assert run("undo", "--yes").exit_code == 0


def test_only_the_owner_decides(run: Run, workspace: Path) -> None:
    run("remember", "--long-term", "--agent", "codex", FACT)
    before = (workspace / "MEMORY.md").read_text()
    for agent in ("codex", "nanobot"):
        for words in ([FACT], ["--all"], ["--all", "--reject"]):
            refused = run("confirm", "--agent", agent, *words)
            assert refused.exit_code == 1
            assert "only" in refused.output or "the owner confirms" in refused.output
            assert len(refused.stderr.splitlines()) == 1
        with Memory.open(workspace) as memory, pytest.raises(AccessDenied, match="the owner confirms"):
            memory.confirm(FACT, provenance=Provenance("agent", agent))
    assert (workspace / "MEMORY.md").read_text() == before
    assert run("confirm", FACT).exit_code == 0
    assert MARK not in (workspace / "MEMORY.md").read_text()


def test_all_is_shown_as_one_diff_and_done_at_once(run: Run, workspace: Path) -> None:
    run("remember", "--long-term", "--agent", "codex", FACT)
    run("remember", "--agent", "codex", "Deploys go out on Tuesdays.\n- nested\n\nA further paragraph.")
    run("remember", "--tentative", "A guess of the owner.")
    shown = run("confirm", "--all", "--dry-run")
    assert [shown.stdout.count(words) for words in (FACT, "Deploys go out", "A guess")] == [2, 2, 0]
    struck = run("confirm", "--all", "--reject", "--format", "json")
    assert json.loads(struck.stdout)["rejected"]
    text = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert f"~~{FACT}~~" in text
    assert "~~nested~~" in text
    assert "~~A guess" not in text
    assert run("undo", "--yes").exit_code == 0
    assert run("confirm", "--all").exit_code == 0
    text = "".join(path.read_text() for path in workspace.rglob("*.md"))
    assert text.count(MARK) == 1
    assert "~~" not in text
    assert run("confirm", "--all").exit_code == 3
    assert run("confirm", "--all", FACT).exit_code == run("confirm").exit_code == 1


def test_what_waits_too_long_is_struck_by_the_nightly_run(run: Run, workspace: Path) -> None:
    run("remember", "--long-term", "--agent", "codex", FACT)
    run("remember", "--long-term", "--tentative", "A guess of the owner.")
    with Memory.open(workspace) as memory:
        now = datetime.now().astimezone()
        assert (now.date() + timedelta(30)).isoformat() in notice(memory)
        assert expire(memory, now + timedelta(30)) == ""
        assert "1 statement of agents struck" in expire(memory, now + timedelta(31))
        assert notice(memory) == ""
    text = (workspace / "MEMORY.md").read_text()
    assert f"~~{FACT}~~" in text
    assert "~~A guess" not in text
    old = text.replace(f"~~{FACT}~~", "The lamp is green.").replace(f"at: {now:%Y}", "at: 2019")
    (workspace / "MEMORY.md").write_text(
        "\n".join(line.partition(" <!-- cp:")[0] for line in old.split("\n"))
    )
    assert "not confirmed within 30 days" in run("consolidate", "--if-due").stderr
    assert "~~The lamp is green.~~" in (workspace / "MEMORY.md").read_text()


def test_nothing_expires_where_no_time_is_set(workspace: Path) -> None:
    with Memory.open(workspace, overrides={"remember.review_days": 0}) as memory:
        memory.remember(FACT, provenance=CODEX)
        assert "struck" not in notice(memory)
        assert expire(memory, datetime.now().astimezone() + timedelta(9999)) == ""


def test_the_owner_hears_of_it_at_a_terminal(run: Run, workspace: Path) -> None:
    pty = pytest.importorskip("pty")
    run("remember", "--agent", "codex", FACT)

    def told(*arguments: str) -> str:
        ours, theirs = pty.openpty()
        subprocess.run(
            command("-w", workspace, *arguments), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=theirs, timeout=60, env=environment(),
        )  # fmt: skip
        os.write(theirs, b"end")
        said = os.read(ours, 10_000).decode()
        os.close(theirs)
        os.close(ours)
        return said

    assert "1 entry of agents waits for you (struck after " in told("status")
    assert told("--agent", "codex", "status") == "end"
    run("confirm", "--all")
    assert told("status") == "end"
    assert "waits for you" not in run("status").stderr, "no terminal"


def test_the_page_lists_what_waits_and_decides(api: Api, workspace: Path) -> None:
    with Memory.open(workspace) as memory:
        memory.remember(FACT, long_term=True, provenance=CODEX)
        memory.remember("Deploys go out on Tuesdays.", provenance=CODEX)
    assert sorted(one["text"] for one in api.get("/api/forget")["entries"]) == [
        "Deploys go out on Tuesdays.", FACT,
    ]  # fmt: skip
    one = api.post("/api/confirmations/preview", statement=FACT, reject=True)
    assert api.post("/api/confirmations", preview=one["preview"])["rejected"]
    shown = api.post("/api/confirmations/preview", all=True)
    assert FACT not in shown["diff"]
    api.post("/api/confirmations", preview=shown["preview"])
    assert api.get("/api/forget")["entries"] == []


def test_a_server_of_an_agent_decides_nothing(served: Callable[..., Api], workspace: Path) -> None:
    api = served(lambda: Memory.open(workspace, agent="codex"), "codex")
    api.post("/api/entries", text=FACT, long_term=True)
    assert MARK in (workspace / "MEMORY.md").read_text()
    for body in ({"statement": FACT}, {"all": True}):
        status, message = api.refused("POST", "/api/confirmations/preview", body)
        assert (status, "the owner confirms" in message) == (403, True)
