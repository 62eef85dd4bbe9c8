"""`workspaces …`, and commands for several: what is listed, named, asked and refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.config import files
from tests.cli.conftest import called
from tests.places import settings_file


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("COMMONPLACE_OUTPUT_FRAME", "never")
    made = [tmp_path / "a" / "notes", tmp_path / "b" / "notes"]
    for root in made:
        assert called("init", root).returncode == 0
        (root / "MEMORY.md").write_text(f"# Memory\n\n- The harbour of {root.parent.name}.\n")
    monkeypatch.chdir(made[0])
    return made


def out(*arguments: str | Path) -> str:
    done = called(*arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.decode()


def error(*arguments: str | Path) -> str:
    done = called(*arguments)
    assert done.returncode != 0
    assert done.stdout == b""
    return done.stderr.decode()


def test_what_was_made_is_known_named_and_forgotten(
    folders: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert json.loads(out("workspaces", "list", "--format", "json")) == [
        {"name": "notes", "folder": str(folders[0])},
        {"name": "b-notes", "folder": str(folders[1])},
    ]
    assert out("workspaces", "add", folders[1], "--name", "team") == f"team: {folders[1]}\n"
    assert "team:MEMORY.md" in out("--all-workspaces", "search", "--format", "files", "harbour")
    assert "of b" in out("-w", "team", "get", "MEMORY.md")
    assert "of b" in out("-w", folders[0], "-w", "team", "get", "team:MEMORY.md")
    assert "two workspaces" in error("workspaces", "add", folders[0], "--name", "team")
    assert "no name" in error("workspaces", "add", folders[0], "--name", "here")
    assert "there is no folder" in error("workspaces", "add", tmp_path / "none")
    monkeypatch.chdir(tmp_path)  # the one in use is listed in any case
    out("workspaces", "remove", "notes")
    assert "is not noted" in error("workspaces", "remove", tmp_path)
    assert str(folders[0]) not in out("workspaces")
    assert (folders[0] / "MEMORY.md").exists()


def test_one_that_cannot_be_listed_is_a_warning(folders: list[Path]) -> None:
    settings_file(folders[1]).write_text("[search]\nlimit = 0\n")
    done = called("-w", folders[0], "-w", folders[1], "ls", "--format", "json")
    assert done.returncode == 0
    assert [note["path"] for note in json.loads(done.stdout)] == ["MEMORY.md"]
    assert done.stderr.decode().startswith("commonplace: b-notes: search.limit: 0")
    assert done.stderr.count(b"\n") == 1


def test_a_link_is_the_workspace_that_it_leads_to(folders: list[Path], tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(folders[0])
    out("workspaces", "add", tmp_path / "link")
    assert len(out("workspaces").splitlines()) == 2
    hits = json.loads(
        out("-w", tmp_path / "link", "--all-workspaces", "search", "harbour", "--format", "json")
    )
    assert len(hits) == 2


@pytest.mark.parametrize(
    "line",
    ["search x", "recall x", "prompt x", "get MEMORY.md", "ls", "status", "timeline today", "sync", "remember x", "mcp",
     "config list", "workspaces", "--all-workspaces search x", "serve status"],
)  # fmt: skip
def test_no_command_but_init_makes_a_workspace_in_another(folders: list[Path], line: str) -> None:
    inner = folders[0] / "memory"
    inner.mkdir(exist_ok=True)
    before = sorted(folders[0].rglob("*"))
    told = error("-w", inner, *line.split())
    assert f"use `-w {folders[0]}`, or make another one there with `commonplace init {inner}`" in told
    assert "lies in the workspace" in error("-w", folders[1], "-w", inner, "search", "x")
    assert "lies in the workspace" in error("workspaces", "add", inner)
    assert sorted(folders[0].rglob("*")) == before


def test_init_makes_a_workspace_in_another(folders: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    project = folders[0] / "project"
    assert "made MEMORY.md" in out("init", project)
    monkeypatch.chdir(project)
    assert str(project) in out("workspaces", "list", "--format", "json")
    out("remember", "The lighthouse.")
    assert "0 notes" not in out("ls")
    assert "lighthouse" not in out("-w", folders[0], "get", "MEMORY.md")


def test_a_folder_is_no_name_until_it_is_given_one(folders: list[Path], tmp_path: Path) -> None:
    team = tmp_path / "our team"
    assert called("init", team).returncode == 0
    files.user_file().parent.mkdir(parents=True, exist_ok=True)
    files.user_file().write_text('[agents.scout]\nreads = ["our-team"]\n[agents.other]\nreads = ["here"]\n')
    assert "is shown to its owner alone" in error("--agent", "scout", "search", "harbour")
    told = called("doctor").stdout.decode()
    assert f"'our-team' in {files.user_file()} is neither a full path nor a name" in told
    assert "`commonplace workspaces add DIR --name our-team`" in told
    assert str(team) not in told  # an agent learns no path of a workspace that it cannot open
    assert out("workspaces", "add", team, "--name", "our-team") == f"our-team: {team}\n"
    assert called("--agent", "scout", "search", "harbour").returncode == 3


def test_an_agent_learns_of_no_workspace_around_a_folder(folders: list[Path]) -> None:
    inner = folders[1] / "memory"
    inner.mkdir(exist_ok=True)
    path = files.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[agents.guest]\nreads = ["{folders[0]}"]\n')
    told = error("--agent", "guest", "-w", inner, "search", "x")
    assert "lies in" not in told
    assert "init" not in told.partition(str(inner))[0]


@pytest.mark.parametrize(
    "line",
    ["remember x", "sync", "correct x y", "undo", "log", "usage", "config set search.limit 5 --in-workspace"],
)
def test_what_changes_a_memory_takes_one(folders: list[Path], line: str) -> None:
    for several in (("-w", folders[0], "-w", folders[1]), ("--all-workspaces",)):
        assert "questions alone are put to several" in error(*several, *line.split())


def test_an_agent_is_shown_its_own(folders: list[Path], tmp_path: Path) -> None:
    out("workspaces", "add", folders[1], "--name", "team")
    path = files.user_file()
    path.write_text(path.read_text() + '[agents.guest]\nreads = ["team"]\nwrites = "none"\n')
    assert json.loads(out("--agent", "guest", "workspaces", "list", "--format", "json")) == [
        {"name": "team", "folder": str(folders[1]), "use": "reads"}
    ]
    assert "of b" in out("--agent", "guest", "search", "harbour")
    for line in (
        "remember x",
        "config set search.limit 5 --in-workspace",
        "context add / x",
        "usage --clear --yes",
    ):
        told = error("--agent", "guest", *line.split())
        assert "reads" in told or "changes no settings" in told
    for line in (f"-w {folders[0]} search harbour", f"-w team -w {folders[0]} search harbour"):
        assert "may not read" in error("--agent", "guest", *line.split())
    assert not settings_file(folders[1]).exists()


def test_an_agent_that_no_table_names_gives_itself_none(folders: list[Path]) -> None:
    path = files.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[agents.guest]\nreads = ["{folders[0]}"]\n')
    before = path.read_bytes()
    for line in (
        "config set recall.budget 300",
        "search x",
        "workspaces",
        "remember x",
        "mcp",
        "config edit",
    ):
        assert "did you mean guest?" in error("--agent", "geust", *line.split())
    assert "has no table" in called("--agent", "geust", "doctor", "--offline").stdout.decode()
    assert path.read_bytes() == before


def test_doctor_tells_no_agent_what_keeps_the_settings_from_being_read(folders: list[Path]) -> None:
    path = files.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('[agents.guest]\nreads = ["here"]\n' + '[workspaces."/secretword"]\n' * 2)
    assert "secretword" in called("doctor", "--offline").stdout.decode()
    own = called("--agent", "guest", "doctor", "--offline")
    assert (own.returncode, b"secretword" in own.stdout) == (1, False)


def test_doctor_shows_a_limited_agent_itself_alone(folders: list[Path], tmp_path: Path) -> None:
    path, gone = files.user_file(), [tmp_path / "gone 1", tmp_path / "gone 2"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'[agents.guest]\nreads = ["{folders[0]}", "{gone[0]}"]\n[agents.other]\nreads = ["{folders[1]}", "{gone[1]}"]\n'
    )
    every = called("doctor", "--offline").stdout.decode()
    assert all(f"names {place}, which is not there" in every for place in gone)
    own = called("--agent", "guest", "doctor", "--offline").stdout.decode()
    assert f"[agents.guest] names {gone[0]}" in own
    assert str(gone[1]) not in own
    assert str(folders[1]) not in own


def test_an_agent_with_memories_of_its_own_changes_no_settings(folders: list[Path], tmp_path: Path) -> None:
    file = files.user_file()
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(f'[agents.mira]\nreads = ["{folders[0]}"]\n')
    before = file.read_bytes()
    for arguments in (
        ("workspaces", "add", folders[1], "--name", "team"),
        ("workspaces", "remove", folders[1]),
        ("init", folders[0] / "memory" / "inn"),
        ("collection", "add", folders[1], "--name", "x"),
        ("context", "add", "memory", "What is noted."),
        ("config", "set", "forget.by_agents", "allow"),
        ("config", "unset", "search.limit"),
    ):
        assert "changes no settings" in error("--agent", "mira", *arguments), arguments
    assert file.read_bytes() == before
    assert not settings_file(folders[0]).exists()
    assert not (folders[0] / "memory" / "inn").exists()
    assert called("workspaces", "add", folders[1], "--name", "team").returncode == 0  # its owner may


def test_a_collection_that_leads_into_a_known_workspace_is_closed_to_agents(folders: list[Path]) -> None:
    assert called("collection", "add", folders[1], "--name", "x").returncode == 0
    file = files.user_file()
    file.write_text(file.read_text() + f'\n[agents.mira]\nreads = ["{folders[0]}"]\n')
    told = error("--agent", "mira", "search", "harbour")
    assert "overlaps" in told
    assert str(folders[1]) not in told
    assert "of b" in out("search", "harbour")


def test_a_file_is_no_workspace(folders: list[Path]) -> None:
    assert "MEMORY.md is a file; name its folder" in error("-w", "MEMORY.md", "search", "harbour")


def test_one_that_is_named_must_be_there(folders: list[Path], tmp_path: Path) -> None:
    assert "there is no folder" in error("-w", folders[0], "-w", tmp_path / "none", "search", "harbour")


def test_a_state_that_cannot_be_read_opens_nothing(folders: list[Path], tmp_path: Path) -> None:
    path = files.user_file()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[agents.mira]\nreads = ["{folders[0]}"]\n')
    place = paths.user_state_dir()
    place.rename(tmp_path / "moved")
    place.touch()
    assert "cannot be read" in error("--agent", "mira", "search", "harbour")
    assert "cannot be read" in error("--all-workspaces", "search", "harbour")
    assert "of a" in out("search", "harbour")
