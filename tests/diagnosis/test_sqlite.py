"""SQLite: what it can do, and where its files lie."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from commonplace.diagnosis import machine
from commonplace.diagnosis.machine import Mount
from commonplace.index.sqlite import vectors
from tests.diagnosis.conftest import Present, by_check, states


def test_all_that_is_needed_works(case: Present) -> None:
    assert states(machine.features(case())) == {
        "sqlite.version": "ok",
        "sqlite.fts5": "ok",
        "sqlite.json": "ok",
    }


def test_a_sqlite_of_the_system_that_is_too_old(case: Present, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    found = by_check(machine.features(case()))["sqlite.version"]
    assert found.state == "wrong"
    assert "older than 3.44" in found.told


@pytest.mark.parametrize("sql", ["CREATE VIRTUAL TABLE t USING no_such_module(x)", "SELECT 2"])
def test_what_does_not_work_is_told(sql: str) -> None:
    found = machine.trial("FTS5", sql, 1)
    assert (found.check, found.state) == ("sqlite.fts5", "wrong")
    assert found.remedy


def test_the_extension_computes(case: Present) -> None:
    assert states(machine.extension(case())) == {"sqlite.extension": "ok"}


def test_an_extension_that_is_missing_or_broken(
    case: Present, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "vec0.so"
    broken.write_bytes(b"\x7fELF" + b"\0" * 60)
    for place, told in ((None, "is not installed"), (str(broken), "cannot be loaded")):
        monkeypatch.setattr(vectors, "extension_path", lambda place=place: place)
        found = by_check(machine.extension(case()))["sqlite.extension"]
        assert found.state == "warning"
        assert told in found.told
        assert "level 1" in found.told


MOUNTS = [
    Mount("/", "ext4"),
    Mount("/home", "nfs4"),
    Mount("/home/me/disk", "ext4"),
    Mount("/home/me/disk", "cifs"),
]


@pytest.mark.parametrize(
    ("folder", "kind"),
    [("/srv/notes", "ext4"), ("/home/you", "nfs4"), ("/homework", "ext4"), ("/home/me/disk/notes", "cifs")],
)
def test_the_innermost_mount_counts_and_of_two_the_later(folder: str, kind: str) -> None:
    assert machine.kind_of(Path(folder), MOUNTS) == kind
    assert machine.kind_of(Path(folder), []) == ""


def test_reading_the_table_of_mounts(tmp_path: Path) -> None:
    table = tmp_path / "mounts"
    table.write_text("server:/export /mnt/my\\040notes nfs4 rw 0 0\nshort line\n\n")
    assert machine.mounts(table) == [Mount("/mnt/my notes", "nfs4")]
    assert machine.mounts(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("kind", "state"), [("nfs4", "warning"), ("fuse.sshfs", "warning"), ("ext4", "ok"), ("", "skipped")]
)
def test_where_the_index_lies(
    case: Present, indexed: Path, monkeypatch: pytest.MonkeyPatch, kind: str, state: str
) -> None:
    monkeypatch.setattr(machine, "mounts", lambda: [Mount("/", kind)] if kind else [])
    assert states(machine.file_system(case())) == {"sqlite.files": state, "sqlite.wal": "ok"}


def test_an_index_that_is_not_in_wal_mode(case: Present, indexed: Path) -> None:
    connection = apsw.Connection(str(indexed / ".commonplace" / "index.sqlite"))
    connection.execute("PRAGMA journal_mode=delete").fetchall()
    connection.close()
    assert states(machine.file_system(case()))["sqlite.wal"] == "warning"


def test_no_workspace_no_file_system(case: Present, workspace: Path) -> None:
    import shutil

    shutil.rmtree(workspace)
    assert list(machine.file_system(case())) == []
