"""A few rows of a passage: those with the words of the question, and the header of their table."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.render import screen
from commonplace.render.hits import passage
from commonplace.render.screen import Look, matcher

ROWS = [f"| part {n} | {n} kg |" for n in range(9)]
TABLE = "\n".join(["| what | weight |", "|---|--:|", *ROWS])
LONG = "when does the deploy of the service go out, and does the deploy need a sign-off " * 3


def rows(text: str, *words: str, width: int | None = None, limit: int = 4) -> list[str]:
    shown = passage(text, Look(width=width), matcher(words), limit)
    assert len(shown) <= limit + limit // 2
    return [row.removeprefix("  ") for row in shown]


def test_what_follows_is_shown_rather_than_what_stands_before() -> None:
    text = "\n".join([*(f"line {n}" for n in range(5)), "the deploy", *(f"line {n}" for n in range(5, 9))])
    assert rows(text, "deploy") == ["… the deploy", "line 5", "line 6", "line 7 …"]


@pytest.mark.parametrize("text", [TABLE, f"Of the parts:\n\n{TABLE}", f"| a |\n|---|\n| b |\n\n{TABLE}"])
def test_rows_of_a_table_keep_its_header(text: str) -> None:
    shown = rows(text, "7")
    assert "part 7" in "".join(shown)
    assert "| what | weight |" in shown[0]
    assert "---" not in "".join(shown)
    assert rows(text, "what", "0")[0].removeprefix("… ") == "| what | weight |"


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


PAY = "| year | gross per month | bonus |\n|---|---|---|\n" + "\n".join(
    f"| {2016 + n} | {4000 + 150 * n} | {n} |" for n in range(11)
)
METER = "date,power_kwh\n" + "\n".join(f"2026-{n + 1:02}-01,{18000 + 90 * n}" for n in range(11))
LOG = "\n".join(f"- 2026-{n + 1}-03 {n} kg" for n in range(11))


def test_a_few_short_lines_are_shown_whole() -> None:
    short = [f"2026-0{n}-01,{n}" for n in range(1, 6)]
    assert rows("\n".join(["date,power", *short]), "power") == ["date,power", *short]
    table = PAY.split("\n")
    assert rows("\n".join(table[:6]), "salary") == [table[0], *table[2:6]]
    assert len(rows("\n".join([LONG + LONG, *short]), "power")) == 4
    assert len(rows("\n".join([*short, "a", "b"]), "power")) == 4


def test_the_day_that_the_words_name_is_shown() -> None:
    assert "The meter" in rows(f"The meter is in the hall.\n\n{METER}", "meter")[0]
    assert "The meter" in rows(f"{METER}\n\nThe meter is in the hall.", "meter")[-1]
    assert any("18270" in row for row in rows(METER, "2026-04-01"))
    assert any("4450" in row for row in rows(PAY, "2019"))


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
    assert rows("\n".join([short[0], article, *short[1:]]), "castle", "wind")[1:] != []
    several = rows("\n".join([article] * 4), "castle")
    assert len(several) == 4
    assert sum(map(screen.cells, several)) <= 4 * (160 + 4)
    assert all("castle" in row for row in several)
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
