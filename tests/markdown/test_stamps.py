"""The days that the stamps of chats say, in every format, and what they are the days of."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.markdown import comments
from commonplace.markdown.document import parse
from commonplace.types import Passage


def days(text: str, path: str = "chat.md") -> list[tuple[int, int, str]]:
    return list(parse(text, path).days)


@pytest.mark.parametrize(
    "stamp",
    [
        "[05/03/2026, 20:10:00] Ann: cake",
        "\u200e[05/03/2026, 8:10:00\u202fPM] \u200eAnn: cake",
        "05/03/2026, 20:10 - Ann Lee: cake",
        "5/3/26, 8:10 PM - +49 170 1234567: cake",
        "[2026-03-05 20:10] Ann: cake",
        "[2026/3/5 20:10] 张三: 蛋糕",
        "[2026年3月5日 晚上8：10] 张三：蛋糕",
        "- [2026-03-05 20:10] Ann: cake",
        "**Ann** 2026-03-05 8:10 PM\ncake",
        "Ann — 05/03/2026 20:10\ncake",
        "Ann, [05.03.26 20:10]\ncake",
        "2026-03-05 20:10:01 张三(12345)\n蛋糕",
        "2026-03-05 20:10:01 小明<a@b.c>\n蛋糕",
    ],
)
def test_a_stamp_says_the_day_of_its_turn(stamp: str) -> None:
    assert days(f"# Chat\n\n{stamp}\n") == [(3, 3 + stamp.count("\n"), "2026-03-05")]


def test_stamps_without_brackets_count_where_a_name_comes_twice() -> None:
    chat = (
        "赵文斌 2026-03-08 20:10\n去吗\n\n李雷 2026年3月9日 上午9:10\n好的\n\n赵文斌 2026-03-10 09:12\n走\n"
    )
    assert days(chat) == [(1, 3, "2026-03-08"), (4, 6, "2026-03-09"), (7, 8, "2026-03-10")]
    assert days("Dentist 2026-03-08 14:00\nBring the card.\n\n- 2026-03-09 15:00 Vet: the cat\n") == []


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("05/03/2026", "14/03/2026", ["2026-03-05", "2026-03-14"]),  # can be only one way
        ("05/03/2026", "05/14/2026", ["2026-05-03", "2026-05-14"]),
        ("03/01/2026", "02/02/2026", ["2026-01-03", "2026-02-02"]),
        ("05/03/2026", "06/03/2026", ["2026-03-05", "2026-03-06"]),  # either way: the day first
        ("05/03/26", "06/03/98", ["2026-03-05", "1998-03-06"]),
        ("31/02/2026", "06/03/2026", ["2026-03-06"]),  # impossible
        ("99/99/2026", "2026-13-01", []),
        ("05/03/202", "06/03/2026", ["2026-03-06"]),
        ("14/03/2026", "03/15/2026", ["2026-03-14", "2026-03-15"]),  # each as it can be
    ],
)
def test_the_order_of_day_and_month_is_one_for_a_note(first: str, second: str, read: list[str]) -> None:
    assert [day for *_, day in days(f"[{first}, 20:10] Ann: a\n[{second}, 20:10] Bob: b\n")] == read


def test_a_time_alone_is_of_the_day_above() -> None:
    text = (
        "[2026-03-05 20:10] Ann: a\n[20:12] Bob: b\n\nstill Bob\n[2026-03-06 07:00] Ann: c\n[07:01] Bob: d\n"
    )
    assert days(text) == [(1, 4, "2026-03-05"), (5, 6, "2026-03-06")]


def test_a_day_that_nobody_knows_is_none() -> None:
    text = "Ann — 05/03/2026 10:32\na\n\nBob — Yesterday at 10:32\nb\n\nAnn — 10:40\nc\n"
    assert days(text) == [(1, 3, "2026-03-05")]
    assert days("**Ann** 6:12 PM\na\n\nBob — Today at 10:32\nb\n") == []
    assert days("[2026-03-05 20:10] ERROR: it failed\n[2026-03-06 20:10] Info: again\n") == []


def test_a_heading_ends_a_day_and_so_does_the_last_paragraph() -> None:
    text = "[2026-03-05 20:10] Ann: a\nmore\n\nAn own thought.\n\n# Other\n\n[20:12] Bob: b\n"
    assert days(text) == [(1, 2, "2026-03-05")]
    assert days("Ann, [05.03.26 20:10]\n\nwhat she\nsays\n\nAn own thought.\n") == [(1, 4, "2026-03-05")]


def test_an_item_is_no_turn_of_a_chat_around_it() -> None:
    text = "- [2026-03-05 20:10] Ann: cake\n  with cream\n- Bought flour\n- 14:05 Bob: bread\n"
    assert days(text, "memory/2026-03-09.md") == [(1, 2, "2026-03-05")]
    assert days("[2026-03-05 20:10] Ann: cake\n\n- 14:05 Bob: bread\n") == [(1, 2, "2026-03-05")]


def test_code_and_front_matter_hold_no_stamps() -> None:
    stamp = "[2026-03-05 20:10] Ann: a"
    assert days(f"```\n{stamp}\n```\n") == []
    assert days(f"- x\n\n    ```\n    {stamp}\n    ```\n") == []
    assert days(f"---\nnote: |\n  x\n{stamp}\n---\nx\n") == []
    assert parse(f"# {stamp}\n", "chat.py").days == ()


# --- passages -------------------------------------------------------------------------------------------


def cut(text: str, path: str = "chat.md") -> list[Passage]:
    return passages.split(parse(text, path))[1]


def dated(text: str, path: str = "chat.md") -> list[tuple[int, int, str | None]]:
    return [(one.start_line, one.end_line, (one.annotations or {}).get("since")) for one in cut(text, path)]


def test_turns_of_different_days_share_no_passage() -> None:
    text = "before\n[2026-03-05 20:10] Ann: a\n[20:12] Bob: b\n[2026-03-06 07:00] Ann: c\n[2026-03-06 07:01] Bob: d\n"
    for path in ("chat.md", "memory/2026-03-09.md"):
        assert dated(text, path) == [(1, 1, None), (2, 3, "2026-03-05"), (4, 5, "2026-03-06")]


def test_a_heading_that_is_a_day_counts_for_turns_without_one() -> None:
    text = "# 2026-03-04\n\n[20:10] Ann: a\n[2026-03-05 20:10] Bob: b\n"
    assert dated(text) == [(3, 3, "2026-03-04"), (4, 4, "2026-03-05")]


def test_what_a_turn_says_of_itself_is_nearer_than_its_stamp() -> None:
    text = "[2026-03-05 20:10] Ann: a <!-- cp: since=2026-02-01 -->\n[2026-03-05 20:11] Bob: b <!-- tentative -->\n"
    assert dated(text) == [(1, 1, "2026-02-01"), (2, 2, "2026-03-05")]
    said = comments.Annotations(parse(text, "chat.md"))
    assert said.of(2, 2) == {"since": "2026-03-05", "status": "tentative"}


def test_reading_takes_time_linear_in_the_text() -> None:
    for unit in (
        "[05/03/2026, 20:10:00] Ann: a\n", "- [2026-03-05 20:10] Ann: a\n  - b\n", "Ann 2026-03-05 20:10\n",
        "# a\n[2026-03-05 20:10] Ann: a\n", "2026-03-05 20:10 ", "1/1/1 1:11 - a: b\n\n\n", "1-1-1 ",
        "[2026-03-05 20:10] Ann: a\n\n===\n",
    ):  # fmt: skip
        took = []
        for size in (20_000, 80_000):
            text = unit * (size // len(unit)) + "\n[2026-03-05 20:10] Ann: a\n"
            start = time.process_time()
            cut(text)
            took.append(time.process_time() - start)
        assert took[1] < 12 * took[0] + 0.2, unit


@given(
    st.lists(
        st.sampled_from(["[05/03/2026, 20:10] Ann: a", "- [2026-03-06 20:10] Bob: b", "- c", "  d", "", "# e",
                         "20:12 Ann: f", "Ann, [14.08.22 18:12]", "```", "---", "Bob — Today at 10:32"])
    )
)  # fmt: skip
def test_stretches_are_in_order_and_apart(lines: list[str]) -> None:
    found = days("\n".join(lines))
    numbers = [number for first, last, _ in found for number in (first, last)]
    assert numbers == sorted(numbers)
    assert all(first > last for (_, last, _), (first, *_) in pairwise(found))
    assert all(1 <= number <= len(lines) for number in numbers)
