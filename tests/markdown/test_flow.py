"""Lines that an editor broke are one again; all that stands for itself stays."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.markdown.flow import flow

LONG = "The migration was planned for the second week of May, but the"
REST = "database team asked for two more days."
WIDE = "斑马迁移原定于五月的第二个星期进行，但是数据库团队要求再延迟两天，"


def joined(*lines: str) -> list[str]:
    return [one.text for one in flow(lines)]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ((LONG, REST), [f"{LONG} {REST}"]),
        ((f"- {LONG}", f"  {REST}"), [f"- {LONG} {REST}"]),
        ((f"- {LONG}", REST), [f"- {LONG} {REST}"]),
        ((f"1. {LONG}", f"   {REST}", "2. Next."), [f"1. {LONG} {REST}", "2. Next."]),
        ((f"  - {LONG}", f"    {REST}"), [f"  - {LONG} {REST}"]),
        ((WIDE, "因为备份还没有完成。"), [f"{WIDE}因为备份还没有完成。"]),
        ((WIDE, "because of the backup."), [f"{WIDE} because of the backup."]),
        ((LONG, REST, "", LONG, REST), [f"{LONG} {REST}", "", f"{LONG} {REST}"]),
    ],
)
def test_what_an_editor_broke_is_one_line(lines: tuple[str, ...], expected: list[str]) -> None:
    assert joined(*lines) == expected


@pytest.mark.parametrize(
    "lines",
    [
        ("Short lines", "that were broken", "on purpose."),
        (LONG, "- an item", "- another"),
        (f"# {LONG}", REST),
        (LONG, "---", REST),
        (f"{LONG}  ", REST),
        (f"{LONG}\\", REST),
        (f"{LONG}:", REST),
        (f"{LONG} <!-- id:1 -->", REST),
        (f"> {LONG}", f"> {REST}"),
        (f"| {LONG} | b |", f"| {REST} | c |"),
        ("```", LONG, REST, "```"),
        ("- item", "  ```", f"  {LONG}", f"  {REST}", "  ```"),
        ("", f"    {LONG}", f"    {REST}"),
        ("---", f"title: {LONG}", f"about: {REST}", "---"),
        (LONG, "14:05 Deploys go out on Tuesdays."),
        (LONG, "2026-02-13 was rainy."),
        (f"**Mira:** {LONG}", f"**Lin:** {REST}"),
        ("A line that is long enough, and then", "b"),
    ],
)
def test_what_stands_for_itself_stays(lines: tuple[str, ...]) -> None:
    assert joined(*lines) == list(lines)


def test_code_and_tables_are_not_wrapped() -> None:
    lines = [LONG, "", "```", "code", "```", "", "| a | b |", "|---|---|", "- item"]
    assert [one.wraps for one in flow(lines)] == [True, True, False, False, False, True, False, False, True]


@given(
    st.lists(
        st.one_of(
            st.text(max_size=60), st.sampled_from([LONG, REST, WIDE, "```", "- x", "| a |", "    x", ""])
        )
    )
)
def test_no_character_is_lost_and_lines_stay_in_order(lines: list[str]) -> None:
    found = flow(lines)
    assert [one.first for one in found] == sorted({one.first for one in found})
    bare = ["".join(text.split()) for text in ("".join(one.text for one in found), "".join(lines))]
    assert bare[0] == bare[1]


def test_a_long_paragraph_is_joined_in_one_go() -> None:
    (one,) = flow([LONG] * 5000)
    assert len(one.text) == 5000 * (len(LONG) + 1) - 1
