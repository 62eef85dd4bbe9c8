"""What the whole index knows of annotations: triggers, and where references lead."""

from __future__ import annotations

from pathlib import Path

from commonplace import Memory
from commonplace.index import annotated
from commonplace.index.annotated import Place
from commonplace.index.scope import Scope


def opened(root: Path, text: str) -> Memory:
    (root / "MEMORY.md").write_text(text, "utf-8")
    memory = Memory.open(root)
    memory.sync(embed=False)
    return memory


def test_triggers_are_remembered_until_a_change(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        assert annotated.triggers(memory._store.index) == []
        (tmp_path / "MEMORY.md").write_text(
            '- a <!-- project: "trigger": --> \n\n# B\n\n- b <!-- trigger: x -->\n'
        )
        memory.sync(embed=False)
        index = memory._store.index
        ((passage, said),) = annotated.triggers(index)
        assert said == '{"trigger":"x"}'
        assert annotated.triggers(index) is annotated.triggers(index)
        assert annotated.within(index, [passage], Scope("n.path = ?", ("MEMORY.md",))) == {passage}
        assert annotated.within(index, [passage], Scope("n.path = ?", ("other.md",))) == set()


def test_the_lookup_reads_its_own_index_alone(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        from commonplace.index import schema

        rows = memory._store.index._rows(
            f"EXPLAIN QUERY PLAN SELECT id, annotations FROM passages WHERE {schema.WITH_TRIGGER}"
        )
    assert [row[3] for row in rows] == ["SCAN passages USING COVERING INDEX passages_with_trigger"]


def test_references_lead_to_notes_and_lines(tmp_path: Path) -> None:
    with opened(tmp_path, "- a\n") as memory:
        index = memory._store.index
        (note,) = index._rows("SELECT id, hash FROM notes")
        asked = ["MEMORY.md", "MEMORY.md#L2-L3", f"#{note[1][:6]}", "nowhere.md", " "]
        assert annotated.places(index, asked) == {
            "MEMORY.md": [Place(note[0])], "MEMORY.md#L2-L3": [Place(note[0], 2, 3)],
            f"#{note[1][:6]}": [Place(note[0])], "nowhere.md": [],
        }  # fmt: skip
        assert annotated.long_term(index) == {note[0]}


def test_what_is_struck_is_looked_up_in_an_index_of_its_own(tmp_path: Path) -> None:
    """Which is empty where nothing is struck: no question pays for it."""
    with opened(tmp_path, "- a\n") as memory:
        from commonplace.index import schema

        index = memory._store.index
        for condition in (schema.STRUCK, schema.WITH_DAY):
            rows = index._rows(f"EXPLAIN QUERY PLAN SELECT id FROM passages WHERE {condition}")
            assert "USING COVERING INDEX passages_" in rows[0][3]
        assert index.struck() == frozenset()
        assert index.struck() is index.struck()
