"""The workspace: missing, read-only, with folders closed and links that leave."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.base.messages import Message
from commonplace.config import add_collection
from commonplace.diagnosis import workspace as checks
from commonplace.diagnosis.examination import present
from tests.diagnosis.conftest import Present, by_check, states

AS_ROOT = os.geteuid() == 0


def test_a_workspace_that_is_fine(case: Present, indexed: Path) -> None:
    assert states(checks.folder(case())) == {
        "workspace.folder": "ok",
        "workspace.writable": "ok",
    }
    assert states(checks.tree(case())) == {"workspace.folders": "ok"}


def test_one_that_is_named_and_missing(tmp_path: Path) -> None:
    found = by_check(checks.folder(present(str(tmp_path / "gone"))))["workspace.folder"]
    assert (found.state, found.told) == ("wrong", f"there is no folder {tmp_path / 'gone'}")
    assert found.remedy == f"commonplace init {tmp_path / 'gone'}"


def test_a_folder_of_a_workspace_names_the_one_around(tmp_path: Path) -> None:
    (tmp_path / "outer" / "memory").mkdir(parents=True)
    (tmp_path / "outer" / "MEMORY.md").touch()
    inner = tmp_path / "outer" / "memory"
    found = by_check(checks.folder(present(str(inner))))["workspace.folder"]
    assert (found.state, f"lies in the workspace {tmp_path / 'outer'}" in found.told) == ("wrong", True)


def test_none_at_all(nobody: Path) -> None:
    found = by_check(checks.folder(present(None)))["workspace.folder"]
    assert (found.state, found.remedy) == ("warning", "commonplace init")
    assert list(checks.tree(present(None))) == []


def test_nothing_can_be_written(case: Present, indexed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    may = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and may(path, mode))
    found = by_check(checks.folder(case()))["workspace.writable"]
    assert found.state == "warning"
    assert str(indexed) in found.told
    assert found.remedy.startswith("chmod u+w ")
    status = os.statvfs(indexed)
    readonly = os.statvfs_result([*status[:8], status.f_flag | os.ST_RDONLY, status[9]])
    monkeypatch.setattr(os, "statvfs", lambda path: readonly)
    found = by_check(checks.folder(case()))["workspace.writable"]
    assert found.remedy.startswith("mount it so that it can be written to"), "no mode helps there"
    assert isinstance(found.remedy, Message)
    assert found.remedy.code == "unless_meant.remedy", "no command"


@pytest.mark.skipif(AS_ROOT, reason="nothing is closed to root")
def test_a_closed_workspace(case: Present, workspace: Path) -> None:
    workspace.chmod(0)
    try:
        assert states(checks.folder(case()))["workspace.folder"] == "wrong"
    finally:
        workspace.chmod(0o755)


def test_links(case: Present, workspace: Path, tmp_path: Path) -> None:
    memory = workspace / "memory"
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "note.md").write_text("out\n")
    (memory / "inside.md").symlink_to(memory / "2026-02-13.md")
    (memory / "picture.png").symlink_to(tmp_path / "out" / "note.md")
    assert states(checks.tree(case())) == {"workspace.folders": "ok"}
    (memory / "folder").symlink_to(tmp_path / "out")
    (memory / "note.md").symlink_to(tmp_path / "out" / "note.md")
    (memory / "nowhere.md").symlink_to(tmp_path / "none.md")
    found = by_check(checks.tree(case()))["workspace.links"]
    assert found.state == "warning"
    assert all(str(memory / name) in found.told for name in ("folder", "note.md", "nowhere.md"))


def test_a_closed_folder(case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = workspace / "memory" / "closed"
    closed.mkdir()
    listing = os.scandir

    def denied(path: str) -> object:
        if str(path) == str(closed):
            raise PermissionError(13, "Permission denied", str(path))
        return listing(path)

    monkeypatch.setattr(os, "scandir", denied)
    found = by_check(checks.tree(case()))["workspace.folders"]
    assert (found.state, found.remedy) == ("wrong", f"chmod u+rx {closed}")


def test_a_collection_whose_folder_is_gone(case: Present, workspace: Path) -> None:
    (workspace / "docs").mkdir()
    add_collection(workspace, "docs", str(workspace / "docs"))
    (workspace / "docs").rmdir()
    found = by_check(checks.tree(case()))["workspace.collections"]
    assert found.state == "warning"
    assert f"docs ({workspace / 'docs'})" in found.told


def test_a_tree_too_large_to_walk(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "WALK_S", -1.0)
    assert states(checks.tree(case())) == {"workspace.folders": "skipped"}


def test_a_folder_of_notes_that_leads_out_is_wrong(case: Present, tmp_path: Path) -> None:
    given = case()
    assert given.workspace is not None
    outside = tmp_path / "outside"
    outside.mkdir()
    memory = given.workspace.memory_dir
    if memory.exists():
        memory.rename(tmp_path / "moved")
    memory.symlink_to(outside)
    told = by_check(checks.folder(given))["workspace.leading_out"]
    assert told.state == "wrong"
    assert told.told == f"{memory} is a link that leaves the workspace: nothing is written through it"
    assert told.remedy == f"rm {memory} && commonplace collection add linked {outside}, which searches it"
