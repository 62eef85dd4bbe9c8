"""Several files changed as one, and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace import paths
from commonplace.history import applying, runs, undoing
from commonplace.types.revisions import About, Change

ABOUT = About("consolidate", "consolidate 2026-02-07..13", "a test")


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "MEMORY.md").write_bytes(b"# Memory\n\n- one\n")
    return paths.Workspace(tmp_path)


def change(workspace: paths.Workspace, path: str, after: bytes | None) -> Change:
    return Change(path, applying.read(workspace, path), after)


def test_files_are_changed_and_put_back(workspace: paths.Workspace) -> None:
    changes = [
        change(workspace, "memory/archive.md", b"- one\n"),
        change(workspace, "MEMORY.md", b"# Memory\n"),
    ]
    run = applying.apply(workspace, changes, ABOUT)
    assert run is not None
    assert run.state == "done"
    assert (workspace.root / "memory" / "archive.md").read_bytes() == b"- one\n"
    assert [found.id for found in runs.listed(workspace)] == [run.id]
    (back,) = undoing.undo(workspace)
    assert back.about.undoes == run.id
    assert workspace.memory_file.read_bytes() == b"# Memory\n\n- one\n"
    assert not (workspace.root / "memory" / "archive.md").exists()
    (again,) = undoing.undo(workspace, back.id)
    assert again.about.title == "undo undo consolidate 2026-02-07..13"
    assert workspace.memory_file.read_bytes() == b"# Memory\n"


def test_nothing_is_done_where_a_file_has_changed(workspace: paths.Workspace) -> None:
    made = change(workspace, "MEMORY.md", b"x")
    workspace.memory_file.write_bytes(b"owner's")
    with pytest.raises(applying.FileChanged):
        applying.apply(workspace, [made], ABOUT)
    assert workspace.memory_file.read_bytes() == b"owner's"
    assert runs.listed(workspace) == []


def test_what_was_forgotten_is_kept_nowhere(workspace: paths.Workspace) -> None:
    run = applying.apply(workspace, [change(workspace, "MEMORY.md", b"# M\n")], ABOUT, keep=False)
    assert run is not None
    assert sorted(path.name for path in (workspace.history / run.id).iterdir()) == ["run.json"]
    with pytest.raises(undoing.NotUndone, match="not kept"):
        undoing.undo(workspace, run.id)
