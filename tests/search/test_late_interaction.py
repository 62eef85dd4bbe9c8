"""Late interaction, over signs of words that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from commonplace import Memory
from commonplace.index.base import Candidate
from commonplace.providers.embedding.base import signs
from commonplace.search.reranking import NEIGHBOUR, comparing

if TYPE_CHECKING:
    from commonplace.providers.embedding.base import Floats

# Eight dimensions, one bit each: crimson shares six of them with red, what is unlike shares half.
AXES = {
    "red": (1, 1, 1, 1, 1, 1, 1, 1),
    "crimson": (1, 1, 1, 1, 1, 1, 1, -1),
    "boat": (1, 1, 1, 1, -1, -1, -1, -1),
}


def rows(text: str) -> Floats:
    return np.array([AXES[word] for word in text.split()], np.float32).reshape(-1, 8) / np.float32(8**0.5)


class Store:
    """Keeps the words of passages; counts what it is asked for."""

    def __init__(self, *candidates: Candidate) -> None:
        self.kept = {own.id: (own.section_id, signs(rows(own.text))) for own in candidates if own.turns}
        self.asked: set[int] = set()

    def words(self, passages: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        self.asked.update(passages)
        return {passage: self.kept[passage] for passage in passages if passage in self.kept}


def passage(id_: int, text: str, section: int = 1, turns: float = 1.0) -> Candidate:
    return Candidate(
        id=id_, note_id=1, section_id=section, start_line=id_, end_line=id_, text=text, turns=turns
    )


def similar(question: str, *candidates: Candidate, store: Store | None = None) -> list[float]:
    found = comparing(store or Store(*candidates), rows)(question, candidates)  # type: ignore[arg-type]
    return [found.get(own.id, 0.0) for own in candidates]


def test_each_word_of_the_question_counts_its_nearest() -> None:
    found = similar("red boat", passage(1, "crimson boat"), passage(5, "boat boat"), passage(9, "red boat"))
    assert found == pytest.approx([(0.75 + 1) / 2, 0.5, 1.0])


def test_a_turn_is_understood_with_those_beside_it() -> None:
    asked, answered, apart = passage(1, "red"), passage(2, "boat"), passage(7, "boat")
    found = similar("red boat", asked, answered, apart)
    assert found == pytest.approx([(1 + NEIGHBOUR) / 2, (1 + NEIGHBOUR) / 2, 0.5])


def test_a_neighbour_that_was_not_found_counts_too() -> None:
    asked, answered = passage(1, "red"), passage(2, "boat")
    assert similar("red boat", answered, store=Store(asked, answered)) == pytest.approx([(1 + NEIGHBOUR) / 2])


def test_another_section_stands_alone() -> None:
    assert similar("red boat", passage(1, "red"), passage(2, "boat", 2)) == pytest.approx([0.5, 0.5])


def test_nothing_to_compare_asks_nobody() -> None:
    store = Store()
    assert similar("red", store=store) == []
    assert similar("", passage(1, "red"), store=store) == [0.0]
    assert store.asked == set()
    assert similar("red", passage(1, "red"), store=store) == [0.0], "no words were kept of it"


def test_what_was_damaged_is_no_word() -> None:
    store = Store(passage(1, "red"), passage(5, "red"))
    store.kept[1] = (1, b"")
    assert similar("red", passage(1, "red"), passage(5, "red"), store=store) == pytest.approx([0.0, 1.0])


def test_turns_are_kept_and_found_by_their_words(tmp_path: Path) -> None:
    turns = ["Ann: Nora bought a red bicycle.", *["Bo: We sold the old boat.", "Ann: Such fine weather."] * 9]
    (tmp_path / "MEMORY.md").write_text("# Chat\n\n" + "\n".join(turns) + "\n", "utf-8")
    with Memory.open(tmp_path) as memory:
        memory.sync()
        hits = memory.search("who purchased the bike?", min_score=0).hits
        parts = {hit.text: {factor.name for factor in hit.factors} for hit in hits}
        assert "bicycle" in hits[0].text
        assert "words one by one" in parts[hits[0].text]
        (tmp_path / "MEMORY.md").write_text("# Chat\n\n茶\n", "utf-8")
        memory.sync()
        assert memory.store.index.vectors.words(range(100)) == {}
