"""Texts compared: what says the same, what only looks like it, and what a note and a transcript share."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.language import compare

LONG = (
    "The billing service moved to the new cluster in Frankfurt and Dana watches the queue there every"
    " morning before the team meets for coffee and plans what comes"
)
CHINESE = "我觉得我住的金色家园真心不错，环境挺优雅的，绿化也做得好，住着特别舒服。周围啥都有，买东西很方便"
SAME = [
    ("I prefer tea over coffee.", "- i prefer tea, over coffee"),
    ("User prefers dark mode", "- 14:05 **User prefers dark mode.**"),
    ("User prefers dark mode", "- [09:31] User prefers dark mode"),
    ("1. Dana moves to Lisbon", "* Dana moves to Lisbon"),
    ("The deploy moved to Thursday", "Deploy moved to Thursday"),
    ("Rent is 1,000 a month", "Rent is 1000 a month"),
    ("## Plan\n\nDana moves to Lisbon", "Dana moves to Lisbon"),
    ("Dana moves to Lisbon <!-- importance: 5 -->", "Dana moves to Lisbon"),
    ("计画改到周五", "计画改到周五。"),
    ("臺灣的計畫改到周五", "台湾的计划改到周五"),
    ("don’t deploy on Friday", "Don't deploy on Friday"),
    (LONG, LONG + " along"),
    (LONG, LONG.replace("comes", "come")),
    (CHINESE, CHINESE.replace("金色家园", "那个金色家园")),
]
DIFFERENT = [
    ("prefers 1,000", "prefers 1,200"),
    ("I like tea", "I do not like tea"),
    (LONG, LONG.replace("every", "not every")),
    (LONG, LONG.replace("Frankfurt", "Dublin")),
    (LONG, LONG + " on Friday"),
    (LONG, LONG + " at 14:05"),
    (LONG, LONG + " 2026-02-13"),
    (LONG, LONG.replace("watches", "never watches")),
    (LONG, LONG.replace("watches", "used to watch")),
    (LONG, LONG.replace("watches", "may watch")),
    (LONG, LONG + "?"),
    (LONG, f"~~{LONG}~~"),
    ("Alice beats Bob", "Bob beats Alice"),
    ("- 09:00 standup", "- 10:00 standup"),
    ("- [ ] call the bank about the loan", "- [x] call the bank about the loan"),
    ("it was -5°C outside", "it was 5°C outside"),
    ("costs $5 a month", "costs €5 a month"),
    ("write it in C++", "write it in C"),
    ("User: I want the blue one", "Assistant: I want the blue one"),
    (CHINESE, CHINESE.replace("不错", "错")),
    (CHINESE, CHINESE.replace("方便", "麻烦")),
    ("会议改到三点", "会议改到四点"),
    ("喝茶", "不喝茶"),
    ("---", "***"),
    ("", ""),
]
WORDS = st.text(st.characters(codec="utf-8"), max_size=80)


def same(one: str, other: str) -> bool:
    return compare.same(compare.read(one), compare.read(other))


def test_the_same_in_other_marks_or_with_a_word_more() -> None:
    for one, other in SAME:
        assert same(one, other)
        assert same(other, one)


def test_what_turns_a_statement_keeps_two_apart() -> None:
    for one, other in DIFFERENT:
        assert not same(one, other)
        assert not same(other, one)


@given(WORDS, WORDS)
def test_it_does_not_matter_which_is_compared_with_which(one: str, other: str) -> None:
    assert same(one, other) == same(other, one)


@given(st.text("abc不1 .-", max_size=60), st.sampled_from(["not", "17", "不", "$", "friday"]))
def test_a_number_a_negation_a_sign_or_a_day_more_is_another_statement(text: str, more: str) -> None:
    assert not same(f"walnut {text}", f"walnut {text} {more}")


def test_of_a_program_every_character_counts() -> None:
    assert compare.same(compare.verbatim("x = 1"), compare.verbatim("x = 1"))
    assert not compare.same(compare.verbatim("x = 1"), compare.verbatim("x  =  1"))


def test_a_short_statement_is_one_of_its_headings() -> None:
    short, long = compare.read("prefers tea"), compare.read(LONG)
    assert not compare.agree(("People", "Alice"), ("People", "Bob"), short)
    assert compare.agree(("People", "Alice"), ("People", "Alice"), short)
    assert compare.agree(("2026-02-13 Friday",), ("Memory", "Notes"), short)
    assert compare.agree(("People", "Alice"), ("2026-02-13",), short)
    assert compare.agree(("People", "Alice"), ("People", "Bob"), long)
    assert not compare.agree(("People", "Alice"), ("People", "Bob"), long, frozenset({"bob"}))
    assert not compare.agree(("1.2.0",), ("1.3.0",), compare.read("Bug fixes"))
