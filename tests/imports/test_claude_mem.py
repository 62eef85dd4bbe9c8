"""claude-mem's database, its tables as version 13.25 leaves them after all its migrations."""

from __future__ import annotations

import random
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from commonplace.base.errors import NoteUnreadable
from commonplace.imports import claude_mem
from commonplace.memory import Memory
from commonplace.types import Fact, FileFailure, Selection
from tests.imports.conftest import Bring, written

SCHEMA = """
CREATE TABLE sdk_sessions (
  id INTEGER PRIMARY KEY AUTOINCREMENT, content_session_id TEXT NOT NULL, memory_session_id TEXT UNIQUE,
  project TEXT NOT NULL, platform_source TEXT NOT NULL DEFAULT 'claude', user_prompt TEXT,
  started_at TEXT NOT NULL, started_at_epoch INTEGER NOT NULL);
CREATE TABLE observations (
  id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, text TEXT,
  type TEXT NOT NULL, title TEXT, subtitle TEXT, facts TEXT, narrative TEXT, concepts TEXT, files_read TEXT,
  files_modified TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL,
  discovery_tokens INTEGER DEFAULT 0, content_hash TEXT, metadata TEXT,
  FOREIGN KEY(memory_session_id) REFERENCES sdk_sessions(memory_session_id));
CREATE TABLE session_summaries (
  id INTEGER PRIMARY KEY AUTOINCREMENT, memory_session_id TEXT NOT NULL, project TEXT NOT NULL, request TEXT,
  investigated TEXT, learned TEXT, completed TEXT, next_steps TEXT, files_read TEXT, files_edited TEXT,
  notes TEXT, prompt_number INTEGER, created_at TEXT NOT NULL, created_at_epoch INTEGER NOT NULL);
CREATE TABLE user_prompts (
  id INTEGER PRIMARY KEY AUTOINCREMENT, session_db_id INTEGER, content_session_id TEXT NOT NULL,
  prompt_number INTEGER NOT NULL, prompt_text TEXT NOT NULL, created_at TEXT NOT NULL,
  created_at_epoch INTEGER NOT NULL);
CREATE VIRTUAL TABLE user_prompts_fts USING fts5(prompt_text, content='user_prompts', content_rowid='id');
CREATE TRIGGER user_prompts_ai AFTER INSERT ON user_prompts BEGIN
  INSERT INTO user_prompts_fts(rowid, prompt_text) VALUES (new.id, new.prompt_text); END;
"""
AT = 1741083725000  # 2025-03-04 10:22:05 UTC


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / ".claude-mem" / "claude-mem.db"
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(SCHEMA)
    observe(path, "The pool leaks", '["max_connections is 20", "password = hunter2secret99x"]')
    run(
        path, "INSERT INTO session_summaries(memory_session_id, project, request, learned, created_at,"
        " created_at_epoch) VALUES ('mem-1', 'kestrel', 'Fix the leak', 'close() was missing', '', ?)", AT + 60_000
    )  # fmt: skip
    run(
        path, "INSERT INTO user_prompts(content_session_id, prompt_number, prompt_text, created_at,"
        " created_at_epoch) VALUES ('c-1', 1, 'Fix the leak <private>for Anna</private> please', '', ?)", AT
    )  # fmt: skip
    return path


