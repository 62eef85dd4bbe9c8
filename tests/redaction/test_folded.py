"""The view of a text as it reads: what is in it, and where that stands in the text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.redaction.folded import fold
from commonplace.redaction.redact import redact, redact_personal

TOKEN = "ghp_" + "aB3dE5gH7jK9mN1pQ2sT4vW6yZ8xC0fR9kL2"


def test_the_view_is_what_a_reader_sees() -> None:
    for text in ("", "中文，也一样（真的）。", "don’t – “quoted” …", "naïve · café", "😀 fine"):
        assert fold(text) is None
    for text, view in (
        ("a\u200bb\ufeffc", "abc"), ("ａＢ９＿－＝：／", "aB9_-=:/"), ("密码：ａ１，好！", "密码:a1，好！"), ("ｓｅｎｄ？ｋ＝１", "send?k=1"),
        ("first\nse\u00adcond\nthird", "second"), ("❤\ufe0f x", "❤ x"), ("t\U000e0041ag", "tag"),
    ):  # fmt: skip
        folded = fold(text)
        assert folded is not None
        assert folded.text == view


@given(
    st.lists(
        st.sampled_from(["a", "B", "ｃ", "９", "\u200b", "\ufeff", "\n", "中", "😀", "\udcff", "\ufe0f"]),
        max_size=40,
    )
)
def test_every_place_of_the_view_is_one_of_the_text(letters: list[str]) -> None:
    text = "".join(letters)
    folded = fold(text)
    if folded is None:
        return
    for place, letter in enumerate(folded.text):
        start, end = folded.span(place, place + 1)
        assert end == start + 1
        assert text[start] == letter or ord(text[start]) - 0xFEE0 == ord(letter)
    start, end = folded.span(0, len(folded.text)) if folded.text else (0, 0)
    hidden = text[start:end].replace("\u200b", "").replace("\ufeff", "").replace("\ufe0f", "")
    assert len(hidden) == len(folded.text)


@pytest.mark.parametrize(
    "hidden", ["\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad", "\ufe0f", "\u202e", "\U000e0041"]
)
def test_a_secret_with_hidden_characters_goes_with_them(hidden: str) -> None:
    assert redact(f"push with {hidden.join(TOKEN)} now")[0] == "push with [REDACTED:github-token] now"
    assert redact(f"密{hidden}码：hun{hidden}ter2 好")[0].count("[REDACTED:password]") == 1


def test_a_secret_beside_hidden_characters_goes_as_well() -> None:
    assert TOKEN not in redact(f"a\u200b{TOKEN}\u200bb")[0]
    assert redact("密码：ｈｕｎｔｅｒ２，好")[0] == "密码：[REDACTED:password]，好"


def test_personal_data_in_full_width_goes_as_well() -> None:
    assert redact_personal("联系 ａｎｎ＠ｅｘａｍｐｌｅ．ｃｏｍ")[1] == ("email",)
    assert redact_personal("手机１３８１２３４５６７８")[1] == ("phone",)
    assert redact_personal("an\u200bn@exam\u200bple.com")[0] == "[REDACTED:email]"
