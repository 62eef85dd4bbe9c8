"""Values, names and negations of a statement and its source, on labelled lines of diaries in two languages."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.upkeep.consolidation import evidence
from commonplace.upkeep.consolidation.evidence import Said, last_day, missing, resolved
from tests.upkeep.consolidation.pairs import ALTERED, ATTRIBUTED, DAY, INVENTED, SWAPPED, TRUE, TURNED

# Of whom something is said, and in which order, is left to the model that verifies.
REFUSED = {
    "altered": (ALTERED, 13),
    "invented": (INVENTED, 12),
    "turned": (TURNED, 19),
    "attributed": (ATTRIBUTED, 7),
}


@pytest.mark.parametrize(("kind", "least"), [("light edits", 20), ("paraphrases", 19), ("completed", 14)])
def test_true_statements_are_supported(kind: str, least: int) -> None:
    refused = [text for source, text in TRUE[kind] if missing(text, [source])]
    assert len(TRUE[kind]) - len(refused) >= least, refused


@pytest.mark.parametrize("kind", REFUSED)
def test_false_statements_are_refused_before_a_model_is_asked(kind: str) -> None:
    pairs, least = REFUSED[kind]
    supported = [text for source, text in pairs if not missing(text, [source])]
    assert len(pairs) - len(supported) >= least, supported


def test_the_order_of_words_is_not_compared() -> None:
    assert sum(bool(missing(text, [source])) for source, text in SWAPPED) <= 4


@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        ("Rent is 6,800 euros.", "Rent is 6,900 euros.", "has 6900, which the source does not have"),
        ("Larkspur pays within 30 days.", "Larkspur pays within 30 hours.", "has hour, which"),
        ("Priya is vegetarian.", "Mallory is vegetarian.", "has mallory, which"),
        ("Run `kesctl drain` first.", "Run `kesctl drop` first.", "has drop, which"),
        ("The vet comes tomorrow.", "The vet comes on 2026-05-27.", "has 2026-05-27, which"),
        ("The vet comes tomorrow.", "The vet comes on 2026-05-26.", ""),
        ("The vet comes on 9 June.", "The vet comes on 2026-06-09.", ""),
        ("The vet comes on 9 June.", "The vet comes in June 2026.", ""),
        ("Noor may not merge.", "Noor may merge.", "leaves out what restricts it (not)"),
        ("Noor may merge.", "Noor may not merge.", "adds what restricts it (not)"),
        ("Should we move?", "Should we move.", "leaves out what restricts it (asks)"),
        ("Petra can't eat nuts. She likes figs.", "Petra likes figs.", ""),
        ("Lin forgot to pay rent.", "Lin pays rent.", "leaves out what restricts it (failed)"),
        ("豆豆不能吃芒果。", "豆豆能吃芒果。", "leaves out what restricts it (not)"),
        ("豆豆喜欢想象。", "豆豆喜欢想象。", ""),
        ("Rain.", "The meadow is green and quiet.", "has too many words that are not in the source"),
    ],
)
def test_a_reason_names_the_difference(said: str, text: str, reason: str) -> None:
    assert missing(text, [Said(said, DAY)]).startswith(reason)
    assert bool(missing(text, [Said(said, DAY)])) is bool(reason)


def test_two_facts_make_no_third() -> None:
    priya, ines = Said("Priya is vegetarian.", DAY), Said("Ines joined the storage team.", DAY)
    assert missing("Ines is vegetarian.", [priya, ines])
    assert not missing("Priya is vegetarian. Ines joined the storage team.", [priya, ines])
    assert missing("Priya is vegetarian.", []) == "has no source"


@pytest.mark.parametrize(
    ("text", "full", "last"),
    [
        ("The last P1 was on 21 April.", "The last P1 was on 2026-04-21.", ""),
        ("Advert due by 5 June.", "Advert due by 2026-06-05.", "2026-06-05"),
        ("Rent is 1800 from 5 June.", "Rent is 1800 from 2026-06-05.", ""),
        ("六月 15 到 26 日休假", "2026-06-15 至 2026-06-26休假", "2026-06-26"),
        ("The plumber comes tomorrow", "The plumber comes 2026-05-26", "2026-05-26"),
        ("第四季度再看", "第四季度再看", ""),
        ("Dentist on Wednesday", "Dentist on Wednesday", ""),
        ("Ann was born on March 14.", "Ann was born on March 14.", ""),
        ("小明的生日是12月14日。", "小明的生日是12月14日。", ""),
        ("Lin marries next year.", "Lin marries in 2027.", ""),
        ("阿舟明年结婚。", "阿舟2027年结婚。", ""),
    ],
)
def test_days_in_full(text: str, full: str, last: str) -> None:
    assert resolved(text, DAY) == full
    assert last_day(full, DAY) == last
    assert not missing(full, [Said(text, DAY)])


def test_a_whole_sentence_opens_its_source() -> None:
    source = Said("Reviews take one day, at most two. Nest has won. She agreed.", DAY)
    assert evidence.opens("Reviews take one day, at most two.", source)
    assert evidence.opens("Reviews take one day, at most two. Nest has won", source)
    assert not evidence.opens("Nest has won.", source)
    assert not evidence.opens("Reviews take one day.", source)
    assert not evidence.opens("She agreed.", Said("She agreed.", DAY))
    assert not evidence.opens("喜欢喝茶。", Said("喜欢喝茶。", DAY))


@given(st.text(max_size=200), st.text(max_size=400), st.text(max_size=30))
def test_any_text_is_read(text: str, other: str, heading: str) -> None:
    source = Said(other, DAY, (heading,), "user")
    missing(text, [source])
    evidence.opens(text, source)
    evidence.says(text, other)
    last_day(resolved(text, DAY), DAY)
