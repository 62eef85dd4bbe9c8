"""Packing: order kept, limits never exceeded, nothing lost; cuts at boundaries."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers import packing

SIZES = st.lists(st.integers(0, 60), max_size=80)
LIMITS = st.tuples(st.integers(1, 20), st.integers(1, 100))
TEXTS = st.text(st.characters(), max_size=300)


@given(SIZES, LIMITS)
def test_limits_are_kept(sizes: list[int], limits: tuple[int, int]) -> None:
    for group in packing.pack(sizes, *limits):
        assert len(group) <= limits[0]
        assert len(group) == 1 or sum(sizes[place] for place in group) <= limits[1]


@given(TEXTS, st.integers(2, 60))
def test_a_cut_text_is_a_start_that_fits(text: str, most: int) -> None:
    kept = packing.cut(text, most)
    assert text.startswith(kept) or text.encode("utf-8", "replace").decode().startswith(kept)
    assert packing.tokens(kept) <= most
    assert bool(kept) == bool(text)
    if packing.tokens(text) <= most:
        assert kept == text


@given(TEXTS)
def test_halving_ends(text: str) -> None:
    rounds = 0
    while text:
        shorter = packing.halve(text)
        assert len(shorter) < len(text)
        text, rounds = shorter, rounds + 1
    assert rounds <= 12


def test_cuts_fall_between_words_where_there_are_any() -> None:
    for text, most, expected in [
        ("one two three four five six seven", 8, "one two three four five"),
        ("First sentence here. Then a second one follows.", 8, "First sentence here."),
        ("line one of it\nand line two goes on and on", 5, "line one of it"),
        ("我今天去了公园，和朋友喝茶。然后回家吃饭", 15, "我今天去了公园，和朋友喝茶。然"),
        ("我今天去了公园然后回家吃饭睡觉", 5, "我今天去了"),
        ("nospacesatallinthisverylongword", 4, "nospacesatal"),
        ("cafe\u0301s", 2, "cafe\u0301"),
        ("abcde\u0301fgh", 2, "abcde"),
        ("茶", 1, "茶"),
        ("👩‍👩‍👧", 1, "👩"),
        ("", 4, ""),
    ]:
        assert packing.cut(text, most) == expected
