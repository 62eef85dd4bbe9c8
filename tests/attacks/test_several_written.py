"""Several memories on disk: who only reads one changes nothing of it, and leaves nothing of another in it."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.agent import tools
from commonplace.agent.client_events import ClientEvents
from commonplace.agent.files import Files
from commonplace.agent.items import Items, Put
from commonplace.agent.store import MemoryStore
from commonplace.base.errors import AccessDenied, CommonplaceError
from commonplace.base.paths import Workspace
from commonplace.storage import state
from commonplace.storage.queue import Queue
from commonplace.transcripts.session import Transcript
from commonplace.types import Entry, Turn
from tests.attacks.realm import EVERYWHERE, Place, Realm, build, enter, live
from tests.attacks.realm import built as built
from tests.cli.conftest import called, command, environment

ASKED = "heronquestion"  # stands in what alice asks alone


@pytest.fixture
def realm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Realm:
    realm = build(tmp_path)
    enter(realm, monkeypatch)
    monkeypatch.setenv("COMMONPLACE_SERVER_START", "never")
    live(realm)
    return realm


def notes(place: Place) -> dict[str, bytes]:
    """All files of a workspace and its collection."""
    folders = (place.root, place.root.parent / place.collection)
    every = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in every}


def hook(folder: Path, agent: str, name: str, **more: object) -> None:
    event = {"hook_event_name": name, "session_id": "s1", "cwd": str(folder), **more}
    done = subprocess.run(
        command("--agent", agent, "hook", "--deadline", "60000"),
        input=json.dumps(event).encode(), env=environment(), cwd=folder, timeout=120, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, b"")


# Commands that write, started in a workspace that the agent only reads.
WRITING = [
    "remember x", "remember --long-term x", "remember --tentative x", "correct MEMORY.md:5 x",
    f"correct {EVERYWHERE} x", "confirm MEMORY.md:5", "confirm MEMORY.md:5 --reject", "forget MEMORY.md:5 --yes",
    "forget MEMORY.md --yes", f"forget --text {EVERYWHERE} --yes", "forget --resume", "undo --yes", "restore x",
    "restore --discard", "import obsidian {folder}", "import qmd {folder}", "consolidate --accept", "rollup --older-than 1d",
    "summarize", "summarize --pending", "sessions follow {folder}",
    "config set search.limit 5 --in-workspace", "config unset search.limit --in-workspace", "schedule print",
    "collection add {inside} --name inner", "context add / words", "usage --clear --yes", "sync", "chat --once hello",
]  # fmt: skip


@pytest.mark.parametrize("line", WRITING)
def test_no_command_changes_what_an_agent_only_reads(
    built: Realm, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(built, monkeypatch)
    team, foreign = built["team"], built.home / "foreign"
    (foreign / "a").mkdir(parents=True, exist_ok=True)
    (foreign / "a" / "note.md").write_text("# Note\n\nBrought along.\n")
    (team.root / "inner").mkdir(exist_ok=True)
    before = notes(team)
    arguments = line.format(folder=foreign, inside=team.root / "inner").split()
    for named in (
        ("--agent", "reader"),
        ("-w", team.root, "--agent", "alice"),
        ("--agent", "bob", "-w", "brinnet"),
    ):
        called(*named, *arguments, cwd=team.root)
        assert notes(team) == before


@pytest.mark.parametrize("agent", ["alice", "bob"])
def test_what_is_cited_of_another_workspace_is_not_changed(realm: Realm, agent: str) -> None:
    own, team = realm[agent], realm["team"]
    before = notes(team)
    for line in (
        "correct brinnet:MEMORY.md:5 x", "confirm brinnet:MEMORY.md:5", "forget brinnet:MEMORY.md:5 --yes",
        "forget brinnet:MEMORY.md --yes", "correct brinnet:memory/brinnet-plan.md:10 x",
    ):  # fmt: skip
        done = called("--agent", agent, *line.split(), cwd=own.root)
        assert done.returncode != 0, done.stdout
        assert notes(team) == before
    with Memory.open(agent=agent) as memory:
        for call in (
            lambda: memory.correct("brinnet:MEMORY.md:5", "x"),
            lambda: memory.correct(f"The {EVERYWHERE} belongs to {team.told} folk. #{team.told}", "x"),
        ):
            with pytest.raises(CommonplaceError):
                call()
    assert notes(team) == before


def writers(memory: Memory) -> Iterator[Callable[[], object]]:
    """What writes notes, transcripts and the spool without a command."""
    now = datetime(2026, 2, 15, 10, tzinfo=UTC)
    files, store, items = Files(memory), MemoryStore(memory), Items(memory, agent="x")
    yield lambda: memory.remember("x")
    yield lambda: memory.capture([Entry("x", now)])
    yield lambda: store.append_today("x")
    yield lambda: store.write_long_term("# Memory\n\nx\n")
    for name, arguments in (
        ("create", {"path": "/memories/x.md", "file_text": "x"}),
        ("str_replace", {"path": "/memories/MEMORY.md", "old_str": EVERYWHERE, "new_str": "x"}),
        ("insert", {"path": "/memories/MEMORY.md", "insert_line": 0, "insert_text": "x"}),
        ("delete", {"path": "/memories/MEMORY.md"}),
        ("rename", {"old_path": "/memories/MEMORY.md", "new_path": "/memories/x.md"}),
    ):
        yield lambda name=name, arguments=arguments: files.call(name, arguments)
    yield lambda: items.put([Put(("a",), "b", {"x": "y"})])
    yield lambda: Queue(memory.workspace).append(Entry("x", now))
    yield lambda: Transcript.open(memory.workspace, "s1").append([Turn("user", "x")])
    yield lambda: memory.correct(f"The {EVERYWHERE} opened", "x")
    for name, arguments in (
        ("memory_write", {"text": "x"}), ("memory_write", {"text": "x", "long_term": True}),
        ("memory_correct", {"old": "MEMORY.md:5", "new": "x"}), ("memory_forget", {"what": "MEMORY.md:5"}),
    ):  # fmt: skip
        yield lambda name=name, arguments=arguments: refused(tools.call(memory, name, arguments, agent="x"))


def refused(answer: tools.ToolAnswer) -> None:
    assert answer.is_error
    raise AccessDenied("reader", answer.text)


def everything(folder: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_no_writer_changes_what_an_agent_only_reads(realm: Realm) -> None:
    team = realm["team"]
    with Memory.open(team.root, agent="reader") as memory:
        before, queued = notes(team), state.rows(Workspace(team.root), "SELECT * FROM queue")
        for write in writers(memory):
            with pytest.raises(CommonplaceError, match="does not write"):
                write()
            assert notes(team) == before
        for name, more in (
            ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": "x"}, "tool_response": {"stdout": "x"}}),
            ("PreCompact", {"trigger": "auto"}), ("Stop", {}), ("SessionEnd", {"reason": "exit"}),
            ("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": EVERYWHERE}),
        ):  # fmt: skip
            event = {"hook_event_name": name, "session_id": "s1", "cwd": "/", **more}
            ClientEvents(memory, "reader", later=lambda work: work()).answer(event)
            assert notes(team) == before
        assert state.rows(Workspace(team.root), "SELECT * FROM queue") == queued


def test_nothing_of_one_memory_lies_in_another(realm: Realm) -> None:
    """After an agent has used all it may, by its own words and by questions that hold them."""
    alice, team = realm["alice"], realm["team"]
    for folder in (team.root, realm["bob"].root):  # one that it reads, and one that it may not
        for line in (
            f"search {ASKED} {alice.told}", f"search {ASKED}:memory/x {EVERYWHERE}", f"recall {ASKED} {EVERYWHERE}",
            f"prompt {ASKED} {EVERYWHERE} --session {ASKED}", f"get {ASKED}.md", f"get {team.named}:{ASKED}.md",
            f"get {team.named}:MEMORY.md", f"timeline {ASKED}", f"ls {ASKED}", "sync", "status", "doctor --offline",
            f"search {ASKED} -c {team.named}:memory", f"search {ASKED} --expand", f"correct {ASKED} x",
            f"correct {team.named}:MEMORY.md:5 {ASKED}", f"forget {team.named}:MEMORY.md:5 --dry-run",
            f"remember {ASKED} stands here", f"-w {team.root} search {ASKED}", f"-w {team.root} status",
            f"-w {team.root} remember {ASKED}", f"-w {team.root} correct {ASKED} {ASKED}",
            f"-w {alice.root} -w {team.root} search {ASKED} {alice.told}",
        ):  # fmt: skip
            called("--agent", "alice", *line.split(), cwd=folder)
    for name, more in (
        ("SessionStart", {"source": "startup"}), ("UserPromptSubmit", {"prompt": f"{ASKED} {EVERYWHERE}?"}),
        ("PostToolUse", {"tool_name": "Bash", "tool_input": {"command": ASKED}, "tool_response": {"stdout": ASKED}}),
        ("SessionEnd", {"reason": "exit"}),
    ):  # fmt: skip
        hook(team.root, "alice", name, **more)
    with Memory.open(team.root, agent="alice") as memory:
        for tool, arguments in (
            ("memory_search", {"query": f"{ASKED} {alice.told}"}), ("memory_get", {"path": f"{team.named}:MEMORY.md"}),
            ("memory_forget", {"what": f"{ASKED} stands here"}), ("memory_write", {"text": f"{ASKED} again"}),
        ):  # fmt: skip
            with suppress(CommonplaceError):
                tools.call(memory, tool, arguments, agent="alice")
    for name in ("team", "bob", "owner"):
        place = realm[name]
        mine = os.fspath(Workspace(alice.root).index.parent)
        state = Workspace(place.root).state
        for folder in (place.root, realm.home / place.collection, state, realm.home / "cache"):
            for path, data in everything(folder).items():
                if path.startswith(mine):
                    continue
                words = [
                    word
                    for word in (ASKED, *alice[1:])
                    if word.encode() in data or word in os.path.relpath(path, folder)
                ]
                assert words == [], path
    kept = everything(alice.root) | everything(Workspace(alice.root).state)
    assert any(ASKED.encode() in data for data in kept.values())
