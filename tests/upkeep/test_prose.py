"""Words counted, sentences cut, and what may not stand in a note taken out, in two languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.upkeep import prose
from tests.upkeep.conversations import SECRET


@pytest.mark.parametrize(
    ("texts", "language"),
    [
        (["Move the deploy."], "en"),
        (["把部署改到周四。"], "zh"),
        (["把 deploy 改到 Friday 下午"], "zh"),
        (["Call it 周报 in the calendar, please."], "en"),
        (["好的", "ok"], "zh"),
        (["fine", "yes, do", "好的"], "en"),
        ([], "en"),
        (["", "  "], "en"),
    ],
)
def test_the_language_of_what_was_said(texts: list[str], language: str) -> None:
    assert prose.language(texts) == language


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Move the deploy to 14:05, don't wait.", 7),
        ("src/schema.py and user@example.com", 3),
        ("部署改到周四", 3),
        ("部署改到周四啊", 4),
        ("把 deploy 改到 Friday", 4),
        ("", 0),
    ],
)
def test_words_are_counted(text: str, words: int) -> None:
    assert prose.words(text) == words


def test_sentences_end_where_they_end() -> None:
    assert prose.sentences("It runs, e.g. here. Version 1.2 is out! Why? 真的吗？是的。好") == [
        "It runs, e.g. here.",
        "Version 1.2 is out!",
        "Why?",
        "真的吗？",
        "是的。",
        "好",
    ]


def test_a_text_is_cut_between_sentences_then_between_words() -> None:
    text = "The first one. The second one. The third."
    assert prose.within(text, 7) == "The first one. The second one."
    assert prose.within(text, 50) == text
    assert prose.within("one two, three four five", 3) == "one two, three…"
    assert prose.within("部署改到周四。供应商晚了。", 4) == "部署改到周四。"
    assert prose.within("部署改到周四供应商晚了", 3) == "部署改到周四…"


@given(st.text(alphabet="ab ,.!?。，中文字\n", max_size=200), st.integers(1, 30))
def test_what_is_cut_fits(text: str, most: int) -> None:
    assert prose.words(prose.within(text, most)) <= most


def test_plain_text_is_one_line_without_marks_comments_and_secrets() -> None:
    text = f"## - Use\n {SECRET} <!-- by: owner --> now <private>secret love</private>. <!-- importance: 10"
    said = prose.plain(text)
    assert said.startswith("Use [REDACTED:github-token]")
    assert "<!--" not in said
    assert "love" not in said
    assert "\n" not in said


def test_what_is_about_something_else_is_told_apart() -> None:
    known = prose.terms("Please move the deploy of kestrel to Thursday. The vendor is late.")
    assert prose.is_about("The deploy was moved to Thursday.", known)
    assert not prose.is_about("What an amazing, wonderful collaboration!", known)
    assert not prose.is_about("", known)
    assert prose.is_about("用户偏好简洁的回答。", prose.terms("回答请简短一点"))
    chinese = prose.terms("把部署改到周四，供应商晚了。")
    assert prose.is_about("部署定在周四", chinese)
    assert not prose.is_about("您真是太棒了，合作非常愉快", chinese)


def test_what_passes_for_a_language() -> None:
    assert prose.is_in("修改了 src/schema.py、src/api/v2/routes.py 和 tests/api/test_routes.py。", "zh")
    assert not prose.is_in("Edited schema.py.", "zh")
    assert prose.is_in("The weekly report 周报 is sent to Lin every Friday.", "en")
    assert not prose.is_in("周报每周五发给林工。", "en")
