"""Words in every form that a file may have them in, and none inside another word."""

from __future__ import annotations

import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from commonplace.edit.forget.words import MARK, Words

FOUND = [
    ("Mira", "Mira's tea"), ("Mira", "MIRA"), ("Mira", "和Mira一起"), ("Mira", "people/mira.md"), ("Mira", "a_mira_b"),
    ("Mira", '"hello\\nMira"'), ("Mira Chen", "Mira\n  Chen"), ("Mira Chen", "mira-chen"),
    ("Mira Chen", "Mira\u3000Chen"), ("Mira Chen", "Mira\\\\nChen"),
    ("O'Brien", "O’Brien"), ("José", "JOSE\u0301"), ("张三", "我和張三说"),
    ("张三", json.dumps("和张三")), ("张三", json.dumps(json.dumps("张三"))),
    ("C++", "in c++ or"), ("+49 123", "ring +49  123."), ("Ａｎｎ", "ann"),
    ("Mira Chen", "> It was Mira\n> Chen"), ("Mira Chen", "> > Mira\r\n> > Chen"), ("Mira Chen", "Met **Mira** Chen."),
    ("Mira Chen", "_Mira_ ~~Chen~~"), ("Mira Chen", "to mira.chen@acme.com"), ("Mira Chen", "mira_chen.md"),
    ("Mira Chen", "Mira L. Chen"), ("Mira Chen", "Mira L Chen"), ("Mira Chen", "mira.l.chen@acme.com"),
    ("Mira Chen", "Mi\u200bra\u00a0Ch\u00aden"), ("Mira Chen", "Mira\u200bChen"), ("Mi\u200bra", "Mira"),
    ("Mira Chen", json.dumps("> Mira\n> Chen")), ("王伟", "- 姓王\n  伟，"), ("王伟", "> 姓王\n> 伟"), ("王伟", "王 伟"),
    ("王伟", "**王**伟"), ("王伟", "王\u200b伟"), ("王 伟", "王伟"), ("王伟", json.dumps("王\n  伟")), ("José", json.dumps("Jos\u200bé")), ("王偉", json.dumps("王伟")),
]  # fmt: skip
NOT_FOUND = [
    ("Mira", "admiral Miranda"), ("Mira", "Miras"), ("Ann", "planned"), ("Mira Chen", "Mira\n\nChen"), ("张三", "张 伟三"),
    ("Mira Chen", "Mira and Chen"), ("12", "2012"),
    ("Mira Chen", "Mira. Chen left"), ("Mira Chen", "Mira, Chen"), ("Mira Chen", "- Mira\n- Chen"), ("Mira Chen", "Mira\n* Chen"),
    ("Mira Chen", "Mira a Chen"), ("Mira", "Mi\u00adracle"), ("王伟", "王，伟"), ("王伟", "- 王\n- 伟"), ("王伟", "王\n\n伟"),
    ("王伟", "王  伟"), ("Mira Chen", "MiraChen"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "text"), FOUND)
def test_what_is_found(word: str, text: str) -> None:
    assert Words([word], names=True).match(text)


@pytest.mark.parametrize(("word", "text"), NOT_FOUND)
def test_what_is_something_else(word: str, text: str) -> None:
    assert not Words([word], names=True).match(text)


def test_only_names_are_joined_by_hyphens() -> None:
    assert not Words(["tea pot"]).match("tea-pot")
    assert Words(["tea pot"]).match("tea\npot")


EMPHASIS = st.sampled_from(["", "*", "**", "__", "~~", "`", "\u200b", "\u2060"])
INDENT = st.sampled_from(["", "  ", "> ", "> > ", ">", "\t", "    > "])
ENDS = st.sampled_from(["\n", "\r\n", " \n", "\\n", "\u3000\n"])
BREAKS = st.tuples(EMPHASIS, ENDS, INDENT, EMPHASIS).map("".join)
BLANKS = st.tuples(EMPHASIS, st.sampled_from([" ", "  ", "\t", "\u00a0", " ** "]), EMPHASIS).map("".join)
NONE = st.tuples(EMPHASIS, st.sampled_from(["", " "]), EMPHASIS).map("".join)


@given(st.one_of(BREAKS, BLANKS), st.booleans(), st.sampled_from(["{}", "met {}.", "> {}'s", "和{}说"]))
def test_whatever_stands_between_words_they_are_found(between: str, names: bool, around: str) -> None:
    text = around.format(f"Mira{between}Chen")
    spans = Words(["Mira Chen"], names=names).spans(text)
    assert [text[first:last] for first, last in spans] == [f"Mira{between}Chen"]


@given(st.one_of(BREAKS, NONE), st.sampled_from(["{}", "姓{}，", "> {}。", "his name: {}"]))
def test_whatever_stands_between_characters_they_are_found(between: str, around: str) -> None:
    text = around.format(f"王{between}伟")
    assert [text[first:last] for first, last in Words(["王伟"]).spans(text)] == [f"王{between}伟"]


def test_marks_stand_where_words_did() -> None:
    assert Words(["Mira", "Mira Chen"]).mask("Mira Chen, Mira") == f"{MARK}, {MARK}"


NAMES = st.text(st.characters(categories=("Lu", "Ll", "Lo")), min_size=1, max_size=8)


@example("\ufb2a", " {} ")
@given(NAMES, st.sampled_from([" {} ", "({}).", "\n{}\n", '"{}"', "和 {} 去"]))
def test_any_name_is_found_as_it_is_written(name: str, around: str) -> None:
    assert Words([name]).match(around.format(name))


@given(st.text(max_size=60), NAMES)
def test_nothing_is_left_after_replacing(text: str, name: str) -> None:
    words = Words([name])
    assert not words.match(words.mask(text, " "))


@given(
    st.lists(
        st.sampled_from(["Mira", "王伟", "rides", "a", "tram", "don't", "every day"]), min_size=1, max_size=4
    )
)
def test_many_words_are_found_as_few_are(parts: list[str]) -> None:
    text = f"x\n{' '.join(parts)}\ny Mira  rides\n> a tram; 王\n伟 every day"
    words = [" ".join(parts), "Mira rides", "a tram", "王伟", "nobody"]
    others = [f"{number} is another number than {number + 1}" for number in range(50)]
    assert Words([*words, *others]).spans(text) == Words(words).spans(text)
