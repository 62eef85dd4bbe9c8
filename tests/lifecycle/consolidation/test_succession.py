"""What may take the place of what, and what ends it: told apart on labelled pairs in two languages."""

from __future__ import annotations

import pytest

from commonplace.lifecycle.consolidation import durable, succession
from tests.lifecycle.consolidation.pairs import ENDS, KEEPS, REPLACES, STAYS


def replaced(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(old, new) for old, new in pairs if succession.replaces(new, old)]


def ended(pairs: list[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(old, new) for old, new in pairs if durable.ends(new) and succession.ends(new, old)]


def test_there_are_enough_pairs_in_both_languages() -> None:
    for pairs in (REPLACES, KEEPS, ENDS, STAYS):
        assert len({pair for pair in pairs if not pair[0].isascii()}) >= len(pairs) / 3
    assert len(REPLACES) + len(KEEPS) + len(ENDS) + len(STAYS) == 300


def test_what_speaks_of_something_else_takes_no_place() -> None:
    assert len(replaced(KEEPS)) <= 0.02 * len(KEEPS), replaced(KEEPS)
    assert len(ended(STAYS)) <= 0.04 * len(STAYS), ended(STAYS)


def test_most_of_what_took_its_place_may() -> None:
    assert len(replaced(REPLACES)) >= 0.6 * len(REPLACES)
    assert len(ended(ENDS)) >= 0.5 * len(ENDS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mira owns billing. She lives in Porto.", "Ada owns billing."),
        ("Deploys go out on Tuesdays. Mira signs them off.", "Deploys go out on Thursdays."),
        ("计费服务由米拉负责。她住在波尔图。", "计费服务由小王负责。"),
    ],
)
def test_a_second_sentence_is_not_lost_with_the_first(old: str, new: str) -> None:
    assert not succession.replaces(new, old)
    rest = " ".join(old.split(" ")[3:]) if old.isascii() else old.partition("。")[2]
    first = old.removesuffix(rest).strip()
    assert succession.replaces(new, first)
    assert succession.replaces(f"{new} {rest}", old)


@pytest.mark.parametrize("text", ["", "…", "?", "- ", "123", "的", "\u200b", "a" * 2000])
def test_odd_texts_take_no_place_and_raise_nothing(text: str) -> None:
    for other in ("Mira owns billing.", "小王喜欢茶。"):
        assert not succession.replaces(text, other)
        assert not succession.replaces(other, text)
        assert not succession.ends(text, other)
