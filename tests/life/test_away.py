"""A folder that is not there for a while: what was read of it stays, and every answer says so."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.life.conftest import LONG_AGO, Owner

NOTES = {
    "boat.md": "# Boat\n\nThe kite engine takes three litres of oil.\n",
    "deep/sails.md": "# Sails\n\nThe kite sails are red.\n",
}


def fill(folder: Path, notes: dict[str, str] = NOTES) -> Path:
    """Write files into a folder, changed long ago."""
    for name, text in notes.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        os.utime(file, (LONG_AGO, LONG_AGO))
    return folder


def nothing(folder: Path) -> None:
    """Leave the place of the folder as it is."""


def mounted_nowhere(folder: Path) -> None:
    folder.mkdir()


def hidden_file(folder: Path) -> None:
    folder.mkdir()
    (folder / ".stfolder").touch()


def empty_folders(folder: Path) -> None:
    (folder / "deep" / "deeper").mkdir(parents=True)


def link_to_nothing(folder: Path) -> None:
    folder.symlink_to(folder.parent / "unplugged")


def a_file(folder: Path) -> None:
    folder.write_text("not mounted\n")


def settings_of_obsidian(folder: Path) -> None:
    fill(folder, {".obsidian/app.json": "{}", ".obsidian/plugins/x/main.js": "1"})


def settings_of_a_sync_program(folder: Path) -> None:
    fill(folder, {".stfolder/marker.txt": "1", ".stversions/boat~1.md": "# Boat\n"})


def a_picture(folder: Path) -> None:
    fill(folder, {"boat.png": "PNG"})


def other_files(folder: Path) -> None:
    fill(folder, {"deep/sails.pdf": "PDF", "desktop.ini": "[x]", "readme.txt": "not mounted"})


def ignored_folder(folder: Path) -> None:
    fill(folder, {"node_modules/x/readme.md": "# X\n"})


STANDS = [
    nothing, mounted_nowhere, hidden_file, empty_folders, link_to_nothing, a_file, settings_of_obsidian,
    settings_of_a_sync_program, a_picture, other_files, ignored_folder,
]  # fmt: skip


@pytest.mark.parametrize("stand_in", STANDS)
@pytest.mark.parametrize("globs", [("**/*.md",), ("*.md", "deep/*.md")])
def test_what_was_read_of_a_folder_stays_while_it_is_away(
    owner: Owner, tmp_path: Path, stand_in: Callable[[Path], None], globs: tuple[str, ...]
) -> None:
    disk = fill(tmp_path / "disk")
    patterns = [part for glob in globs for part in ("--glob", glob)]
    owner.ok("collection", "add", disk, "--name", "disk", *patterns)
    memory = owner.memory()
    assert memory.sync().added == 3
    shutil.move(disk, tmp_path / "elsewhere")
    stand_in(disk)

    for _ in range(2):  # a question, and the sync after it
        found = memory.search("kite")
        assert {hit.path for hit in found.hits} == {"disk/boat.md", "disk/deep/sails.md"}
        assert sum("disk" in line and "2 notes" in line for line in found.warnings) == 1
        assert found.stale == 0
        state = memory.status()
        assert (state.stale, state.notes) == (0, 3)
        assert sum("disk" in line and "2 notes" in line for line in state.warnings) == 1
        report = memory.sync()
        assert (report.removed, report.unchanged) == (0, 3)
        assert sum("disk" in line and "2 notes" in line for line in report.warnings) == 1

    if disk.is_dir():
        shutil.rmtree(disk)
    elif os.path.lexists(disk):
        disk.unlink()
    shutil.move(tmp_path / "elsewhere", disk)
    (disk / "boat.md").unlink()  # now it is there, and somebody has deleted a note
    found = memory.search("kite")
    assert {hit.path for hit in found.hits} == {"disk/deep/sails.md"}
    assert not found.warnings


def test_the_owner_says_that_an_empty_folder_is_meant(owner: Owner, tmp_path: Path) -> None:
    disk = fill(tmp_path / "disk")
    owner.ok("collection", "add", disk, "--name", "disk")
    owner.ok("sync")
    shutil.rmtree(disk)
    disk.mkdir()
    said = owner.run("status").err
    assert "`commonplace sync --drop-missing disk`" in said, said
    assert "2 removed" in owner.ok("sync", "--drop-missing", "disk")
    done = owner.run("search", "kite")
    assert (done.code, "disk" in done.err) == (3, False), done
    assert "disk is empty" not in owner.run("status").err


def test_a_missing_folder_names_the_command_that_removes_it(owner: Owner, tmp_path: Path) -> None:
    disk = fill(tmp_path / "disk")
    owner.ok("collection", "add", disk, "--name", "disk")
    owner.ok("sync")
    shutil.rmtree(disk)
    assert "`commonplace collection remove disk`" in owner.run("search", "kite").err
    owner.ok("collection", "remove", "disk")
    assert owner.run("search", "kite").code == 3


def test_the_notes_of_the_workspace_stay_while_their_folder_is_away(owner: Owner, tmp_path: Path) -> None:
    fill(owner.folder / "memory")
    memory = owner.memory()
    memory.sync()
    shutil.move(owner.folder / "memory", tmp_path / "elsewhere")
    found = memory.search("kite")
    assert len(found.hits) == 2
    assert any("memory is missing" in line for line in found.warnings)
    assert memory.sync(drop_missing=["memory"]).removed == 2
    assert not memory.search("kite").hits


def test_a_note_that_was_deleted_is_gone(owner: Owner, tmp_path: Path) -> None:
    disk = fill(tmp_path / "disk")
    owner.ok("collection", "add", disk, "--name", "disk")
    memory = owner.memory()
    memory.sync()
    (disk / "boat.md").unlink()
    found = memory.search("oil kite")
    assert [hit.path for hit in found.hits] == ["disk/deep/sails.md"]
    (disk / "deep" / "sails.md").unlink()
    (disk / "sails.png").write_text("PNG")
    assert not memory.search("kite").hits, "the last note of the same folder"


@pytest.mark.parametrize("stand_in", [settings_of_obsidian, a_picture])
def test_the_last_notes_go_when_their_owner_says_so(
    owner: Owner, tmp_path: Path, stand_in: Callable[[Path], None]
) -> None:
    disk = fill(tmp_path / "disk")
    stand_in(disk)
    owner.ok("collection", "add", disk, "--name", "disk")
    memory = owner.memory()
    memory.sync()
    (disk / "boat.md").unlink()
    (disk / "deep" / "sails.md").unlink()
    assert any(
        "`--drop-missing" in one or "drop_missing=['disk']" in one for one in memory.search("kite").warnings
    )
    assert memory.sync(drop_missing=["disk"]).removed == 2
    assert not memory.search("kite").hits
    assert not memory.status().warnings


def test_an_agent_reads_that_a_folder_is_away(owner: Owner, tmp_path: Path) -> None:
    disk = fill(tmp_path / "disk")
    owner.ok("collection", "add", disk, "--name", "disk")
    owner.ok("sync")
    shutil.move(disk, tmp_path / "elsewhere")
    mcp = owner.mcp()
    for tool, arguments in (("memory_search", {"query": "kite engine oil"}), ("memory_status", {})):
        assert "disk is missing" in mcp.call(tool, **arguments), tool


def test_a_single_note_that_is_gone_was_deleted(owner: Owner, tmp_path: Path) -> None:
    disk = fill(tmp_path / "disk", {"boat.md": NOTES["boat.md"]})
    owner.ok("collection", "add", disk, "--name", "disk")
    memory = owner.memory()
    memory.sync()
    (disk / "boat.md").unlink()
    for _ in range(2):
        assert not memory.search("kite").hits
        assert memory.sync().removed == 0
