"""Several files changed as one, and taken back."""

from __future__ import annotations

import errno
import itertools
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable, OutsideRoots
from commonplace.notes import appends
from commonplace.storage import files, journal, transaction, undo
from commonplace.types.changes import About, Change, Run
from tests import applying
from tests.cli.conftest import environment
from tests.storage.conftest import ABOUT, Changing


def test_files_are_changed_and_put_back(workspace: paths.Workspace, change: Changing) -> None:
    changes = [
        change("memory/archive.md", b"- one\n"),
        change("MEMORY.md", b"# Memory\n"),
    ]
    run = applying.apply(workspace, changes, ABOUT)
    assert run is not None
    assert run.state == "done"
    assert (workspace.root / "memory" / "archive.md").read_bytes() == b"- one\n"
    assert [found.id for found in journal.listed(workspace)] == [run.id]
    (back,) = undo.undo(workspace)
    assert back.about.undoes == run.id
    assert workspace.memory_file.read_bytes() == b"# Memory\n\n- one\n"
    assert not (workspace.root / "memory" / "archive.md").exists()
    (again,) = undo.undo(workspace, back.id)
    assert again.about.title == "undo undo consolidate 2026-02-07..13"
    assert workspace.memory_file.read_bytes() == b"# Memory\n"


def test_nothing_is_done_where_a_file_has_changed(workspace: paths.Workspace, change: Changing) -> None:
    made = change("MEMORY.md", b"x")
    workspace.memory_file.write_bytes(b"owner's")
    with pytest.raises(transaction.FileChanged):
        applying.apply(workspace, [made], ABOUT)
    assert workspace.memory_file.read_bytes() == b"owner's"
    assert journal.listed(workspace) == []


def test_what_was_forgotten_is_kept_nowhere(workspace: paths.Workspace, change: Changing) -> None:
    run = applying.apply(workspace, [change("MEMORY.md", b"# M\n")], ABOUT, keep=False)
    assert run is not None
    assert journal.size(workspace) == 0
    with pytest.raises(undo.NotUndone, match="not kept"):
        undo.undo(workspace, run.id)


@pytest.mark.parametrize("lasting", [False, True])
def test_a_disk_that_fills_up_amid_a_change(
    workspace: paths.Workspace, change: Changing, monkeypatch: pytest.MonkeyPatch, lasting: bool
) -> None:
    """What was exchanged is put back; where not even that can be done, the next command carries on."""
    changes = [change("MEMORY.md", b"# Memory\n"), change("memory/archive.md", b"- one\n")]
    left, write = 1, files._write

    def full(*arguments: Any, **named: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0 and (lasting or left == -1):
            raise OSError(errno.ENOSPC, "No space left on device")
        write(*arguments, **named)

    with monkeypatch.context() as patch:
        patch.setattr(files, "_write", full)
        with pytest.raises(NoteUnreadable, match="no space left"):
            applying.apply(workspace, changes, ABOUT)
    assert (workspace.memory_file.read_bytes() == b"# Memory\n") == lasting
    assert not (workspace.memory_dir / "archive.md").exists()
    assert [run.state for run in journal.listed(workspace)] == ["begun"] * lasting
    transaction.recover(workspace)
    assert (workspace.memory_dir / "archive.md").exists() == lasting
    assert [*workspace.root.rglob("*.tmp")] == []


def test_a_file_that_an_editor_saves_amid_a_change_is_not_overwritten(
    workspace: paths.Workspace, change: Changing, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = [change("memory/archive.md", b"- one\n"), change("MEMORY.md", b"# Memory\n")]
    begin = journal.begin

    def begun(*arguments: Any, **named: Any) -> Run:
        workspace.memory_file.write_bytes(b"the owner's\n")
        return begin(*arguments, **named)

    monkeypatch.setattr(journal, "begin", begun)
    with pytest.raises(transaction.FileChanged):
        applying.apply(workspace, changes, ABOUT)
    assert workspace.memory_file.read_bytes() == b"the owner's\n"
    assert not (workspace.memory_dir / "archive.md").exists()
    assert journal.names(workspace) == []


def test_a_link_and_its_file_are_one_file(workspace: paths.Workspace, change: Changing) -> None:
    (workspace.root / "link.md").symlink_to("MEMORY.md")
    with pytest.raises(NoteUnreadable, match="same file"):
        applying.apply(workspace, [change("MEMORY.md", b"1\n"), change("link.md", b"2\n")], ABOUT)
    applying.apply(workspace, [change("link.md", b"2\n")], ABOUT)
    assert (workspace.root / "link.md").is_symlink()
    assert workspace.memory_file.read_bytes() == b"2\n"
    undo.undo(workspace)
    assert workspace.memory_file.read_bytes() == b"# Memory\n\n- one\n"


@pytest.mark.parametrize(
    "path",
    [
        "../outside.md",
        "/etc/outside.md",
        "out/x.md",
        ".git/config",
        "memory/.hidden/x.md",
        "commonplace.toml",
    ],
)
def test_no_change_leaves_the_workspace(workspace: paths.Workspace, tmp_path: Path, path: str) -> None:
    (workspace.root / "out").symlink_to(tmp_path.parent)
    with pytest.raises(OutsideRoots):
        applying.apply(workspace, [Change(path, None, b"x\n")], ABOUT)
    assert journal.listed(workspace) == []


def test_processes_at_once_make_runs_in_a_row(workspace: paths.Workspace) -> None:
    program = (
        "import sys; from pathlib import Path; from commonplace.base import paths;"
        "from commonplace.storage import transaction as a; from commonplace.types.changes import About, Change\n"
        "def more(read):\n"
        "    text = read('MEMORY.md'); return [Change('MEMORY.md', text, text + b'- x\\n')]\n"
        "for _ in range(6): a.rewrite(paths.Workspace(Path(sys.argv[1])), more, About('write', 'x'))\n"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", program, str(workspace.root)], env=environment())
        for _ in range(3)
    ]
    assert [child.wait(120) for child in children] == [0] * 3
    made = journal.listed(workspace)
    assert len(made) == 18
    for newer, older in itertools.pairwise(made):  # each upon the one before it
        assert newer.files[0].before == older.files[0].after
    undo.undo(workspace, made[-1].id, since=True)
    assert workspace.memory_file.read_bytes() == b"# Memory\n\n- one\n"


def test_no_secret_of_a_reason_is_kept(workspace: paths.Workspace, change: Changing) -> None:
    why = "the password: hunter2Xx91a was wrong <private>so was I</private>"
    run = applying.apply(workspace, [change("MEMORY.md", b"- two\n")], replace(ABOUT, why=why))
    assert run is not None
    assert run.about.why == "the password: [REDACTED:password] was wrong"
    assert "hunter2" not in repr(journal.load(workspace, run.id))


def test_nobody_waits_while_changes_are_composed(tmp_path: Path) -> None:
    workspace = paths.Workspace(tmp_path)
    (tmp_path / "memory").mkdir()
    note = tmp_path / "memory" / "a.md"
    note.write_text("- one\n")
    rounds: list[bytes | None] = []

    def compose(read: transaction.Read) -> list[Change]:
        before = read("memory/a.md")
        rounds.append(before)
        if len(rounds) == 1:  # somebody writes while this one thinks
            appends.append(workspace, note, "- two", timeout_s=1.0)
        return [Change("memory/a.md", before, (before or b"") + b"- three\n")]

    run = transaction.rewrite(workspace, compose, About("write", "a test"))
    assert run is not None
    assert rounds == [b"- one\n", b"- one\n- two\n"]
    assert note.read_text() == "- one\n- two\n- three\n"
