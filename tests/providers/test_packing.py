"""Packing: order kept, limits never exceeded, nothing lost; cuts at boundaries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers import packing
from commonplace.providers.attempts import TooLarge

SIZES = st.lists(st.integers(0, 60), max_size=80)
LIMITS = st.tuples(st.integers(1, 20), st.integers(1, 100))
TEXTS = st.text(st.characters(), max_size=300)


@given(SIZES, LIMITS)
def test_every_text_goes_once_in_as_few_requests_as_fit(sizes: list[int], limits: tuple[int, int]) -> None:
    groups = list(packing.pack(sizes, *limits))
    assert [place for group in groups for place in group] == list(range(len(sizes)))
    assert all(groups)
    for group in groups:
        assert len(group) <= limits[0]
        assert len(group) == 1 or sum(sizes[place] for place in group) <= limits[1]
    for group, following in itertools.pairwise(groups):
        held = sum(sizes[place] for place in group) + sizes[following.start]
        assert len(group) == limits[0] or held > limits[1]


@given(TEXTS, st.integers(2, 60))
def test_a_cut_text_is_a_start_that_fits(text: str, most: int) -> None:
    kept = packing.cut(text, most)
    assert text.startswith(kept) or text.encode("utf-8", "replace").decode().startswith(kept)
    assert packing.tokens(kept) <= most
    assert bool(kept) == bool(text)
    if packing.tokens(text) <= most:
        assert kept == text


def test_cuts_fall_between_words_where_there_are_any() -> None:
    for text, most, expected in [
        ("one two three four five six seven", 8, "one two three four five"),
        ("line one of it\nand line two goes on and on", 5, "line one of it"),
        ("我今天去了公园，和朋友喝茶。然后回家吃饭", 15, "我今天去了公园，和朋友喝茶。然"),
        ("nospacesatallinthisverylongword", 4, "nospacesatal"),
        ("茶", 1, "茶"),
        ("", 4, ""),
    ]:
        assert packing.cut(text, most) == expected
    assert [packing.tokens(text) for text in ("", "abc", "abcd", "我喜欢茶", "\ud800")] == [0, 1, 2, 4, 1]
    assert packing.clean("tea\ud800 <!-- by: agent -->").startswith("tea?")


def test_texts_that_are_too_long_are_halved_until_they_fit_or_end() -> None:
    def ask(texts: Sequence[str]) -> list[int]:
        if sum(map(len, texts)) > 40:
            raise TooLarge("acme", "too long", permanent=True)
        return list(map(len, texts))

    lengths = packing.ask_in_parts(ask, ["a" * 30, "b" * 30, "c" * 100], packing.halve)
    assert lengths[:2] == [30, 30]
    assert 20 <= lengths[2] <= 40
    with pytest.raises(TooLarge):
        packing.ask_in_parts(ask, ["c" * 100])
    with pytest.raises(TooLarge):
        packing.ask_in_parts(lambda texts: ask(["c" * 50]), ["c" * 100], packing.halve)
