"""Late interaction, over token vectors that can be worked out by hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from commonplace.index.base import Candidate
from commonplace.providers.embedding.builtin import TokenEmbedder, Tokens
from commonplace.search import reranking
from commonplace.search.reranking import NEIGHBOUR, LateInteraction

AXES = {"red": (1, 0, 0), "crimson": (0.8, 0.6, 0), "boat": (0, 0, 1), "the": (0, 1, 0), "?": (0, 1, 0)}


class ByHand:
    """Each word is a piece with a vector of the table; counts the texts it is asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[Tokens]:
        self.asked += texts
        return [
            Tokens(tuple(words), np.array([AXES[word] for word in words], np.float32).reshape(-1, 3))
            for words in (text.split() for text in texts)
        ]


def passage(id_: int, text: str, section: int = 1, turns: float = 0.0) -> Candidate:
    return Candidate(
        id=id_, note_id=1, section_id=section, start_line=id_, end_line=id_, text=text, turns=turns
    )


def similar(question: str, *candidates: Candidate) -> list[float]:
    return LateInteraction(ByHand()).similarities(question, candidates)


def test_each_token_of_the_question_counts_its_nearest() -> None:
    found = similar(
        "red boat", passage(1, "crimson boat"), passage(5, "boat boat"), passage(9, "red boat the")
    )
    assert found == pytest.approx([(0.8 + 1) / 2, 0.5, 1.0])


def test_words_that_ask_for_nothing_count_nothing() -> None:
    assert similar("the red ?", passage(1, "red")) == pytest.approx([1.0])
    assert similar("the", passage(1, "the"), passage(3, "red")) == pytest.approx([1.0, 0.0])  # nothing else


def test_a_turn_is_understood_with_those_beside_it() -> None:
    asked, answered, apart = passage(1, "red", turns=1.0), passage(2, "boat", turns=1.0), passage(7, "boat")
    found = similar("red boat", asked, answered, apart)
    assert found == pytest.approx([(1 + NEIGHBOUR) / 2, (1 + NEIGHBOUR) / 2, 0.5])


def test_another_section_and_plain_prose_stand_alone() -> None:
    for section, turns in [(2, 1.0), (1, 0.0)]:
        found = similar("red boat", passage(1, "red", turns=turns), passage(2, "boat", section, turns))
        assert found == pytest.approx([0.5, 0.5]), (section, turns)


def test_passages_are_embedded_once() -> None:
    model = ByHand()
    reader = LateInteraction(model)
    first = reader.similarities("red", [passage(1, "red boat"), passage(2, "boat")])
    again = reader.similarities("red", [passage(2, "boat"), passage(1, "red boat")])
    assert again == pytest.approx(first[::-1])
    assert model.asked == ["red", "red boat", "boat", "red"]


def test_what_is_kept_is_bounded() -> None:
    model = ByHand()
    reader = LateInteraction(model, kept_bytes=2 * 3 * 2)  # two tokens of three dimensions, two bytes each
    for text in ("red", "boat", "crimson", "boat", "red"):
        reader.similarities("red", [passage(1, text)])
    assert model.asked[1::2] == ["red", "boat", "crimson", "red"] or model.asked.count("boat") == 1
    assert sum(vectors.nbytes for vectors in reader._kept.values()) <= 12


def test_nothing_to_compare_asks_nobody() -> None:
    model = ByHand()
    assert LateInteraction(model).similarities("red", []) == []
    assert model.asked == []
    assert similar("", passage(1, "red")) == [0.0]
    assert similar("red", passage(1, "")) == [0.0]


def test_the_bundled_model_tells_what_answers() -> None:
    reader = LateInteraction(TokenEmbedder())
    texts = ("Nora bought a red bicycle", "We sold the old boat", "The weather was fine")
    found = reader.similarities(
        "who purchased the bike?", [passage(3 * i, text) for i, text in enumerate(texts)]
    )
    assert found[0] == max(found)
    assert reranking._weights(["the", "bike", "?"]).tolist() == [0.0, 1.0, 0.0]
    assert reranking._weights(["who", "the"]).tolist() == [0.5, 0.5]


def test_prose_further_down_is_not_read() -> None:
    model = ByHand()
    prose = [passage(3 * i, "boat" if i else "red") for i in range(reranking.PROSE_HEAD)]
    further = [passage(301, "crimson"), passage(305, "red", turns=1.0)]
    found = LateInteraction(model).similarities("red", [*prose, *further])
    assert "crimson" not in model.asked
    assert found[-2:] == pytest.approx([0.0, 1.0])
