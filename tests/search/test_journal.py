"""The record of use: what is in it and what never is, many at once, and stores that cannot be written."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import apsw
import pytest

from commonplace import Memory
from commonplace.agent import tools
from commonplace.base import paths
from commonplace.base.paths import Workspace
from commonplace.search.journal import Journal
from tests.cli.conftest import environment
from tests.search.conftest import Rows

ASKER = """
import sys
from commonplace import Memory
with Memory.open(sys.argv[1]) as memory:
    for number in range(20):
        assert memory.search("deploy", mode="lexical").hits
"""


def opened(memory: Memory) -> Journal:
    """A view of the record of a memory."""
    return Journal(memory.workspace, memory.settings.usage)


# --- what is kept -----------------------------------------------------------------------------------


def test_a_question_is_kept_with_its_hits(root: Path, rows: Rows) -> None:
    with Memory.open(root, agent="scribe") as memory:
        result = memory.search("deploy", limit=2)
        recall = memory.recall("rain", budget=100)
        memory.get("memory/2026-02-14.md:3")
    asked = rows("SELECT kind, agent, question, hits, tokens, all_tokens, level FROM questions ORDER BY id")
    assert asked == [
        ("search", "scribe", "deploy", 2, result.tokens, result.all_tokens, 2),
        ("recall", "scribe", "rain", 1, recall.tokens, recall.all_tokens, 2),
    ]
    assert rows("SELECT question, rank, collection, path, start_line, end_line, docid, score FROM hits") == [
        (1, rank, "memory", hit.path, hit.start_line, hit.end_line, hit.docid, hit.score)
        for rank, hit in enumerate(result.hits, 1)
    ] + [(2, 1, "memory", "memory/2026-02-14.md", 3, 3, recall.hits[0].docid, recall.hits[0].score)]
    assert rows("SELECT agent, path, start_line, end_line FROM openings") == [
        ("scribe", "memory/2026-02-14.md", 3, 3)
    ]
    ((least, most),) = rows("SELECT min(ms), max(:now - at) FROM questions")
    assert least > 0
    assert 0 <= most < 60


def test_a_question_of_a_tool_is_that_of_who_calls_it(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        for agent in ("scout", "", "ｙｏｕ", "The Owner", "你"):
            tools.call(memory, "memory_search", {"query": "deploy"}, agent=agent)
        tools.call(memory, "memory_get", {"path": "memory/2026-02-14.md"}, agent="scout")
        memory.search("deploy")
    with Memory.open(root, agent="scribe") as memory:
        tools.call(memory, "memory_search", {"query": "deploy"}, agent="scout")
    asked = [agent for (agent,) in rows("SELECT agent FROM questions ORDER BY id")]
    assert asked == ["", "scout", "agent", "agent", "agent", "agent", "", "scribe"]
    assert rows("SELECT agent FROM openings") == [("scout",)]


def test_nothing_is_recorded_where_that_is_not_wanted(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COMMONPLACE_USAGE_RECORD", "false")
    with Memory.open(root) as memory:
        memory.search("deploy")
        memory.recall("deploy")
        assert not memory.usage().recording
    assert not Workspace(root).usage.exists()


def test_nobody_who_only_reads_is_recorded(root: Path) -> None:
    path = paths.user_config_dir() / "config.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'[agents.guest]\nreads = ["{root}"]\nwrites = "none"\n')
    with Memory.open(root, agent="guest") as memory:
        memory.search("deploy")
        memory.get("MEMORY.md")
    assert not Workspace(root).usage.exists()


def test_no_secret_and_no_private_part_reaches_the_file(root: Path) -> None:
    key = "sk-proj-" + "a1B2c3D4e5F6g7H8i9J0" * 2
    with Memory.open(root) as memory:
        memory.search(f"what was {key} for?")
        memory.recall("deploy <private>of the heart</private> when?")
        memory.search("password: hunter2-Kestrel9 " + "word " * 10_000 + key)
        memory.search("<private>only this</private>")
    stored = b"".join(path.read_bytes() for path in Workspace(root).state.glob("usage*"))
    assert b"[REDACTED:" in stored
    for secret in (key, "of the heart", "only this", "hunter2"):
        assert secret.encode() not in stored


@pytest.mark.parametrize("question", ["", "\0", "\ud800 deploy", "deploy\x00", "部署"])
def test_every_question_can_be_recorded(root: Path, rows: Rows, question: str) -> None:
    with Memory.open(root) as memory:
        memory.search(question)
    assert rows("SELECT count(*) FROM questions") == [(1,)]


# --- what goes ----------------------------------------------------------------------------------------


def test_usage_drops_what_is_old_though_nothing_is_asked_any_more(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        for _ in range(60):
            memory.search("deploy")
    rows("UPDATE questions SET at = at - 91 * 86400")
    with Memory.open(root, overrides={"usage.record": False}) as memory:
        assert memory.usage().since is None
    assert rows("SELECT count(*) FROM questions") == [(0,)]
    assert rows("SELECT count(*) FROM hits") == [(0,)]


def test_a_record_that_is_cleared_is_empty_and_goes_on(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.search("a zeppelin of lead")
        assert opened(memory).clear() == 1
        assert b"zeppelin" not in Workspace(root).usage.read_bytes()
        memory.search("deploy")
        assert opened(memory).clear() == 1
        assert opened(memory).clear() == 0
    assert rows("SELECT count(*) FROM hits") == [(0,)]


# --- stores that cannot be written --------------------------------------------------------------------


def test_many_processes_record_at_once(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.sync()
    command = [sys.executable, "-W", "error", "-c", ASKER, str(root)]
    askers = [subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE) for _ in range(4)]
    assert [(asker.communicate()[1], asker.returncode) for asker in askers] == [(b"", 0)] * 4
    (count,) = rows("SELECT count(*) FROM questions")[0]
    assert 0 < count <= 80


def test_a_locked_store_is_left_alone(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        holder = apsw.Connection(str(Workspace(root).usage))
        holder.execute("BEGIN IMMEDIATE")
        assert memory.search("rain").hits
        assert memory.search("tea").hits
        holder.execute("ROLLBACK")
        holder.close()
    with Memory.open(root) as memory:
        memory.search("tea")
    assert rows("SELECT question FROM questions ORDER BY id") == [("deploy",), ("tea",)]


@pytest.mark.parametrize("content", [b"no database at all" * 500, b"SQLite format 3\0" + b"\xff" * 4080])
def test_a_damaged_store_costs_no_answer_and_can_be_cleared(root: Path, rows: Rows, content: bytes) -> None:
    with Memory.open(root) as memory:
        memory.sync()
        Workspace(root).usage.write_bytes(content)
        assert memory.search("deploy").hits
        assert memory.recall("deploy").hits
        assert opened(memory).clear() == 0
    with Memory.open(root) as memory:
        memory.search("rain")
    assert rows("SELECT question FROM questions") == [("rain",)]


def test_a_full_store_costs_no_answer(root: Path, rows: Rows) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        database = memory._journal._open()
        with database.reading() as connection:
            (pages,) = connection.execute("PRAGMA page_count").fetchall()[0]
            connection.execute(f"PRAGMA max_page_count={pages}").fetchall()
        for _ in range(30):
            assert memory.search("deploy " + "word " * 200).hits
    (kept,) = rows("SELECT count(*) FROM questions")[0]
    assert 0 < kept < 30


def test_no_waiting_for_a_store_that_is_locked_for_long(root: Path) -> None:
    with Memory.open(root) as memory:
        memory.search("deploy")
        holder = apsw.Connection(str(Workspace(root).usage))
        holder.execute("BEGIN IMMEDIATE")
        started = time.monotonic()
        for _ in range(20):
            memory.search("deploy")
        waited = time.monotonic() - started
        holder.close()
    assert waited < 10  # twenty waits as long as other stores wait would take minutes