def run(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


def observe(path: Path, title: str, facts: str = "[]", at: int = AT) -> None:
    run(
        path, "INSERT INTO observations(memory_session_id, project, type, title, narrative, facts, concepts,"
        " files_modified, created_at, created_at_epoch) VALUES ('mem-1', 'kestrel', 'discovery', ?,"
        " 'Every request takes a connection.', ?, '[\"gotcha\"]', '[\"src/pool.py\"]', '', ?)", title, facts, at
    )  # fmt: skip


def test_entries_stand_in_the_note_of_their_day_with_who_wrote_them(
    root: Path, database: Path, bring: Bring
) -> None:
    done = bring(database.parent)
    assert [(file.path, file.outcome, file.added) for file in done.files] == [
        ("memory/2025-03-04-claude-mem.md", "new", 3)
    ]
    assert done.redacted == ("password",)
    note = written(root)["memory/2025-03-04-claude-mem.md"]
    assert (
        "- 10:22 discovery: The pool leaks: Every request takes a connection. <!-- project: kestrel -->"
        in note
    )
    assert "<!-- by: agent; agent: claude-mem; session: mem-1; at: 2025-03-04T10:22:05 -->" in note
    assert "  - max_connections is 20\n" in note
    assert "hunter2" not in note
    assert "Anna" not in note
    assert "<!-- by: owner; agent: claude-mem" in note
    with Memory.open(root) as memory:
        memory.sync()
        hits = memory.search("agent:claude-mem project:kestrel pool leaks").hits
        assert hits[0].date == "2025-03-04"


def test_new_entries_join_their_day_and_none_is_doubled(root: Path, database: Path, bring: Bring) -> None:
    bring(database)
    observe(database, "The pool is mended", at=AT + 120_000)
    (file,) = bring(database).files
    assert (file.outcome, file.added) == ("changed", 1)
    note = written(root)["memory/2025-03-04-claude-mem.md"]
    assert note.count("The pool leaks") == 1
    assert note.index("The pool leaks") < note.index("The pool is mended") < note.index("## Summaries")
    assert bring(database).run == ""


def test_an_edited_day_gets_what_is_new_and_keeps_the_rest(root: Path, database: Path, bring: Bring) -> None:
    bring(database)
    path = root / "memory" / "2025-03-04-claude-mem.md"
    path.write_text(path.read_text().replace("The pool leaks", "~~The pool leaks~~"))
    observe(database, "The pool is mended", at=AT + 120_000)
    run(database, "UPDATE observations SET title = 'The pool drips' WHERE id = 1")
    (file,) = bring(database).files
    assert (file.outcome, file.added, file.differs) == ("edited", 1, 1)
    note = path.read_text()
    assert "~~The pool leaks~~" in note
    assert note.count("The pool is mended") == 1
    assert "drips" not in note
    assert bring(database).files[0].outcome == "same"


def test_a_day_that_was_rolled_up_gets_only_what_is_new(root: Path, database: Path, bring: Bring) -> None:
    bring(database)
    path = root / "memory" / "2025-03-04-claude-mem.md"
    path.unlink()
    observe(database, "The pool is mended", at=AT + 120_000)
    bring(database)
    assert "leaks" not in path.read_text()
    assert "The pool is mended" in path.read_text()
    run(database, "UPDATE observations SET title = 'The pool drips' WHERE id = 1")
    bring(database)
    assert "drips" not in path.read_text()
    path.unlink()
    observe(database, "The pool is dry", at=AT + 180_000)
    bring(database)
    assert [line for line in path.read_text().splitlines() if "discovery: " in line][1:] == []
    assert "dry" in path.read_text()


def test_an_entry_that_is_gone_there_goes_here_too(root: Path, database: Path, bring: Bring) -> None:
    bring(database)
    run(database, "DELETE FROM observations")
    observe(database, "Something else", at=AT + 5_000)
    bring(database)
    note = written(root)["memory/2025-03-04-claude-mem.md"]
    assert "The pool leaks" not in note
    assert "Something else" in note


def test_views_are_not_run_and_the_other_tables_are_read(tmp_path: Path) -> None:
    path = tmp_path / "claude-mem.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            "CREATE TABLE t(id INTEGER PRIMARY KEY, prompt_text TEXT, created_at TEXT);"
            "CREATE VIEW observations AS WITH RECURSIVE n(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM n)"
            " SELECT id, 'x' AS title FROM n;"
            "CREATE TABLE user_prompts(id INTEGER PRIMARY KEY, prompt_text TEXT, created_at TEXT);"
            "INSERT INTO user_prompts VALUES (1, 'Hello', '2025-03-04T10:00:00Z')"
        )
    parts = list(claude_mem.read(path))
    assert [type(part).__name__ for part in parts] == ["FileFailure", "Fact"]
    assert isinstance(parts[0], FileFailure)
    assert "observations" in parts[0].path


