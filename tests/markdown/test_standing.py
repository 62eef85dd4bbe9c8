"""Standing instructions: what they are for, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.chunking.settings import MATTER
from commonplace.markdown.document import parse
from commonplace.markdown.standing import matter


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            "**User:** Always format snippets when I ask about implementation details.",
            "implementation details",
        ),
        ("Always mention sustainability when I ask about sneakers", "sneakers"),
        ("- Whenever I talk about travel plans, start with the budget.", "travel plans"),
        ("me: never suggest meat when I'm planning dinner", "planning dinner"),
        ("For Python code, always use type hints.", "Python code"),
        ("* If the build is red, never merge.", "the build is red"),
        ("回答我编程问题时用中文注释", "编程"),
        ("用户：每当我问到旅行时，请先告诉我预算。", "旅行"),
        ("- 请总是用公制单位，当我问到距离", "距离"),
        ("**Assistant:** I will always format snippets when I ask about details.", ""),
        ("Ann: always call me when I ask about the cat", ""),
        ("When writing was invented people were few.", ""),
        ("If it rains, we stay.", ""),
        ("我问他什么时候来，他说别等了", ""),
        ("", ""),
    ],
)
def test_what_an_instruction_is_for(line: str, expected: str) -> None:
    assert matter(line) == expected


def test_an_instruction_is_a_passage_alone() -> None:
    text = "# Notes\n\n- Tea at five.\n- Always mention prices when I ask about shoes.\n- The cat is ill.\n"
    _, cut = passages.split(parse(text, "a.md"))
    assert [(one.start_line, (one.annotations or {}).get(MATTER)) for one in cut] == [
        (3, None),
        (4, "shoes"),
        (5, None),
    ]


@given(st.text(max_size=700))
def test_any_line_is_an_instruction_or_none(line: str) -> None:
    found = matter(line)
    assert found in line


def test_a_long_line_of_beginnings_ends() -> None:
    assert matter("always never when if I ask about " * 18) in "always never when if I ask about " * 18
