"""Copies that a sync program leaves are named, never corrected, never dated or shown before their note."""

from __future__ import annotations

import pytest

from commonplace import Memory, StatementNotFound
from tests.life.conftest import Owner

COPIES = {
    "recipes.sync-conflict-20240506-101112-ABCDEFG.md": "recipes.md",
    "boats (Lena's conflicted copy 2024-05-07).md": "boats.md",
    "cats (conflicted copy 2024-05-07 101500).md": "cats.md",
    "dogs (Conflicted copy phone 202405071015).md": "dogs.md",
    "hens_conflict-20240507-101500.md": "hens.md",
    "tea (SFConflict lena@example.org 2024-05-07-10-15-00).md": "tea.md",
    "gas 2.md": "gas.md",
    "rent (1).md": "rent.md",
    "shed-DESKTOP-AB12CD3.md": "shed.md",
    "fence-LENAS-PC.md": "fence.md",
}
NOTES = (
    "chapter 2.md",
    "plan-API.md",
    "plan.md",
    "report (draft).md",
    "report.md",
    "trip-2024-05-07.md",
    "X-1.md",
)


@pytest.fixture
def memory(owner: Owner) -> Memory:
    for number, (copy, note) in enumerate(COPIES.items()):
        owner.note(
            f"memory/{note}",
            f"# Topic {number}\n\n- The marmot number {number} sleeps in the barn.\n",
            1_770_000_000,
        )
        later = f"# Topic {number}\n\n- Copied badger {number}.\n- The marmot number {number} sleeps in the barn.\n"
        owner.note(f"memory/{copy}", later, 1_771_000_000)
    for name in NOTES:
        owner.note(f"memory/{name}", f"# {name}\n\n- A pelican of {name[:-3]} flew by.\n")
    memory = owner.memory()
    memory.sync()
    return memory


def test_the_note_comes_first(memory: Memory) -> None:
    for number, (copy, note) in enumerate(COPIES.items()):
        hits = memory.search(f"marmot number {number} barn", limit=30).hits
        paths = [hit.path for hit in hits]
        assert f"memory/{note}" in paths, (copy, paths)
        if f"memory/{copy}" in paths:
            assert paths.index(f"memory/{note}") < paths.index(f"memory/{copy}")
        badger = memory.search(f"badger {number}", limit=30).hits
        assert f"memory/{copy}" in [hit.path for hit in badger]  # what only the copy says is found
    dates = {info.path: info.date for info in memory.notes()}
    assert {dates[f"memory/{copy}"] for copy in COPIES} == {None}
    assert dates["memory/trip-2024-05-07.md"] == "2024-05-07"


def test_no_copy_is_corrected(owner: Owner, memory: Memory) -> None:
    for number, (copy, note) in enumerate(COPIES.items()):
        memory.correct(f"The marmot number {number} sleeps in the barn.", f"The marmot number {number} left.")
        assert "left." in owner.read(f"memory/{note}")
        assert "left." not in owner.read(f"memory/{copy}")
        with pytest.raises(StatementNotFound):
            memory.correct(f"Copied badger {number}.", "Gone.")
    for name in NOTES:
        memory.correct(f"A pelican of {name[:-3]} flew by.", f"A crane of {name[:-3]} flew by.")
        assert "A crane of" in owner.read(f"memory/{name}")


def test_status_and_doctor_name_them(owner: Owner, memory: Memory) -> None:
    assert [one for one in memory.status().warnings if f"{len(COPIES)} conflict copies" in one]
    said = owner.run("doctor", "--format", "json").out
    for copy, note in COPIES.items():
        assert f"{copy} is a copy of memory/{note}" in said
    assert "plan-API.md is a copy" not in said


UNLIKE = {
    "Untitled.md": "Ask the notary about the barn.\n",
    "Untitled 2.md": "Lentils, onions, two lemons.\n",
    "Week.md": "---\ntags: [week]\n---\n# Week\n\n## Done\n\n- Painted the hull\n- Rain on Tuesday\n## Plans\n",
    "Week 2.md": "---\ntags: [week]\n---\n# Week\n\n## Done\n\n- Sold the old sail\n## Plans\n- Ola came by\n- Sun at last\n",
    "Draft.md": "",
    "Draft 2.md": "",
    "Talk.md": "# Talk\n\nAbout bees in winter.\n",
    "Talk (1).md": "# Another talk\n\nAbout wells and pumps.\n",
    "周记.md": "- 周一下雨\n",
    "周记 2.md": "- 周五买了船\n",
    "Plan.md": "---\ntags: [plan]\n---\nBuild the shed in May.\n",
    "Plan-OSLO-NORTH.md": "---\nrating: 4\n---\nTake the night train.\n",
}


def test_notes_with_a_number_and_nothing_in_common_are_notes(owner: Owner) -> None:
    for name, text in UNLIKE.items():
        owner.note(f"memory/{name}", text)
    owner.note("memory/Jam.md", "- Plums from the garden\n- Boil for an hour\n- Nine jars\n")
    owner.note("memory/Jam 2.md", "- Plums from the garden\n- Boil for an hour\n- Ten jars\n")
    memory = owner.memory()
    memory.sync()
    said = owner.run("doctor", "--format", "json").out
    assert "memory/Jam 2.md is a copy of memory/Jam.md" in said
    assert said.count("is a copy of") == 1
    assert [one for one in memory.status().warnings if "1 conflict copy" in one]
    memory.correct("Sold the old sail", "Sold the new sail")
    assert "Sold the new sail" in owner.read("memory/Week 2.md")
