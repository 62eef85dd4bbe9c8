"""A few rows of a passage: those with the words of the question."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.render import screen
from commonplace.render.hits import passage
from commonplace.render.screen import Look, matcher


def rows(text: str, *words: str, width: int | None = None, limit: int = 4) -> list[str]:
    shown = passage(text, Look(width=width), matcher(words), limit)
    assert len(shown) <= limit
    return [row.removeprefix("  ") for row in shown]


def test_what_follows_is_shown_rather_than_what_stands_before() -> None:
    text = "\n".join([*(f"line {n}" for n in range(5)), "the deploy", *(f"line {n}" for n in range(5, 9))])
    assert rows(text, "deploy") == ["… the deploy", "line 5", "line 6", "line 7 …"]


@pytest.mark.parametrize("margin", ["", "  ", "> "])
def test_no_fence_is_left_open(margin: str) -> None:
    lines = ["```sh", *(f"command {n}" for n in range(9)), "```"]
    text = "- how it is done:\n" + "\n".join(margin + line for line in lines)
    for number in range(9):
        shown = rows(text, f"{number}")
        assert f"command {number}" in "".join(shown)
        assert "```" not in "".join(shown)
    short = "```sh\ncommand 0\n```"
    assert rows(short, "0") == short.split("\n")


@pytest.mark.parametrize(
    "sentence", ["The wind is cold today and so is the sea. ", "今天的风很冷，海水也很冷。"]
)
def test_a_long_line_is_cut_around_the_words(sentence: str) -> None:
    article = sentence * 40 + "Of the castle only a tower is left. " + sentence * 40
    (shown,) = rows(article, "castle")
    assert "castle only" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert screen.cells(shown) <= 4 * 160 + 4
    short = ["one", "the castle", "two", "three", "four"]
    assert rows("\n".join([short[0], article, *short[1:]]), "castle")[0].startswith("… ")
    whole = article[:600].rstrip()
    assert rows(whole, "castle") == [whole] or not whole.isascii()


LINES = st.sampled_from(
    ["", "| a | b |", "|---|---|", "```", "~~~", "Ann: why the deploy?", "Bob: so", "**Ann** 10:32", "word " * 40,
     "deploy", "部署" * 60, "2026-01-01,1", "- 2026-02-01 two", "| 2026-03-01 | 3 |"]
)  # fmt: skip


@given(st.lists(LINES, max_size=24), st.sampled_from([None, 20, 60]), st.integers(1, 5))
def test_any_passage_is_cut_to_its_best_rows(lines: list[str], width: int | None, limit: int) -> None:
    text = "\n".join(lines)
    shown = rows(text, "deploy", "部署", width=width, limit=limit)
    if "deploy" in text or "部署" in text:
        assert any(word in "".join(shown) for word in ("deploy", "部署"))
