"""A worktree of git without a memory of its own uses that of its main checkout, and no stranger's."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.paths import find_workspace
from tests.life.conftest import Owner

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
FERRY = "The Halvorsen ferry leaves Oslo at 17:45."


def git(folder: Path, *arguments: str | Path) -> None:
    own = ("-c", "user.name=Owner", "-c", "user.email=owner@example.org")
    subprocess.run(["git", "-C", folder, *own, *arguments], check=True, capture_output=True)


@pytest.fixture
def side(owner: Owner, tmp_path: Path) -> Path:
    """A worktree beside the owner's folder, which is its main checkout; no note is in git."""
    git(owner.folder, "init", "-q")
    git(owner.folder, "commit", "-q", "--allow-empty", "-m", "begin")
    git(owner.folder, "worktree", "add", "-q", tmp_path / "elsewhere" / "side")
    owner.note("MEMORY.md", f"# Memory\n\n- {FERRY}\n")
    owner.ok("sync")
    return tmp_path / "elsewhere" / "side"


def workspace_of(owner: Owner, folder: Path) -> Path:
    return Path(json.loads(owner.ok("status", "--paths", "--format", "json", cwd=folder))["notes"])


def test_every_door_uses_the_memory_of_the_main_checkout(
    owner: Owner, side: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (below := side / "src" / "deep").mkdir(parents=True)
    assert workspace_of(owner, below) == owner.folder
    owner.ok("remember", "--long-term", "Lin signs deploys off.", cwd=side)
    assert "Lin signs deploys off." in owner.read("MEMORY.md")
    asked = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "s1",
        "prompt": "When does the ferry leave Oslo?",
    }
    assert FERRY in owner.ok("hook", "--deadline", "60000", stdin=json.dumps(asked), cwd=below)
    monkeypatch.chdir(below)
    with Memory.open() as memory:
        assert memory.workspace.root == owner.folder
    folder, owner.folder = owner.folder, side
    assert FERRY in owner.mcp().call("memory_search", query="When does the ferry leave Oslo?")
    assert sorted(path.name for path in side.iterdir()) == [".git", "src"]
    owner.folder = folder


def test_a_worktree_with_a_memory_keeps_its_own(owner: Owner, side: Path) -> None:
    owner.ok("init", side, cwd=side)
    assert workspace_of(owner, side) == side


def test_the_same_folder_of_the_main_checkout_comes_first(owner: Owner, side: Path) -> None:
    owner.note("part/MEMORY.md", "# Memory\n")
    (side / "part").mkdir()
    assert find_workspace(side / "part") == owner.folder / "part"
    assert find_workspace(side) == owner.folder


def test_the_main_checkout_comes_before_what_is_around_the_worktree(owner: Owner, side: Path) -> None:
    (side.parent / "MEMORY.md").touch()
    assert find_workspace(side) == owner.folder


def test_a_folder_of_a_worktree_can_become_a_workspace(owner: Owner, side: Path) -> None:
    (side / "part").mkdir()
    owner.ok("init", side / "part", cwd=side)
    assert workspace_of(owner, side / "part") == side / "part"


def test_relative_links_are_followed(owner: Owner, side: Path) -> None:
    entry = owner.folder / ".git" / "worktrees" / "side"
    (side / ".git").write_text(f"gitdir: {os.path.relpath(entry, side)}\n")
    (entry / "gitdir").write_text(f"{os.path.relpath(side, entry)}/.git\n")
    git(side, "status")
    assert find_workspace(side) == owner.folder


def test_a_worktree_reached_by_a_link_is_one(owner: Owner, side: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(side)
    assert find_workspace(tmp_path / "link") == owner.folder


def test_a_worktree_that_was_moved_by_git_is_one(owner: Owner, side: Path) -> None:
    git(owner.folder, "worktree", "move", side, side.parent / "moved")
    assert find_workspace(side.parent / "moved") == owner.folder
    git(owner.folder, "worktree", "remove", side.parent / "moved")
    side.mkdir()
    assert find_workspace(side) is None


def plant(folder: Path, text: str) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / ".git").write_text(text)
    return folder


def test_a_folder_that_only_claims_to_be_a_worktree_is_none(owner: Owner, side: Path, tmp_path: Path) -> None:
    stranger, claim = tmp_path / "stranger", (side / ".git").read_text()
    assert find_workspace(plant(stranger, claim)) is None
    other = owner.folder / ".git" / "worktrees" / "other"
    assert find_workspace(plant(stranger, f"gitdir: {other}\n")) is None
    assert find_workspace(plant(stranger, f"gitdir: {owner.folder / '.git'}\n")) is None
    # A folder of git of the stranger's own, which names the owner's as common and points back.
    entry = stranger / "worktrees" / "side"
    entry.mkdir(parents=True)
    (entry / "gitdir").write_text(f"{stranger / '.git'}\n")
    (entry / "commondir").write_text(f"{owner.folder / '.git'}\n")
    assert find_workspace(plant(stranger, f"gitdir: {entry}\n")) is None
    # Where the owner once had a worktree, and somebody put a folder that claims to be another's.
    (owner.folder / ".git" / "worktrees" / "side" / "gitdir").write_text(f"{stranger / 'below' / '.git'}\n")
    assert find_workspace(plant(stranger, claim)) is None
    assert find_workspace(side) is None


@pytest.mark.parametrize(
    "text", ["", "gitdir: \0", "gitdir: /", "gitdir: ../../..", "\xff" * 9000, "nothing"]
)
def test_any_other_file_is_left_alone(tmp_path: Path, text: str) -> None:
    assert find_workspace(plant(tmp_path / "folder", text)) is None


def test_what_is_no_regular_file_is_left_alone(owner: Owner, side: Path, tmp_path: Path) -> None:
    (side / ".git").rename(tmp_path / "kept")
    (side / ".git").symlink_to(tmp_path / "kept")
    assert find_workspace(side) is None
    (side / ".git").unlink()
    os.mkfifo(side / ".git")  # which would be waited for
    assert find_workspace(side) is None


def test_a_file_of_another_user_is_left_alone(
    owner: Owner, side: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert find_workspace(side) is None
