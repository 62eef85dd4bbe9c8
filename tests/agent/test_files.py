"""What an agent may read of a workspace: text, by its real path, without secrets, a bounded part at a time."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.agent import tools
from commonplace.agent.tools import Answer, Caller
from commonplace.base.errors import NoteNotFound, NoteUnreadable, OutsideRoots
from commonplace.memory import Memory

KEY = "ghp_" + "a1B2c3D4e5" * 4


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "notes"
    (folder / "drafts").mkdir(parents=True)
    (folder / "MEMORY.md").write_text("# Memory\n")
    (folder / "drafts" / "计划.md").write_text(f"# Plan\n\nfirst\n<private>not this</private>\ntoken {KEY}\n")
    (folder / ".hidden").mkdir()
    (folder / ".hidden" / "secret.md").write_text("hidden\n")
    (folder / "program.py").write_text("print()\n")
    (tmp_path / "outside.md").write_text("outside\n")
    return folder


def read(root: Path, path: str, **given: int) -> Answer:
    return tools._read_file(Memory.open(root), {"path": path, **given}, Caller())


def test_a_file_is_shown_without_secrets_and_private_parts(root: Path) -> None:
    answer = read(root, "drafts/计划.md")
    assert "first" in answer.text
    assert "REDACTED" in answer.text
    assert KEY not in answer.text
    assert "not this" not in answer.text
    assert (answer.data["from"], answer.data["lines"], answer.data["total"]) == (1, 5, 5)


def test_lines_and_where_to_read_on(root: Path) -> None:
    (root / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 301)))
    first = read(root, "long.txt", lines=100)
    assert first.data["nextFrom"] == 101
    second = read(root, "long.txt", **{"from": first.data["nextFrom"]})
    assert second.data["text"].startswith("line 101\n")


def test_what_may_not_be_read(root: Path) -> None:
    os.symlink(root.parent / "outside.md", root / "link.md")
    os.symlink(root.parent, root / "linked")
    os.symlink(root / ".hidden" / "secret.md", root / "shown.md")
    (root / "large.md").write_bytes(b"x" * (tools.MOST_BYTES + 1))
    for path, error in [
        ("../outside.md", OutsideRoots),
        ("link.md", OutsideRoots),
        ("linked/outside.md", OutsideRoots),
        (".hidden/secret.md", OutsideRoots),
        ("shown.md", OutsideRoots),  # a link to what is hidden
        ("drafts", OutsideRoots),
        ("program.py", NoteUnreadable),
        ("large.md", NoteUnreadable),
        ("a\0b.md", OutsideRoots),
        ("#0a1b2c", NoteNotFound),
    ]:
        with pytest.raises(error) as caught:
            read(root, path)
        assert "\n" not in str(caught.value), (path, error)


def test_what_is_there_is_told_where_a_file_is_not(root: Path) -> None:
    with pytest.raises(NoteNotFound) as caught:
        read(root, "drafts/plan.md")
    assert caught.value.suggestions == ("drafts/计划.md",)
    with pytest.raises(NoteNotFound) as caught:
        read(root, "plan.md")
    assert caught.value.suggestions == ("MEMORY.md", "drafts")
    with pytest.raises(OutsideRoots):
        read(root, "../nothing.md")
