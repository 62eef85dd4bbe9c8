"""Generated changes in a real repository of git: their files alone, their bytes, nothing of the owner's."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.config.settings import History
from commonplace.storage import git, journal, transaction, undo
from commonplace.types.changes import About, Change, Run
from tests import applying

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
AUTO = History("auto", 3650)
Ask = Callable[..., str]


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    """Ask git about a repository whose workspace is a folder below its root."""
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
    (tmp_path / "gitconfig").write_text(
        "[user]\n\tname = Ann\n\temail = ann@example.com\n[init]\n\tdefaultBranch = main\n"
    )
    (tmp_path / "repository" / "notes" / "memory").mkdir(parents=True)

    def asked(*words: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(tmp_path / "repository"), *words], capture_output=True, text=True, check=True
        )
        return done.stdout

    asked("init", "-q")
    return asked


@pytest.fixture
def workspace(tmp_path: Path, ask: Ask) -> paths.Workspace:
    """A workspace whose MEMORY.md is committed."""
    found = paths.Workspace(tmp_path / "repository" / "notes")
    found.memory_file.write_bytes(b"# Memory\n\n- one\n")
    ask("add", ".")
    ask("commit", "-qm", "first")
    return found


def made(workspace: paths.Workspace, title: str = "move", **files: bytes | None) -> Run:
    names = {"memory": "MEMORY.md", "archive": "memory/归档 é.md"}
    changes = [Change(names[n], transaction.read(workspace, names[n]), data) for n, data in files.items()]
    about = About("consolidate", title, "why\nin two lines", by="agent", agent="nanobot")
    run = applying.apply(workspace, changes, about, settings=AUTO)
    assert run is not None
    assert run.state == "done"
    return run


def subjects(ask: Ask) -> list[str]:
    return ask("log", "--format=%s").splitlines()


def test_a_run_is_a_commit_of_its_files_alone(workspace: paths.Workspace, ask: Ask) -> None:
    (workspace.root / "edited.txt").write_text("committed\n")
    ask("add", ".")
    ask("commit", "-qm", "more")
    (workspace.root / "edited.txt").write_text("the owner's\n")
    (workspace.root / "staged.txt").write_text("staged\n")
    ask("add", "notes/staged.txt")
    run = made(workspace, archive=b"- one\n", memory=b"# Memory\n")
    assert (run.commit, run.uncommitted) == (ask("rev-parse", "HEAD").strip(), "")
    assert subjects(ask) == ["commonplace: move", "more", "first"]
    assert ask("show", "-s", "--format=%an %ae %b") == (
        f"Ann ann@example.com why\nin two lines\n\nBy: agent nanobot\nRun: {run.id}\n\n"
    )
    assert (
        ask("-c", "core.quotePath=off", "show", "--name-status", "--format=")
        == "M\tnotes/MEMORY.md\nA\tnotes/memory/归档 é.md\n"
    )
    assert ask("status", "--short") == " M notes/edited.txt\nA  notes/staged.txt\n"
    undo.undo(workspace, settings=AUTO)
    assert ask("diff", "HEAD~2", "HEAD", "--stat") == ""
    assert subjects(ask)[0] == "commonplace: undo move"
    assert ask("status", "--short") == " M notes/edited.txt\nA  notes/staged.txt\n"


def test_edits_of_the_owner_go_with_their_file(workspace: paths.Workspace, ask: Ask) -> None:
    workspace.memory_file.write_bytes(b"# Memory\n\n- one\n- the owner's\n")
    (workspace.memory_dir / "归档 é.md").write_bytes(b"- never committed\n")
    made(workspace, archive=b"- never committed\n- one\n", memory=b"# Memory\n\n- the owner's\n")
    assert subjects(ask) == ["commonplace: move", "first"]
    assert ask("show", "HEAD:notes/MEMORY.md") == "# Memory\n\n- the owner's\n"
    assert ask("status", "--short") == ""


def test_files_with_a_filter_are_left_out(workspace: paths.Workspace, ask: Ask) -> None:
    (workspace.root / ".gitattributes").write_text("MEMORY.md filter=x\n")
    run = made(workspace, archive=b"b\n", memory=b"more\n")
    told = "not committed: notes/MEMORY.md (a filter of git's is set for it)"
    assert (bool(run.commit), run.uncommitted) == (True, told)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("filter.x.clean", "x"),
        ("include.path", "x"),
        ("core.hooksPath", "x"),
        ("core.fsmonitor", "x"),
        ("extensions.x", "1"),
    ],
)
def test_settings_that_may_name_a_program_leave_git_alone(
    workspace: paths.Workspace, ask: Ask, name: str, value: str
) -> None:
    with open(workspace.root.parent / ".git" / "config", "a") as file:
        head, _, key = name.rpartition(".")
        section, _, within = head.partition(".")
        file.write(f"[{section}{f' {chr(34)}{within}{chr(34)}' if within else ''}]\n\t{key} = {value}\n")
    run = made(workspace, memory=b"ours\n")
    assert name.lower() in run.uncommitted
    assert "harmless" in run.uncommitted


def test_what_is_forgotten_is_in_no_commit_of_ours(workspace: paths.Workspace, ask: Ask) -> None:
    workspace.memory_file.write_bytes(b"# Memory\n\n- a secret plan\n")
    change = Change("MEMORY.md", workspace.memory_file.read_bytes(), b"# Memory\n")
    run = applying.apply(
        workspace, [change], About("forget", "forget 1 statement"), keep=False, settings=AUTO
    )
    assert run is not None
    assert run.commit
    assert ask("log", "--all", "-p").count("secret plan") == 0
    assert subjects(ask) == ["commonplace: forget 1 statement", "first"]


def test_staged_edits_of_the_same_file_are_not_lost(workspace: paths.Workspace, ask: Ask) -> None:
    workspace.memory_file.write_bytes(b"staged\n")
    ask("add", ".")
    workspace.memory_file.write_bytes(b"edited further\n")
    run = made(workspace, memory=b"ours\n")
    assert "MEMORY.md (staged by its owner)" in run.uncommitted
    assert (subjects(ask), ask("show", ":notes/MEMORY.md")) == (["first"], "staged\n")
    ask("commit", "-qm", "the owner's", "notes")
    assert made(workspace, memory=b"more\n").uncommitted == ""
    assert subjects(ask) == ["commonplace: move", "the owner's", "first"]


def test_without_a_name_of_the_owner_ours_stands_there(
    workspace: paths.Workspace, ask: Ask, tmp_path: Path
) -> None:
    (tmp_path / "gitconfig").write_text("")
    assert made(workspace, memory=b"ours\n").commit
    assert ask("show", "-s", "--format=%an <%ae>") == "commonplace <commonplace@localhost>\n"


def test_the_first_commit_may_be_ours(ask: Ask, tmp_path: Path) -> None:
    workspace = paths.Workspace(tmp_path / "repository" / "notes")
    workspace.memory_file.write_bytes(b"# Memory\n")
    assert made(workspace, memory=b"ours\n").commit
    assert subjects(ask) == ["commonplace: move"]


def test_a_workspace_in_no_repository_asks_git_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "MEMORY.md").write_bytes(b"# Memory\n")
    monkeypatch.setenv("PATH", "")
    run = made(paths.Workspace(tmp_path), memory=b"ours\n")
    assert (run.commit, run.uncommitted) == ("", "")


def hinder(what: str, ask: Ask, workspace: paths.Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    private = workspace.root.parent / ".git"
    if what == "detached":
        ask("checkout", "-q", "--detach")
    elif what == "bare":
        ask("config", "core.bare", "true")
    elif what == "missing":
        monkeypatch.setenv("PATH", "")
    elif what == "index.lock":
        (private / "index.lock").touch()
    elif what == "rebase-merge":
        (private / what).mkdir()
    elif what == "broken":
        (private / "HEAD").write_text("nothing\n")
    elif what == "slow":
        monkeypatch.setattr(git, "TIMEOUT_S", 0.0001)
    else:
        (private / what).touch()


HINDRANCES = {
    "detached": "no branch", "bare": "core.bare", "missing": "not installed", "index.lock": "index.lock",
    "MERGE_HEAD": "a merge", "rebase-merge": "a rebase", "slow": "longer than", "broken": "no branch",
}  # fmt: skip


@pytest.mark.parametrize("what", HINDRANCES)
def test_a_git_that_cannot_fails_no_run(
    workspace: paths.Workspace, ask: Ask, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = ask("rev-parse", "main")
    with monkeypatch.context() as patch:
        hinder(what, ask, workspace, patch)
        run = made(workspace, memory=b"ours\n")
    assert HINDRANCES[what] in run.uncommitted
    assert run.commit == ""
    assert workspace.memory_file.read_bytes() == b"ours\n"
    if what not in ("bare", "broken"):
        assert ask("rev-parse", "main") == before


def test_what_could_not_be_committed_goes_with_the_next_run_of_its_files(
    workspace: paths.Workspace, ask: Ask
) -> None:
    held = workspace.root.parent / ".git" / "index.lock"
    held.touch()
    first = made(workspace, "waits", memory=b"ours\n")
    assert first.uncommitted.startswith(journal.WAITING)
    held.unlink()
    assert made(workspace, memory=b"more\n").commit
    assert subjects(ask) == ["commonplace: move", "first"]
    assert ask("status", "--short") == ""


def test_ignored_files_and_those_of_another_repository_are_left_out(
    workspace: paths.Workspace, ask: Ask
) -> None:
    (workspace.root / ".gitignore").write_text("/MEMORY.md\n")
    ask("rm", "-q", "--cached", "notes/MEMORY.md")
    ask("add", "notes/.gitignore")
    ask("commit", "-qm", "ignore it")
    subprocess.run(["git", "init", "-q", str(workspace.memory_dir)], check=True)
    run = made(workspace, archive=b"new\n", memory=b"ours\n")
    assert run.commit == ""
    assert "归档 é.md (in another repository)" in run.uncommitted
    assert "notes/MEMORY.md (ignored by git)" in run.uncommitted
    assert subjects(ask) == ["ignore it", "first"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_repository_of_somebody_else_is_left_alone(workspace: paths.Workspace, ask: Ask) -> None:
    os.chown(workspace.root.parent / ".git", 12345, 12345)
    os.chown(workspace.root.parent, 12345, 12345)
    assert "belongs to another user" in made(workspace, memory=b"ours\n").uncommitted


def test_line_ends_are_as_git_wants_them(workspace: paths.Workspace, ask: Ask) -> None:
    (workspace.root / ".gitattributes").write_text("*.md text=auto eol=crlf\n")
    assert made(workspace, memory=b"ours\r\n").commit
    assert ask("cat-file", "-s", "HEAD:notes/MEMORY.md") == "5\n"
    assert ask("status", "--short", "notes/MEMORY.md") == ""
