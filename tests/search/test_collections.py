"""Own notes before reference: who stands where, by how much, and where it does not count."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from commonplace import Memory, config
from commonplace.search import confidence

OWN = "# Garden\n\nThe quinces by the wall were pruned hard this year.\n"
SAME = "# Orchards\n\nThe quinces by the wall were pruned hard that year.\n"
EXACT = "Quinces are grafted onto hawthorn stock in April, above the graft line of the pears."


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Callable[[], Memory]]:
    """A memory beside a shelf of five hundred passages of somebody else."""
    root, shelf = tmp_path / "notes", tmp_path / "shelf"
    (root / "memory").mkdir(parents=True)
    shelf.mkdir()
    (root / "memory/garden.md").write_text(OWN)
    (shelf / "same.md").write_text(SAME)
    (shelf / "exact.md").write_text(f"# Grafting\n\n{EXACT}\n")
    rows = (
        f"## Row {n}\n\nQuinces number {n} by a wall are pruned, the year of row {n}.\n" for n in range(500)
    )
    (shelf / "rows.md").write_text("\n".join(rows))
    config.add_collection(root, "shelf", str(shelf))
    memories: list[Memory] = []

    def open_() -> Memory:
        memory = Memory.open(root)
        memories.append(memory)
        memory.sync()
        return memory

    yield open_
    for memory in memories:
        memory.close()


def test_own_notes_come_before_reference_that_says_the_same(opened: Callable[[], Memory]) -> None:
    hits = opened().search("were the quinces by the wall pruned?").hits
    assert [hit.collection for hit in hits[:2]] == ["memory", "shelf"]
    factors = {factor.name: factor.value for factor in hits[1].factors}
    assert factors["collection"] < 0
    assert "collection" not in {factor.name for factor in hits[0].factors}


def test_what_answers_in_the_reference_still_comes_first(opened: Callable[[], Memory]) -> None:
    first = opened().search("onto what stock are quinces grafted?").hits[0]
    assert (first.collection, EXACT in first.text) == ("shelf", True)


def test_a_collection_that_is_named_stands_behind_nothing(opened: Callable[[], Memory]) -> None:
    memory = opened()
    for question in ("quinces by the wall in:shelf", "quinces by the wall"):
        named = ["shelf"] if "in:" not in question else []
        for hit in memory.search(question, collections=named).hits:
            assert hit.collection == "shelf"
            assert "collection" not in {factor.name for factor in hit.factors}


def test_a_weight_counts_at_once(opened: Callable[[], Memory]) -> None:
    memory = opened()
    config.set_collection(Path(memory.status().workspace), "shelf", weight="own")
    hits = opened().search("were the quinces by the wall pruned?").hits
    assert "collection" not in {factor.name for hit in hits for factor in hit.factors}


def test_own_notes_are_candidates_however_much_reference_is_nearer(opened: Callable[[], Memory]) -> None:
    hits = opened().search("pruned year row number wall", limit=600).hits
    assert 400 < len(hits) < 500
    assert "memory" in {hit.collection for hit in hits}


@pytest.mark.parametrize("question", ["李", "狗"])
def test_one_character_finds_own_notes_before_names_of_the_reference(question: str, tmp_path: Path) -> None:
    root, shelf = tmp_path / "notes", tmp_path / "shelf"
    (root / "memory").mkdir(parents=True)
    shelf.mkdir()
    own = "- 今天我和李明在公园里遛狗，他说他的狗很喜欢吃牛肉，也喜欢在湖边跑步。"
    (root / "memory/day.md").write_text(f"# Day\n\n{own}\n", "utf-8")
    for number, name in enumerate(["李白", "李贺", "李商隐", "李清照", "李", "小狗", "狗"] * 6):
        (shelf / f"{number}.md").write_text(f"# {name}\n\n- {name} {number}\n", "utf-8")
    config.add_collection(root, "shelf", str(shelf))
    with Memory.open(root) as memory:
        memory.sync()
        hits = memory.search(question).hits
        assert [hit.collection for hit in hits[:2]] == ["memory", "shelf"]


def test_each_kind_has_a_level_of_its_own() -> None:
    scores, level = confidence.Level(0.3, 0.5), confidence.Level(0.2, 0.5)
    assert confidence.of(scores, level) == pytest.approx(1.5)
    assert level.apart == pytest.approx(0.3)
    assert confidence.Level(0.4, 0.2).apart == 0
    assert confidence.of(confidence.Level(0.3, 0.0), confidence.Level(0.15, 0.0)) == pytest.approx(2)
