"""Who wrote what: single entries told apart by filters, in full text and vectors, and the same after a rebuild."""

from __future__ import annotations

import shutil
from datetime import datetime
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.memory import Lab
from commonplace.types import Entry, Provenance
from tests.index.test_sync import dump

AT = datetime(2026, 2, 13, 10, 22, 5)
WRITTEN = {
    "kettle": Provenance("tool", "nanobot", "8f3a"),
    "teapot": Provenance("untrusted", "nanobot", "8f3a"),
    "saucer": Provenance("agent", "claude", "77"),
    "sugar": Provenance("agent", "nanobot", "90"),
    "spoon": Provenance("owner"),
    "cup": None,
}
FRONT = "---\nby: tool\nagent: codex\n---\n# Front\n\n- Tea on the stove.\n- Tea in the tin. <!-- by: owner; agent: claude -->\n"
EVERYTHING = {*WRITTEN, "stove", "tin"}


@pytest.fixture(scope="module", params=["none", "fake"])
def memory(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Memory:
    root = tmp_path_factory.mktemp("writers")
    (root / "memory").mkdir()
    (root / "memory" / "front.md").write_text(FRONT, "utf-8")
    made = Memory.open(root, overrides={"embedding.provider": request.param})
    made.capture([Entry(f"Tea from the {word}.", AT, "", by) for word, by in WRITTEN.items()])
    made.sync()
    made.search("tea")  # opens the index while the home that signed it is the home
    return made


def found(memory: Memory, text: str) -> set[str]:
    hits = memory.search(text, min_score=0.0001, limit=50).hits
    return {word for hit in hits for word in EVERYTHING if word in hit.text}


CASES = [
    ("by:tool", {"kettle", "stove"}),
    ("by:untrusted by:owner", {"teapot", "spoon", "tin"}),
    ("-by:tool", EVERYTHING - {"kettle", "stove"}),
    ("NOT by:agent", EVERYTHING - {"saucer", "sugar"}),
    ("agent:nanobot", {"kettle", "teapot", "sugar"}),
    ("Agent:Claude", {"saucer", "tin"}),
    ("agent:codex", {"stove"}),
    ("session:8f3a", {"kettle", "teapot"}),
    ("session:8f3a session:77", {"kettle", "teapot", "saucer"}),
    ("session>=80", {"sugar"}),
    ("by:agent agent:nanobot", {"sugar"}),
    ("by:agent -agent:nanobot", {"saucer"}),
    ("session:8f3a type:daily", {"kettle", "teapot"}),
    ("session:nothing", set()),
    ("by:nobody", set()),
]


def test_filters_tell_entries_of_one_note_apart(memory: Memory) -> None:
    for text, words in CASES:
        assert found(memory, f"tea {text}") == words
        assert found(memory, text) == words


def test_the_first_question_is_answered_without_the_matrix(memory: Memory) -> None:
    with Memory.open(
        memory.workspace.root, overrides={"embedding.provider": memory.settings.embedding.provider}
    ) as other:
        assert found(other, "tea by:tool") == {"kettle", "stove"}


def test_without_any_such_entry_they_find_nothing_and_say_so(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text(
        "# Memory\n\n- The session:8f3a was long.\n- by:tool or by hand\n", "utf-8"
    )
    with Memory.open(tmp_path, overrides={"embedding.provider": "none"}) as memory:
        result = memory.search("session:8f3a")
        assert result.hits == ()
        assert [warning.split(";")[0] for warning in result.warnings] == ['no note has the key "session"']
        assert [hit.start_line for hit in memory.search('"session:8f3a"').hits] == [3]


def test_a_rebuild_restores_the_same_labels(memory: Memory, tmp_path: Path) -> None:
    root = tmp_path / "copy"
    shutil.copytree(memory.workspace.root, root)
    with Memory.open(root, overrides={"embedding.provider": memory.settings.embedding.provider}) as rebuilt:
        rebuilt.sync()
        sql = "SELECT start_line, text, annotations FROM passages ORDER BY note_id, id"
        labels = rebuilt.store.index.rows(sql)
        assert labels == memory.store.index.rows(sql)
        assert sum('"session":"8f3a"' in (row[2] or "") for row in labels) == 2
        assert not any("session" in row[1] for row in labels)


def test_step_by_step_is_all_at_once(tmp_path: Path) -> None:
    (tmp_path / "memory").mkdir()
    with Memory.open(tmp_path, overrides={"embedding.provider": "fake"}) as memory:
        for word, by in WRITTEN.items():
            memory.capture([Entry(f"Tea from the {word}.", AT, "", by)])
            memory.sync()
        grown = dump(memory.store.index)
    with Memory.open(
        tmp_path, overrides={"embedding.provider": "fake"}, lab=Lab(tmp_path / "fresh.sqlite")
    ) as memory:
        memory.sync()
        assert dump(memory.store.index) == grown


def test_the_lookup_reads_its_own_index_alone(memory: Memory) -> None:
    from commonplace.index.sqlite import schema

    for columns in ("id, annotations", "1"):
        rows = memory.store.index.rows(
            f"EXPLAIN QUERY PLAN SELECT {columns} FROM passages WHERE {schema.WITH_WRITER}"
        )
        assert [row[3] for row in rows] == ["SCAN passages USING COVERING INDEX passages_with_writer"]
