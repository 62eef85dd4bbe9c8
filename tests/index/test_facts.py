"""What the whole index knows of notes: triggers, and where references lead."""

from __future__ import annotations

from pathlib import Path

from commonplace import Memory
from commonplace.index import facts
from commonplace.index.base import In, Scope
from commonplace.index.facts import LinkTarget


def opened(root: Path, text: str) -> Memory:
    (root / "MEMORY.md").write_text(text, "utf-8")
    memory = Memory.open(root)
    memory.sync(embed=False)
    return memory


def test_triggers_are_those_of_comments_alone(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        assert not facts.annotated(memory.store.index, "trigger")
        (tmp_path / "MEMORY.md").write_text(
            '- a <!-- project: "trigger": --> \n\n# B\n\n- b <!-- trigger: x -->\n'
        )
        memory.sync(embed=False)
        index = memory.store.index
        ((passage, said),) = facts.annotated(index, "trigger")
        assert said == '{"trigger":"x"}'
        assert facts.within(index, [passage], Scope((In("kind", frozenset({"long-term"})),))) == {passage}
        assert facts.within(index, [passage], Scope((In("kind", frozenset({"daily"})),))) == set()


def test_the_lookup_reads_its_own_index_alone(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        from commonplace.index.sqlite import schema

        rows = memory.store.index.rows(
            f"EXPLAIN QUERY PLAN SELECT id, annotations FROM passages WHERE {schema.WITH_TRIGGER}"
        )
    assert [row[3] for row in rows] == ["SCAN passages USING COVERING INDEX passages_with_trigger"]


def test_references_lead_to_notes_and_lines(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        index = memory.store.index
        (note,) = index.rows("SELECT id, hash FROM notes")
        asked = ["MEMORY.md", "MEMORY.md#L2-L3", f"#{note[1][:6]}", "nowhere.md", " "]
        assert facts.places(index, asked) == {
            "MEMORY.md": [LinkTarget(note[0])], "MEMORY.md#L2-L3": [LinkTarget(note[0], 2, 3)],
            f"#{note[1][:6]}": [LinkTarget(note[0])], "nowhere.md": [],
        }  # fmt: skip


def test_what_is_struck_is_looked_up_in_an_index_of_its_own(tmp_path: Path) -> None:
    """Which is empty where nothing is struck: no question pays for it."""
    with opened(tmp_path, "- a\n") as memory:
        from commonplace.index.sqlite import schema

        index = memory.store.index
        for condition in (schema.STRUCK, schema.WITH_DAY):
            rows = index.rows(f"EXPLAIN QUERY PLAN SELECT id FROM passages WHERE {condition}")
            assert "USING COVERING INDEX passages_" in rows[0][3]
        assert index.struck() == frozenset()
        assert index.struck() is index.struck()
