"""What one source can say: told apart on labelled lines of diaries in two languages, and on hostile texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.language.reading import last_day
from commonplace.upkeep.consolidation import grounding
from commonplace.upkeep.consolidation.grounding import Said, missing, resolved
from tests.upkeep.consolidation.pairs import DAY, FALSE, TRUE


def share(pairs: list[tuple[Said, str]]) -> float:
    return sum(not missing(text, [source]) for source, text in pairs) / len(pairs)


def test_there_are_enough_pairs_in_both_languages() -> None:
    every = [pair for table in (TRUE, FALSE) for pairs in table.values() for pair in pairs]
    assert len(every) >= 120
    assert sum(not text.isascii() for _, text in every) >= 45


@pytest.mark.parametrize("kind", TRUE)
def test_what_is_true_passes_mostly(kind: str) -> None:
    tuned, held = share(TRUE[kind][::2]), share(TRUE[kind][1::2])
    least = {"light edits": 0.8, "paraphrases": 0.7, "completed": 1.0}[kind]
    assert min(tuned, held) >= least, [text for source, text in TRUE[kind] if missing(text, [source])]


@pytest.mark.parametrize("kind", FALSE)
def test_nothing_false_passes_whatever_a_model_says_of_it(kind: str) -> None:
    assert [text for source, text in FALSE[kind] if not missing(text, [source])] == []


def test_two_facts_make_no_third() -> None:
    priya, ines = Said("Priya is vegetarian.", DAY), Said("Ines joined the storage team.", DAY)
    assert missing("Ines is vegetarian.", [priya, ines])
    assert not missing("Priya is vegetarian. Ines joined the storage team.", [priya, ines])


@pytest.mark.parametrize(
    ("text", "full", "last"),
    [
        ("The last P1 was on 21 April.", "The last P1 was on 2026-04-21.", ""),
        ("Advert due by 5 June.", "Advert due by 2026-06-05.", "2026-06-05"),
        ("Rent is 1800 from 5 June.", "Rent is 1800 from 2026-06-05.", ""),
        ("六月 15 到 26 日休假", "2026-06-15 至 2026-06-26休假", "2026-06-26"),
        ("爸爸的左眼九月以后", "爸爸的左眼2026-09以后", ""),
        ("The plumber comes tomorrow", "The plumber comes 2026-05-26", "2026-05-26"),
        ("第四季度再看", "第四季度再看", ""),
        ("Ann was born on March 14.", "Ann was born on March 14.", ""),
        ("小明的生日是12月14日。", "小明的生日是12月14日。", ""),
        ("The bonus was paid on June 20.", "The bonus was paid on June 20.", ""),
    ],
)
def test_days_are_told_in_full(text: str, full: str, last: str) -> None:
    assert resolved(text, [Said(text, DAY)]) == full
    assert last_day(full, DAY) == last
    assert not missing(full, [Said(text, DAY)])


def test_what_is_literal() -> None:
    source = Said("We decided that reviews take one day, at most two. Nest has won.", DAY, ("Names",))
    for text in ("Reviews take one day, at most two.", "Nest has won.", "Names: Nest has won."):
        assert grounding.is_literal(text, [source]), text
    assert not grounding.is_literal("Reviews take two days.", [source])
    assert not grounding.stands_first("Nest has won.", source)


@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=30))
def test_any_text_is_read(text: str, other: str, heading: str) -> None:
    source = Said(other, DAY, (heading,), "user")
    missing(text, [source])
    grounding.is_literal(text, [source])
    grounding.says(text, other)
    last_day(resolved(text, [source]), DAY)


@pytest.mark.parametrize(
    ("text", "heading", "expected"),
    [
        ("She likes tea.", "Mira", "Mira likes tea."),
        ("She likes tea.", "Mira Chen", "Mira Chen likes tea."),
        ("Her phone is blue.", "Mira", "Mira's phone is blue."),
        ("她的手机是蓝色。", "Mira", "Mira 的手机是蓝色。"),
        ("She likes tea.", "Mira\n\nLin", "She likes tea."),
    ],
)
def test_a_pronoun_gives_way_to_the_only_name_above(text: str, heading: str, expected: str) -> None:
    assert grounding.named(text, [Said(text, DAY, tuple(heading.split("\n\n")))]) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("Lin marries next year.", "Lin marries in 2027."), ("阿舟明年结婚。", "阿舟2027年结婚。")],
)
def test_a_year_is_told_as_a_year(text: str, expected: str) -> None:
    assert resolved(text, [Said(text, DAY)]) == expected
    assert missing(expected, [Said(text, DAY)]) == ""


@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        ("Lin refused to buy a car.", "Lin buys a car.", "failed"),
        ("Lin forgot to pay rent.", "Lin pays rent.", "failed"),
        ("Lin stopped eating meat.", "Lin eats meat.", "failed"),
        ("Lin wants to buy a car.", "Lin buys a car.", "intended"),
        ("Lin rarely eats meat.", "Lin eats meat.", "nearly"),
        ("小王拒绝买车。", "小王买车。", "failed"),
        ("小王忘了买车。", "小王买了车。", "failed"),
        ("小王希望买车。", "小王买车。", "intended"),
    ],
)
def test_what_was_not_done_is_not_told_as_done(said: str, text: str, reason: str) -> None:
    assert missing(text, [Said(said, DAY)]) == f"leaves out what restricts it ({reason})"
    assert missing(said, [Said(said, DAY)]) == ""


@pytest.mark.parametrize("text", ["The train stopped.", "The build failed.", "Lin quit.", "Mira hopes so."])
def test_a_sentence_that_ends_with_what_restricts_is_said_by_itself(text: str) -> None:
    assert missing(text, [Said(text, DAY)]) == ""
