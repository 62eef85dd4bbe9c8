"""Databases opened without a trace: with and without a log, damaged, being written."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import apsw
import pytest

from commonplace.base import snapshot
from commonplace.base.errors import NoteUnreadable
from commonplace.index.sqlite import schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A database in WAL mode with a full-text table, closed."""
    path = tmp_path / "index.sqlite"
    connection = schema.connect(str(path))
    schema.create(connection, {"schema": "x"})
    rows = [(n, f"walnut desk number {n} " * 20) for n in range(1, 400)]
    connection.executemany("INSERT INTO passages_fts(rowid, body) VALUES(?, ?)", rows)
    connection.executemany(
        "INSERT INTO vectors(key, vector) VALUES(?, ?)", [(f"{n}", b"x" * 300) for n, _ in rows]
    )
    connection.close()
    return path


@pytest.fixture
def writer(path: Path) -> Iterator[apsw.Connection]:
    """Another connection, whose changes are in the log."""
    connection = schema.connect(str(path))
    connection.execute("INSERT INTO meta VALUES('late', 'yes')")
    yield connection
    connection.close()


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    return {
        entry.name: (entry.stat().st_mtime_ns, entry.stat().st_ino, Path(entry.path).read_bytes())
        for entry in os.scandir(folder)
    }


def meta(path: Path) -> dict[str, str]:
    with snapshot.standing(path) as copy:
        connection = schema.connect(copy, readonly=True)
        try:
            return schema.read_meta(connection)
        finally:
            connection.close()


def test_a_file_without_a_log_is_read_where_it_is(path: Path) -> None:
    before = tree(path.parent)
    with snapshot.standing(path) as copy:
        assert copy == str(path)
    assert meta(path) == {"schema": "x"}
    assert tree(path.parent) == before


def test_what_is_in_the_log_is_seen_and_nothing_is_touched(path: Path, writer: apsw.Connection) -> None:
    before = tree(path.parent)
    assert "index.sqlite-wal" in before
    assert meta(path) == {"schema": "x", "late": "yes"}
    assert tree(path.parent) == before
    with snapshot.standing(path) as copy:
        assert copy != str(path)
    assert not os.path.exists(copy)


def test_an_open_transaction_of_a_journal_is_not_seen_and_nothing_is_touched(tmp_path: Path) -> None:
    path = tmp_path / "theirs.db"
    writing = apsw.Connection(str(path))
    writing.execute("CREATE TABLE t(x); INSERT INTO t VALUES('before')")
    writing.execute("PRAGMA cache_size = 1; BEGIN; UPDATE t SET x = 'during'")
    writing.execute("INSERT INTO t SELECT randomblob(20000) FROM (VALUES (1), (2), (3), (4))")  # spills
    died = tmp_path / "died"
    shutil.copytree(tmp_path, died, ignore=lambda *_: ["died"])  # as a killed writer leaves it
    writing.close()
    before = tree(died)
    assert before.keys() == {"theirs.db", "theirs.db-journal"}
    with snapshot.standing(died / "theirs.db") as copy:
        connection = apsw.Connection(
            f"file:{copy}?immutable=1", flags=apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
        )
        assert connection.execute("SELECT x FROM t").fetchall() == [("before",)]
        connection.close()
    assert tree(died) == before


def test_a_file_that_changes_all_the_time(
    path: Path, writer: apsw.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    counter = iter(range(1000))
    monkeypatch.setattr(snapshot, "marks", lambda path: next(counter))
    with pytest.raises(NoteUnreadable) as caught, snapshot.standing(path):
        pass
    assert caught.value.reason == snapshot.BUSY


def checked(path: Path) -> list[str] | None:
    connection = schema.connect(str(path), readonly=True)
    try:
        return snapshot.check(connection)
    finally:
        connection.close()


def test_a_damaged_page_is_found(path: Path) -> None:
    with open(path, "r+b") as file:
        file.seek(path.stat().st_size - 4096)
        file.write(os.urandom(4096))
    assert checked(path)


def test_damaged_full_text_is_found_by_its_own_check(path: Path) -> None:
    connection = apsw.Connection(str(path))
    connection.execute("UPDATE passages_fts_data SET block = zeroblob(20) WHERE id > 10")
    connection.close()
    found = checked(path)
    assert found
    assert "fts5" in found[0]


def test_a_check_ends_when_its_time_is_over(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "CHECK_S", -1.0)
    monkeypatch.setattr(snapshot, "_STEPS", 1)
    assert checked(path) is None
