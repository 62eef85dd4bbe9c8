"""The days that the stamps of chats say, in every format, and what they are the days of."""

from __future__ import annotations

import time
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.markdown.document import parse


def days(text: str, path: str = "chat.md") -> list[tuple[int, int, str]]:
    return list(parse(text, path).days)


@pytest.mark.parametrize(
    "stamp",
    [
        "[05/03/2026, 20:10:00] Ann: cake", "\u200e[05/03/2026, 8:10:00\u202fPM] \u200eAnn: cake",
        "05/03/2026, 20:10 - Ann Lee: cake", "5/3/26, 8:10 PM - +49 170 1234567: cake", "[2026/3/5 20:10] 张三: 蛋糕",
        "[2026年3月5日 晚上8：10] 张三：蛋糕", "**Ann** 2026-03-05 8:10 PM\ncake", "Ann — 05/03/2026 20:10\ncake",
        "Ann, [05.03.26 20:10]\ncake", "赵文斌 2026-03-05 20:10\n去吗", "2026-03-05 20:10:01 张三(12345)\n蛋糕",
        "2026-03-05 20:10:01 小明<a@b.c>\n蛋糕",
    ],
)  # fmt: skip
def test_a_stamp_says_the_day_of_its_turn_where_a_name_comes_twice(stamp: str) -> None:
    last = 6 + 2 * stamp.count("\n")
    assert days(f"# Chat\n\n{stamp}\n\n{stamp}\nmore\n") == [(3, last, "2026-03-05")]
    assert days(f"# Chat\n\n{stamp}\n") == []


@pytest.mark.parametrize(
    ("first", "second", "read"),
    [
        ("05/03/2026", "14/03/2026", ["2026-03-05", "2026-03-14"]),  # can be only one way
        ("05/03/2026", "05/14/2026", ["2026-05-03", "2026-05-14"]),
        ("05/03/2026", "06/03/2026", ["2026-03-05", "2026-03-06"]),  # either way: the day first
        ("05/03/68", "06/03/69", ["2068-03-05", "1969-03-06"]),
        ("31/02/2026", "06/03/2026", ["2026-03-06"]),  # impossible
        ("99/99/2026", "2026-13-01", []),
        ("14/03/2026", "03/15/2026", ["2026-03-14", "2026-03-15"]),  # each as it can be
    ],
)
def test_the_order_of_day_and_month_is_one_for_a_note(first: str, second: str, read: list[str]) -> None:
    assert [day for *_, day in days(f"[{first}, 20:10] Ann: a\n[{second}, 20:10] Ann: b\n")] == read


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[20:12] Bob: b\n\nstill Bob\n{B} Ann: c\n[07:01] Bob: d\n", [(1, 5, "A"), (6, 7, "B")]),
        ("Bob — Yesterday at 10:32\nb\n\nAnn — 10:40\nc\n{B} Ann: d\n", [(1, 2, "A"), (8, 8, "B")]),
        ("# Other\n\n[20:12] Bob: b\n{B} Ann: c\n", [(1, 2, "A"), (6, 6, "B")]),
        ("\n- 14:05 Bob: bread\n- {B} Ann: c\n  more\n- other\n", [(1, 3, "A"), (5, 6, "B")]), ("```\n{B} Ann: c\n```\n", []),
        ("{B} INFO: again\n", []),
    ],
)  # fmt: skip
def test_lines_up_to_the_next_stamp_heading_or_item_are_of_its_day(
    text: str, found: list[tuple[int, int, str]]
) -> None:
    days_of = {"A": "2026-03-05", "B": "2026-03-06"}
    chat = f"[2026-03-05 20:10] Ann: a\nmore\n{text}".replace("{B}", "[2026-03-06 07:00]")
    assert days(chat) == [(first, last, days_of[day]) for first, last, day in found]
    assert days(f"---\nnote: |\n  {chat}---\nx\n") == []


def test_turns_of_different_days_share_no_passage() -> None:
    text = (
        "# 2026-03-04\n[20:09] Bob: z\n[2026-03-05 20:10] Ann: a\n[20:12] Bob: b\n"
        "[2026-03-06 07:00] Ann: c\n[2026-03-06 07:01] Bob: d <!-- cp: since=2026-02-01 -->\n"
    )
    cut = passages.split(parse(text, "chat.md"))[1]
    assert [(one.start_line, one.end_line, (one.annotations or {}).get("since")) for one in cut] == [
        (2, 2, "2026-03-04"), (3, 4, "2026-03-05"), (5, 5, "2026-03-06"), (6, 6, "2026-02-01")
    ]  # fmt: skip


def test_reading_takes_time_linear_in_the_text() -> None:
    for unit in (
        "[05/03/2026, 20:10:00] Ann: a\n", "- [2026-03-05 20:10] Ann: a\n  - b\n", "# a\n[2026-03-05 20:10] Ann: a\n",
        "2026-03-05 20:10 ", "1/1/1 1:11 - a: b\n\n\n", "1-1-1 ", "[2026-03-05 20:10] Ann: a\n\n===\n",
    ):  # fmt: skip
        took = []
        for size in (20_000, 80_000):
            text = unit * (size // len(unit)) + "\n[2026-03-05 20:10] Ann: a\n"
            turns = []
            for _ in range(3):  # a collection of garbage in between takes as long
                start = time.process_time()
                passages.split(parse(text, "chat.md"))
                turns.append(time.process_time() - start)
            took.append(min(turns))
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
