"""What is hidden in a workspace, such as `.env` and `.git`, is neither read nor written as a note."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.database import connect
from commonplace.base.errors import CommonplaceError
from commonplace.base.root import Root
from commonplace.notes.scan import Globs
from commonplace.types import Selection

FAKE = {"embedding.provider": "none"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    (root / ".git" / "hooks").mkdir(parents=True)
    (root / ".git" / "hooks" / "post-commit").write_text("#!/bin/sh\n")
    (root / ".env").write_text("SMTP_LOGIN=zebra\n")
    (root / "memory" / "tea.md").write_text("Green tea in the morning.\n")
    return root


def test_a_link_to_a_hidden_file_is_no_note(root: Path) -> None:
    os.symlink("../.env", root / "memory" / "todo.md")
    os.symlink("tea.md", root / "memory" / "also.md")
    with Memory.open(root, overrides=FAKE) as memory:
        memory.sync()
        assert not memory.search("zebra").hits
        assert memory.search("green tea").hits
        assert "Green tea" in repr(memory.get("memory/also.md"))
        with pytest.raises(CommonplaceError, match="hidden"):
            memory.get("memory/todo.md")


def test_nothing_is_written_through_a_link_to_a_hidden_file(root: Path) -> None:
    os.symlink(".git/hooks/post-commit", root / "MEMORY.md")
    with Memory.open(root, overrides=FAKE) as memory, pytest.raises(CommonplaceError, match="hidden"):
        memory.remember("$(touch here)", long_term=True)
    assert (root / ".git" / "hooks" / "post-commit").read_text() == "#!/bin/sh\n"


@pytest.mark.parametrize("name", [".env", ".git/hooks/post-commit", "commonplace.toml", "memory/.hidden.md"])
def test_a_hidden_file_is_not_read_by_its_name(root: Path, name: str) -> None:
    for path in ("commonplace.toml", "memory/.hidden.md"):
        (root / path).write_text("")
    with Memory.open(root, overrides=FAKE) as memory, pytest.raises(CommonplaceError):
        memory.get(name)


def test_a_journal_that_names_another_file_is_gone_before_the_file_is_opened(tmp_path: Path) -> None:
    root = Root(tmp_path)
    connect(root, "a.sqlite", make=True).close()
    magic = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
    (tmp_path / "a.sqlite-journal").write_bytes(magic + bytes(600) + b"/owner/file" + bytes(8) + magic)
    connect(root, "a.sqlite").close()
    assert not (tmp_path / "a.sqlite-journal").exists()


def test_a_glob_of_many_stars_takes_no_time() -> None:
    began = time.process_time()
    assert not Globs(["*a" * 30 + "b.md"])("a" * 200 + ".md")
    assert not Globs(["**/a" * 30 + "b.md"])("a/" * 100 + ".md")
    assert time.process_time() - began < 2


def test_a_long_sentence_of_marks_is_forgotten_in_time(root: Path) -> None:
    text = "1. " * 300
    with Memory.open(root, overrides=FAKE) as memory:
        memory.remember(text)
        began = time.process_time()
        memory.forget(Selection("text", text), dry_run=True)
        assert time.process_time() - began < 5
