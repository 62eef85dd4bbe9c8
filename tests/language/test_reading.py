"""What a text says word by word, in two languages, and the days that it names."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.reading import last_day, on_next_day, read

DAY = date(2026, 5, 25)  # a Monday


def tokens(text: str, kind: str) -> list[str]:
    return [token.key for sentence in read(text, DAY) for token in sentence.tokens if token.kind == kind]


@pytest.mark.parametrize(
    ("text", "kind", "keys"),
    [
        ("Ann may move in May.", "turn", ["possible"]),
        ("Petra can't and cannot eat nuts.", "turn", ["able", "not", "able", "not"]),
        ("两台副本不能同时重启。", "turn", ["not", "able"]),
        ("The plumber comes tomorrow at 8.", "date", ["2026-05-26"]),
        ("明天上午十点", "number", ["10"]),
        ("Costs 1,250 euros, twenty each.", "number", ["1250", "20"]),
        ("Run `make audit` first.", "code", ["mak", "audit"]),
    ],
)
def test_kinds_of_words(text: str, kind: str, keys: list[str]) -> None:
    assert tokens(text, kind) == keys


def test_a_day_of_the_week_is_the_next_one_where_no_date_stands_by_it() -> None:
    assert on_next_day("Dentist on Wednesday.", DAY) == "Dentist on 2026-05-27."
    assert on_next_day("Dentist on Wednesday 3 June.", DAY) == "Dentist on Wednesday 3 June."
    assert on_next_day("周三体检。", DAY) == "2026-05-27体检。"


def test_the_last_day_that_matters() -> None:
    assert last_day("Advert due by 2026-06-05.", DAY) == "2026-06-05"
    assert last_day("Rent is 1800 from 2026-06-05.", DAY) == ""
    assert last_day("The last P1 was on 2026-04-21.", DAY) == ""


@given(st.text(max_size=300))
def test_any_text_is_read(text: str) -> None:
    for sentence in read(text, DAY):
        assert sentence.tokens
    last_day(on_next_day(text, DAY), DAY)
