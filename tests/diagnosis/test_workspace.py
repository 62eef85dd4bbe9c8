"""The workspace: missing, read-only, folders closed, links that leave; notes unreadable, and with secrets."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from commonplace.base.messages import Message
from commonplace.config import add_collection
from commonplace.diagnosis import workspace as checks
from commonplace.diagnosis.examination import present
from commonplace.notes.scan import FileState
from tests.diagnosis.conftest import Present, by_check, states

AS_ROOT = os.geteuid() == 0
SECRET = "ghp_0123456789abcdefghijABCDEFGHIJ012345"


def test_a_workspace_that_is_fine(case: Present, indexed: Path) -> None:
    for check in (checks.folder, checks.folders, checks.collections, checks.text, checks.conflict_copies):
        assert list(check(case())) == []


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
    assert list(checks.folders(present(None))) == []


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
    assert list(checks.folders(case())) == []
    (memory / "folder").symlink_to(tmp_path / "out")
    (memory / "note.md").symlink_to(tmp_path / "out" / "note.md")
    (memory / "nowhere.md").symlink_to(tmp_path / "none.md")
    found = by_check(checks.folders(case()))["workspace.links"]
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
    found = by_check(checks.folders(case()))["workspace.folders"]
    assert (found.state, found.remedy) == ("wrong", f"chmod u+rx {closed}")


def test_a_collection_whose_folder_is_gone(case: Present, workspace: Path) -> None:
    (workspace / "docs").mkdir()
    add_collection(workspace, "docs", str(workspace / "docs"))
    (workspace / "docs").rmdir()
    found = by_check(checks.collections(case()))["workspace.collections"]
    assert found.state == "warning"
    assert f"docs ({workspace / 'docs'})" in found.told


def test_a_tree_too_large_to_walk(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "WALK_S", -1.0)
    assert states(checks.folders(case())) == {"workspace.folders": "skipped"}


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


# --- the notes ------------------------------------------------------------------------------------------


def test_secrets_are_told_by_their_place_alone(case: Present, workspace: Path) -> None:
    with open(workspace / "MEMORY.md", "a") as file:
        file.write(
            f"\n<private>\n- mine: {SECRET}\n</private>\n\n- token {SECRET}\n- more\n- password = hunter2-Kestrel9\n"
        )
    found = by_check(checks.text(case()))["notes.secrets"]
    assert (found.state, found.told) == (
        "warning",
        "2 lines with what looks like a secret: MEMORY.md:11, MEMORY.md:13",
    )
    assert SECRET not in found.told + found.remedy
    assert "hunter2" not in found.told + found.remedy


def test_a_key_of_several_lines_is_told(case: Present, workspace: Path) -> None:
    body = "MIIEpAIBAAKCAQEA0123456789abcdefghij\n" * 3
    (workspace / "memory" / "key.md").write_text(
        f"a\n-----BEGIN RSA PRIVATE KEY-----\n{body}-----END RSA PRIVATE KEY-----\n"
    )
    assert checks.secret_lines((workspace / "memory" / "key.md").read_text())[0] == 2
    assert states(checks.text(case())) == {"notes.secrets": "warning"}


def test_what_was_redacted_is_no_secret() -> None:
    assert checks.secret_lines("- password = [REDACTED:password]\n- token [REDACTED:github-token]\n") == []


def test_unreadable_notes_are_wrong(case: Present, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = FileState("memory", "gone.md", str(workspace / "gone.md"), 1, 1)
    monkeypatch.setattr(checks.scan, "scan", lambda sources: [gone])
    found = by_check(checks.text(case()))["notes.readable"]
    assert (found.state, found.told) == ("wrong", "1 note cannot be read: gone.md")


def test_the_time_is_bounded(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "READ_S", -1.0)
    found = by_check(checks.text(case()))["notes.readable"]
    assert (found.state, found.told) == ("skipped", "0 of 2 notes were read in the -1 s that this may take")


def test_newest_notes_are_read_first(tmp_path: Path) -> None:
    states = []
    for number in range(3):
        path = tmp_path / f"{number}.md"
        path.write_text(SECRET)
        states.append(FileState("memory", path.name, str(path), number, 1))
    assert checks.read(states, 10)[1] == ["2.md:1", "1.md:1", "0.md:1"]
