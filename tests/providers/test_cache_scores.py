"""Scores in memory: bounded, by all that a score depends on."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.providers import cache
from commonplace.providers.cache import ScoreCache

PARTS = st.tuples(st.text(), st.text(), st.text())


def test_they_are_bounded() -> None:
    kept = ScoreCache(2)
    kept.keep("m", {b"a": 0.1, b"b": 0.0})
    assert kept.find([b"a", b"b", b"c"]) == {b"a": 0.1, b"b": 0.0}
    kept.keep("m", {b"c": 0.3})
    assert kept.find([b"a", b"b", b"c"]) == {b"c": 0.3}


@given(PARTS, PARTS)
def test_two_pairs_have_two_keys(one: tuple[str, str, str], other: tuple[str, str, str]) -> None:
    assert (cache.score_key(*one) == cache.score_key(*other)) == (one == other)
    assert cache.score_key("m", "ab", "c") != cache.score_key("m", "a", "bc")
