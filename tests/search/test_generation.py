"""Citations of an answer: numbered as they come, those that were not given taken out."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.search.generation import cite


@pytest.mark.parametrize(
    ("text", "shown", "numbers", "invented"),
    [
        ("Tea [3], rain [1].", "Tea [1], rain [2].", (3, 1), ()),
        ("Tea [2][2] and [2, 3].", "Tea [1][1] and [1][2].", (2, 3), ()),
        ("Tea [1-3].", "Tea [1][2][3].", (1, 2, 3), ()),
        ("茶在午后【2】。", "茶在午后[1]。", (2,), ()),
        ("Tea [7].", "Tea.", (), (7,)),
        ("Tea [2, 9] [0].", "Tea [1].", (2,), (9, 0)),
        ("Call `x[9]` [1].", "Call `x[9]` [1].", (1,), ()),
        ("```\nx[9]\n```\n[1]", "```\nx[9]\n```\n[1]", (1,), ()),
        ("See [1](http://x).", "See [1](http://x).", (), ()),
        ("Tea [1-9999].", "Tea [1].", (1,), (9999,)),
        ("[a] [] [1", "[a] [] [1", (), ()),
    ],
)
def test_citations(text: str, shown: str, numbers: tuple[int, ...], invented: tuple[int, ...]) -> None:
    assert cite(text, 3) == (shown, numbers, invented)


@given(st.text("[]【】1230-, `x", max_size=60), st.integers(1, 5))
def test_every_number_that_is_left_was_given(text: str, most: int) -> None:
    cited = cite(text, most)
    assert all(1 <= number <= most for number in cited.numbers)
    assert len(set(cited.numbers)) == len(cited.numbers)
    assert not set(cited.numbers) & set(cited.invented)
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", cited.text, flags=re.DOTALL)
    if "`" not in outside:
        assert set(re.findall(r"\[([0-9]+)\](?!\()", outside)) <= {
            str(n + 1) for n in range(len(cited.numbers))
        }
