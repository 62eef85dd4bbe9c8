"""Recalled blocks are taken out of what is captured: as `disclose` writes them, nested, cut off, escaped."""

from __future__ import annotations

import html
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.redaction.recalled import TAG, strip_recalled
from commonplace.search.pack import framed
from commonplace.types import Hit

ENGLISH = "Deploys go out on Tuesdays; Mira presses the button."
CHINESE = "发布在每周二，由小林负责。"


def hit(text: str) -> Hit:
    return Hit(
        text=text, path="memory/2026-02-13.md", collection="memory", start_line=3, end_line=3, title="2026-02-13",
        headings=("2026-02-13",), date="2026-02-13", score=0.8, docid="a1b2c3",
    )  # fmt: skip


BLOCK = framed([hit(ENGLISH), hit(CHINESE)], "ask for more")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("before\n{}\nafter", "before\n\nafter"),
        ("{}", ""),
        ("a {} b {} c", "a  b  c"),
        ("没有 {} 了", "没有  了"),
    ],
)
def test_blocks_are_taken_out(text: str, left: str) -> None:
    assert strip_recalled(text.replace("{}", BLOCK)) == left


def test_a_block_in_a_block_goes_with_it() -> None:
    inner = f"<{TAG}>\n{CHINESE}\n</{TAG}>"
    assert strip_recalled(f"a\n<{TAG}>\nx\n{inner}\n{ENGLISH}\n</{TAG}>\nb") == "a\n\nb"
    harmless = framed([hit(BLOCK)])
    assert strip_recalled(f"a\n{harmless}\nb") == "a\n\nb"


@pytest.mark.parametrize("spelled", [html.escape(BLOCK), json.dumps({"x": BLOCK}), BLOCK.upper()])
def test_other_spellings_are_blocks_as_well(spelled: str) -> None:
    assert "TUESDAYS" not in strip_recalled(f"a {spelled} b").upper()


def test_json_of_other_languages() -> None:
    text = json.dumps(BLOCK).replace("<", "\\u003c").replace(">", "\\u003e").replace("/", "\\/")
    assert strip_recalled(f"a {text} b") == 'a "" b'


@pytest.mark.parametrize("place", range(2, len(BLOCK), 19))
def test_one_that_is_cut_off_takes_the_rest_along(place: int) -> None:
    head = strip_recalled(f"before {BLOCK[:place]}")
    assert "Tuesdays" not in head
    assert "小林" not in head
    tail = strip_recalled(f"{BLOCK[place:]} after")
    assert tail.endswith(" after")
    if place < len(BLOCK) - len(TAG) - 2:
        assert tail == " after"


@given(
    st.lists(
        st.sampled_from([f"<{TAG}>", f"</{TAG}>", f"<{TAG}", "a", "\n", " <", "&lt;"]) | st.text(max_size=5)
    )
)
def test_stripping_is_done_once_and_leaves_no_tag(parts: list[str]) -> None:
    left = strip_recalled("".join(parts))
    assert f"<{TAG}>" not in left
    assert f"</{TAG}>" not in left


@pytest.mark.parametrize(
    "unit", [f"<{TAG}>", f"</{TAG}>", f"<{TAG} ", "< ", "<", f"&lt;{TAG}", "\n", "\\u003c "]
)
def test_a_megabyte_of_anything_ends(unit: str) -> None:
    assert len(strip_recalled(TAG + unit * (1_000_000 // len(unit)))) <= 1_100_000
