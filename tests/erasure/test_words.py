"""Words in every form that a file may have them in, and none inside another word."""

from __future__ import annotations

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.erasure.words import MARK, Words

FOUND = [
    ("Mira", "Mira's tea"), ("Mira", "MIRA"), ("Mira", "和Mira一起"), ("Mira", "people/mira.md"), ("Mira", "a_mira_b"),
    ("Mira", '"hello\\nMira"'), ("Mira Chen", "Mira\n  Chen"), ("Mira Chen", "mira-chen"),
    ("Mira Chen", "Mira%20Chen"), ("Mira Chen", "Mira\u3000Chen"), ("Mira Chen", "Mira\\\\nChen"),
    ("O'Brien", "O’Brien"), ("José", "JOSE\u0301"), ("José", "jos%C3%A9"), ("张三", "我和張三说"),
    ("张三", json.dumps("和张三")), ("张三", json.dumps(json.dumps("张三"))), ("张三", quote("张三").lower()),
    ("C++", "in c++ or"), ("+49 123", "ring +49  123."), ("Ａｎｎ", "ann"),
]  # fmt: skip
NOT_FOUND = [
    ("Mira", "admiral Miranda"), ("Mira", "Miras"), ("Ann", "planned"), ("Mira Chen", "Mira\n\nChen"), ("张三", "张 伟三"),
    ("Mira Chen", "Mira and Chen"), ("12", "2012"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "text"), FOUND)
def test_what_is_found(word: str, text: str) -> None:
    assert Words([word], names=True).found(text)


@pytest.mark.parametrize(("word", "text"), NOT_FOUND)
def test_what_is_something_else(word: str, text: str) -> None:
    assert not Words([word], names=True).found(text)


def test_only_names_are_joined_by_hyphens() -> None:
    assert not Words(["tea pot"]).found("tea-pot")
    assert Words(["tea pot"]).found("tea\npot")


def test_marks_stand_where_words_did() -> None:
    assert Words(["Mira", "Mira Chen"]).replaced("Mira Chen, Mira") == f"{MARK}, {MARK}"


NAMES = st.text(st.characters(categories=("Lu", "Ll", "Lo")), min_size=1, max_size=8)


@given(NAMES, st.sampled_from([" {} ", "({}).", "\n{}\n", '"{}"', "和 {} 去"]))
def test_any_name_is_found_as_it_is_written(name: str, around: str) -> None:
    assert Words([name]).found(around.format(name))


@given(st.text(max_size=60), NAMES)
def test_nothing_is_left_after_replacing(text: str, name: str) -> None:
    words = Words([name])
    assert not words.found(words.replaced(text, " "))
