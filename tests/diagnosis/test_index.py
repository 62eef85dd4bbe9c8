"""The index: fine, missing, damaged, foreign, elsewhere, behind the notes; and never touched."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest

from commonplace.base import snapshot
from commonplace.base.locks import locked
from commonplace.base.paths import Workspace, lock_file
from commonplace.config import user_file
from commonplace.diagnosis import index
from commonplace.memory import Memory
from commonplace.types import Finding
from tests.diagnosis.conftest import Present, by_check, states

Change = Callable[..., None]


@pytest.fixture
def path(indexed: Path) -> Path:
    return Workspace(indexed).index


@pytest.fixture
def change(path: Path) -> Change:
    """Run statements on the index."""

    def run(*statements: str) -> None:
        connection = apsw.Connection(str(path))
        for statement in statements:
            connection.execute(statement).fetchall()
        connection.close()

    return run


def found(case: Present) -> dict[str, Finding]:
    return by_check(index.examine(case()))


def wrong(case: Present) -> dict[str, str]:
    """The states of what is not fine, which is all that is told."""
    return states(index.examine(case()))


def test_an_index_that_is_fine(case: Present, path: Path) -> None:
    assert wrong(case) == {}


def test_no_index_yet(case: Present) -> None:
    one = found(case)["index.file"]
    assert (one.state, one.remedy) == ("warning", "commonplace sync")


def test_no_workspace(case: Present, workspace: Path) -> None:
    shutil.rmtree(workspace)
    assert wrong(case) == {}


@pytest.mark.parametrize("data", [b"no database at all, " * 500, b"SQLite format 3\0" + os.urandom(9000)])
def test_a_file_that_is_no_database(case: Present, indexed: Path, path: Path, data: bytes) -> None:
    path.write_bytes(data)
    assert wrong(case) == {"index.file": "wrong"}
    assert found(case)["index.file"].remedy.startswith(f"delete {path}*")
    with Memory.open(indexed) as memory:
        memory.sync()  # which is what the remedy says
    assert wrong(case) == {}


def test_an_empty_file(case: Present, path: Path) -> None:
    path.write_bytes(b"")
    assert wrong(case) == {"index.file": "warning"}


def test_an_index_that_cannot_be_read(case: Present, path: Path) -> None:
    path.unlink()
    path.mkdir()
    assert wrong(case) == {"index.file": "wrong"}


def test_a_damaged_page(case: Present, path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size - 4096 * 3)
        file.write(os.urandom(4096 * 3))
    one = found(case)["index.file"]
    assert (one.state, "is damaged" in one.told) == ("wrong", True)
    assert str(path) in one.remedy
    assert wrong(case) == {"index.file": "wrong"}  # of a damaged file nothing more is asked


def test_damage_that_the_check_had_no_time_for(
    case: Present, change: Change, monkeypatch: pytest.MonkeyPatch
) -> None:
    change("DROP TABLE passages_fts_docsize")
    monkeypatch.setattr(snapshot, "check", lambda connection: None)
    one = found(case)["index.rows"]
    assert (one.state, one.told[:26]) == ("wrong", "the index does not answer ")


def test_an_index_from_elsewhere(case: Present, change: Change) -> None:
    change("DROP TABLE meta", "CREATE TABLE others(x)")
    assert wrong(case) == {"index.file": "wrong"}


def test_another_version(case: Present, change: Change) -> None:
    change("UPDATE meta SET value = 'other' WHERE key = 'chunking'")
    assert wrong(case) == {"index.identity": "warning"}
    assert "chunking changed" in found(case)["index.identity"].told


def test_of_another_schema_nothing_more_is_asked(case: Present, change: Change) -> None:
    change("UPDATE meta SET value = 'other' WHERE key = 'schema'", "DROP TABLE vectors")
    assert wrong(case) == {"index.identity": "warning"}


@pytest.mark.parametrize(
    ("statement", "told"),
    [
        ("DELETE FROM notes WHERE id = 1", "belong to no note"),
        ("DELETE FROM passages WHERE id = 1", "lack passages"),
        ("DELETE FROM passages_fts WHERE rowid = 1", "missing from the full text"),
        ("DELETE FROM vectors", "have a vector that is missing"),
    ],
)
def test_tables_that_do_not_agree(case: Present, change: Change, statement: str, told: str) -> None:
    change(statement)
    one = found(case)["index.rows"]
    assert one.state == "wrong"
    assert told in one.told


def test_passages_without_a_vector(case: Present, change: Change) -> None:
    change("UPDATE passages SET vector_id = NULL WHERE id = 1")
    one = found(case)["index.vectors"]
    assert (one.state, one.told) == ("warning", "1 of 2 passages have no vector")


def test_vectors_of_another_model(case: Present, change: Change) -> None:
    change("UPDATE meta SET value = 'other' WHERE key = 'model'")
    assert wrong(case) == {"index.model": "warning"}


def test_no_vectors_are_wanted(case: Present, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    assert wrong(case) == {}


def test_files_that_changed(case: Present, indexed: Path) -> None:
    os.utime(indexed / "MEMORY.md", (1_780_000_000, 1_780_000_000))
    assert wrong(case) == {}  # touched, not changed
    (indexed / "MEMORY.md").write_text("# Memory\n\nOther.\n")
    (indexed / "memory" / "new.md").write_text("new\n")
    (indexed / "memory" / "2026-02-13.md").unlink()
    one = found(case)["index.fresh"]
    assert (one.state, one.told) == ("warning", "3 files changed since the last sync (1 new, 1 gone)")


def test_most_of_the_text_in_another_script(case: Present, indexed: Path) -> None:
    (indexed / "MEMORY.md").write_text(
        "# メモ\n\n## けんこう\n\nひざをいためた。\n\n## デプロイ\n\n金曜の午後はデプロイしない。\n"
    )
    with Memory.open(indexed) as memory:
        memory.sync()
    one = found(case)["index.scripts"]
    assert (one.state, one.remedy) == ("warning", "commonplace models use fastembed")
    assert "67% of the passages" in one.told


def test_what_a_writer_has_in_its_log_counts(case: Present, path: Path) -> None:
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA journal_mode=wal").fetchall()
    writer.execute("UPDATE passages SET vector_id = NULL")
    before = {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(path.parent)}
    assert wrong(case)["index.vectors"] == "warning"
    assert {entry.name: entry.stat().st_mtime_ns for entry in os.scandir(path.parent)} == before
    writer.close()


def test_an_index_that_is_locked_is_examined_all_the_same(case: Present, path: Path) -> None:
    holder = apsw.Connection(str(path))
    holder.execute("PRAGMA locking_mode=exclusive").fetchall()
    holder.execute("BEGIN EXCLUSIVE")
    assert wrong(case) == {}
    holder.close()


def test_an_index_that_is_never_left_alone(
    case: Present, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = apsw.Connection(str(path))
    writer.execute("PRAGMA journal_mode=wal").fetchall()
    writer.execute("UPDATE passages SET vector_id = NULL")
    monkeypatch.setattr(snapshot, "LARGEST", 1000)
    assert wrong(case) == {"index.file": "skipped"}
    writer.close()


def test_what_was_written_meanwhile_is_not_called_damaged(
    case: Present, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size - 4096 * 3)
        file.write(os.urandom(4096 * 3))
    counter = iter(range(1000))
    monkeypatch.setattr(snapshot, "marks", lambda path: next(counter))
    assert wrong(case) == {"index.file": "skipped"}


def test_a_model_that_cannot_be_made_is_left_to_its_own_check(
    case: Present, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user_file().parent.mkdir(parents=True, exist_ok=True)
    user_file().write_text("[embedding]\nkey = '/nowhere/key'\n")
    assert index.active_model(case()) is None
    assert "index.model" not in found(case)


def test_while_a_sync_runs_no_other_is_advised(case: Present, change: Change, indexed: Path) -> None:
    change("UPDATE passages SET vector_id = NULL", "DELETE FROM vectors")
    (indexed / "memory" / "new.md").write_text("# New\n")
    assert {found(case)[name].remedy for name in ("index.vectors", "index.fresh")} == {index.SYNC}
    with locked(lock_file(Workspace(indexed), "sync")):
        one = found(case)
    assert "a sync is running" in one["index.vectors"].remedy
    assert "a sync is running" in one["index.fresh"].remedy
