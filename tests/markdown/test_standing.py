"""Standing instructions: what they are for, and what is none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import passages
from commonplace.chunking.settings import MATTER
from commonplace.markdown.document import parse
from commonplace.markdown.standing import instructions, matter


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("**User:** Always format snippets when I ask about implementation details.", "implementation details"),
        ("Always mention sustainability when I ask about sneakers", "sneakers"),
        ("- Whenever I talk about travel plans, start with the budget.", "travel plans"),
        ("me: never suggest meat when I'm planning dinner", "planning dinner"),
        ("For Python code, always use type hints.", "Python code"), ("* If the build is red, never merge.", "the build is red"),
        ("回答我编程问题时用中文注释", "编程"), ("用户：每当我问到旅行时，请先告诉我预算。", "旅行"), ("- 请总是用公制单位，当我问到距离", "距离"),
        ("**Assistant:** I will always format snippets when I ask about details.", ""),
        ("Ann: always call me when I ask about the cat", ""), ("When writing was invented people were few.", ""),
        ("If it rains, we stay.", ""), ("我问他什么时候来，他说别等了", ""), ("", ""),
    ],
)  # fmt: skip
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


OURS = "Always mention prices when I ask about shoes."


@pytest.mark.parametrize(
    "above",
    [
        "**User:** What about shoes?\n**Assistant:** They are dear.",
        "**User:** What about shoes?\n\n**Assistant:** They are dear.\n\nThe red ones most.\n",
        "Ann: What about shoes?\nBob: They are dear.", "- Ann: They are dear.\n  -", "**Bob** 6:12 PM\n\nThey are dear.\n",
    ],
)  # fmt: skip
def test_a_further_line_of_a_turn_is_of_whoever_speaks(above: str) -> None:
    text = f"{above} {OURS}" if above.endswith("-") else f"{above}\n{OURS}"
    assert instructions(text.split("\n")) == {}
    _, cut = passages.split(parse(f"# Notes\n\n{text}\n", "a.md"))
    assert not any(one.annotations for one in cut)


@pytest.mark.parametrize(
    "above",
    [
        "**Assistant:** What about shoes?\n**User:** They are dear.", "Ann: What about shoes?\nBob: They are dear.\n",
        "- Name: Ann\n- Size: 40\n-", "It is dear.", "",
    ],
)  # fmt: skip
def test_a_line_of_nobody_and_a_further_one_of_the_owner_instruct(above: str) -> None:
    lines = (f"{above} {OURS}" if above.endswith("-") else f"{above}\n{OURS}").split("\n")
    assert instructions(lines, 5) == {5 + len(lines) - 1: "shoes"}


@given(st.text(max_size=700))
def test_any_line_is_an_instruction_or_none(line: str) -> None:
    found = matter(line)
    assert found in line


def test_a_long_line_of_beginnings_ends() -> None:
    assert matter("always never when if I ask about " * 18) in "always never when if I ask about " * 18
