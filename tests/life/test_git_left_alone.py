"""No command commits into a git repository unless the owner's own settings ask for it."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from tests.life.conftest import Owner

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
FACTS = ("Tea is at four", "Mira rows on Mondays", "The key hangs in the hall", "Lin hikes", "Gas costs 30")


def _git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=a", "-c", "user.email=a@localhost"]
    done = subprocess.run(["git", "-C", folder, *who, *words], capture_output=True, text=True, check=True)
    return done.stdout


@pytest.fixture(params=["the workspace", "a folder above"])
def repository(owner: Owner, request: pytest.FixtureRequest) -> Path:
    """A repository that the notes lie in, as its owner left it."""
    top = owner.folder.parent if request.param == "a folder above" else owner.folder
    owner.note("MEMORY.md", "# Memory\n\n" + "".join(f"- {fact}.\n" for fact in FACTS))
    owner.ok("init")
    _git(top, "init", "-q")
    _git(top, "add", owner.folder / "MEMORY.md")
    _git(top, "commit", "-qm", "mine")
    return top


def test_nothing_is_committed_unasked(owner: Owner, repository: Path) -> None:
    before = _git(repository, "log", "--all", "--format=%H"), _git(repository, "ls-files", "-s")
    owner.ok("correct", FACTS[0], "Tea is at five.")
    owner.ok("undo", "--yes")
    owner.ok("forget", "--text", "Gas costs 30", "--yes")
    owner.memory().correct(FACTS[1], "Mira rows on Tuesdays.")
    owner.mcp().call("memory_correct", text=FACTS[2], replacement="The key hangs in the shed.")
    assert (_git(repository, "log", "--all", "--format=%H"), _git(repository, "ls-files", "-s")) == before
    assert not _git(repository, "stash", "list")
    assert "at four" in owner.read("MEMORY.md")
    assert "Tuesdays" in owner.read("MEMORY.md")


def test_the_owner_may_ask_for_it(owner: Owner, repository: Path) -> None:
    owner.ok("config", "set", "history.git", "auto")
    owner.ok("correct", FACTS[0], "Tea is at five.")
    owner.ok("undo", "--yes")
    subjects = _git(repository, "log", "--format=%s").splitlines()
    assert [one.partition(":")[0] for one in subjects] == ["commonplace", "commonplace", "mine"]