@pytest.mark.parametrize("data", [b"", b"SQLite format 3\0" + b"\0" * 4000, b"no database at all"])
def test_what_is_no_database_is_one_error(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "claude-mem.db"
    path.write_bytes(data)
    try:
        parts = list(claude_mem.read(path))
    except NoteUnreadable:
        return
    assert all(isinstance(part, FileFailure) for part in parts)


def test_a_journey_is_no_change(
    root: Path, database: Path, bring: Bring, monkeypatch: pytest.MonkeyPatch
) -> None:
    bring(database)
    before = written(root)
    monkeypatch.setenv("TZ", "Pacific/Auckland")
    time.tzset()
    assert bring(database).run == ""
    assert written(root) == before


def test_two_databases_that_count_from_one_are_two_sources(
    root: Path, database: Path, bring: Bring, tmp_path: Path
) -> None:
    bring(database)
    other = tmp_path / "laptop" / "claude-mem.db"
    other.parent.mkdir()
    connection = sqlite3.connect(other)
    connection.executescript(SCHEMA)
    connection.close()
    observe(other, "The kettle leaks", at=AT + 7_000)
    bring(other)
    note = written(root)["memory/2025-03-04-claude-mem.md"]
    assert "The pool leaks" in note
    assert "The kettle leaks" in note
    assert bring(database).run == bring(other).run == ""


def test_what_is_forgotten_here_does_not_come_back(root: Path, database: Path, bring: Bring) -> None:
    bring(database)
    with Memory.open(root) as memory:
        done = memory.forget(Selection("text", "The pool leaks"))
    assert done.complete
    assert "leaks" not in "".join(written(root).values())
    observe(database, "Something else", at=AT + 5_000)
    bring(database)
    notes = "".join(written(root).values())
    assert "The pool leaks" not in notes
    assert "Something else" in notes


@pytest.mark.parametrize("state", ["closed", "log", "open", "journal", "stale", "empty"])
def test_nothing_in_its_folder_is_touched(
    root: Path, database: Path, bring: Bring, tmp_path: Path, state: str
) -> None:
    writing = sqlite3.connect(database)
    if state in ("log", "open"):
        writing.execute("PRAGMA journal_mode = wal")
        writing.execute("UPDATE observations SET title = 'The pool drips'")
        writing.commit()
    if state == "journal":
        writing.execute("PRAGMA cache_size = 1")
        writing.execute("UPDATE observations SET title = 'The pool bursts'")
        writing.execute("INSERT INTO user_prompts SELECT 9, 1, 'c', 1, hex(randomblob(40000)), '', 1")
    if state != "open":  # as a killed writer leaves it
        left = tmp_path / "left" / ".claude-mem"
        shutil.copytree(database.parent, left, ignore=lambda *_: ["claude-mem.db-shm"])
        writing.close()
        shutil.rmtree(database.parent)
        left.rename(database.parent)
    journal = Path(f"{database}-journal")
    assert journal.exists() == (state == "journal")
    if state == "stale":  # of another file, with the name of a super-journal at its end
        journal.write_bytes(b"\0" * 512 + b"/elsewhere\0\0\0\x0a\0\0\0\0" + bytes.fromhex("d9d505f920a163d7"))
    if state == "empty":
        journal.touch()
    before = tree(database.parent)
    bring(database.parent)
    assert tree(database.parent) == before
    writing.close()
    note = written(root)["memory/2025-03-04-claude-mem.md"]
    assert ("The pool drips" if state in ("log", "open") else "The pool leaks") in note


def tree(folder: Path) -> dict[str, tuple[int, int, bytes]]:
    """Every file of a folder and the folder itself, with time, inode and bytes."""
    places = [folder, *folder.iterdir()]
    return {
        place.name: (
            place.stat().st_mtime_ns,
            place.stat().st_ino,
            place.read_bytes() if place.is_file() else b"",
        )
        for place in places
    }


def test_a_database_that_is_written_meanwhile_is_not_imported(database: Path) -> None:
    parts = claude_mem.read(database)
    next(parts)
    observe(database, "The pool is mended")
    with pytest.raises(NoteUnreadable, match="being written now; try again"):
        list(parts)


def test_of_a_damaged_database_nobody_says_that_it_may_be_deleted(database: Path) -> None:
    connection = sqlite3.connect(database)
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    where = "SELECT rootpage FROM sqlite_schema WHERE name = 'session_summaries'"
    (root,) = connection.execute(where).fetchone()
    connection.close()
    data = bytearray(database.read_bytes())
    data[(root - 1) * size : root * size] = b"\xff" * size
    database.write_bytes(data)
    parts = list(claude_mem.read(database))
    (failure,) = [part for part in parts if isinstance(part, FileFailure)]
    assert failure.path == f"{database} (session_summaries)"
    database.write_bytes(b"SQLite format 3\0" + random.Random(7).randbytes(5000))
    with pytest.raises(NoteUnreadable) as caught:
        list(claude_mem.read(database))
    for reason in (failure.reason, caught.value.reason):
        assert reason.startswith("is damaged, so not all of it can be read; nothing of it was changed")
        assert "delete" not in reason
    assert len(database.read_bytes()) == 5016


def test_nothing_of_a_row_is_lost_in_silence(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(database, "UPDATE observations SET title = '', narrative = '', type = '', facts = '[\"a fact\"]'")
    (observation, *_) = claude_mem.read(database)
    assert isinstance(observation, Fact)
    assert "- a fact" in observation.text
    monkeypatch.setattr(claude_mem, "_LONGEST", 100)
    run(database, "UPDATE user_prompts SET prompt_text = ?", "x" * 101)
    *_, prompt, cut = claude_mem.read(database)
    assert isinstance(prompt, Fact)
    assert isinstance(cut, FileFailure)
    assert "user_prompts, number 1" in cut.path
