"""A change taken back out of what a file has become: exactly, or not at all."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.history import lines

TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"\n", b"c\r\n"]), max_size=9).map(b"".join)


def text(*names: str) -> bytes:
    return "".join(f"- {name}\n" for name in names).encode()


@pytest.mark.parametrize(
    ("before", "after", "now", "wanted"),
    [
        ("a b", "a b OURS", "a b OURS later", "a b later"),  # an agent's append
        ("a b c", "a c", "new a c", "new a b c"),
        ("a b c d", "a B c D", "a B c D e", "a b c d e"),
        ("a b c", "a B c", "x a B y c", "x a b y c"),
        ("a x b x c", "a x b c", "a x b c new", "a x b x c new"),
    ],
)
def test_what_stands_is_taken_back(before: str, after: str, now: str, wanted: str) -> None:
    texts = [text(*names.split()) for names in (before, after, now)]
    assert lines.taken_back(*texts) == text(*wanted.split())


@pytest.mark.parametrize(
    ("before", "after", "now", "told"),
    [
        ("a b", "a B", "a changed", "line 2"),
        ("a b c", "a c", "a between c", "line 2"),  # where it was, something else stands now
        ("a b", "a", "a later", "line 2"),
        ("a", "a OURS", "a", "line 2"),
        ("a x x x x x b", "a x x x x x x b", "n a x x x x x x n b", "cannot be told"),
        ("a b c d", "a B C d", "a B x C d", "line 3"),
    ],
)
def test_what_does_not_stand_refuses(before: str, after: str, now: str, told: str) -> None:
    with pytest.raises(lines.Overlap, match=told):
        lines.taken_back(*(text(*names.split()) for names in (before, after, now)))


def test_utf_16_is_not_taken_apart() -> None:
    with pytest.raises(lines.Overlap, match="UTF-16"):
        lines.taken_back(*(f"{words}\n".encode("utf-16") for words in ("a", "a b", "a b c")))


@given(TEXTS, TEXTS, TEXTS)
def test_no_line_is_lost_or_doubled(before: bytes, after: bytes, now: bytes) -> None:
    """Whatever texts they are: what is there afterwards is what was, less what was added, and what was removed."""
    try:
        result = lines.taken_back(before, after, now)
    except lines.Overlap:
        return
    wanted = Counter(lines.split(now))
    wanted.subtract(Counter(lines.split(after)))
    wanted.update(lines.split(before))
    found = Counter(lines.split(result))
    assert {line: n for line, n in wanted.items() if n} == dict(found)


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_distinct_lines_come_back_exactly_or_not_at_all(rng: random.Random, length: int) -> None:
    """Of lines that differ it is known what is wanted: those from before, with what came later in its place."""
    before = [f"line {n}\n".encode() for n in range(length)]
    ours, theirs = edits(rng, length, b"ours"), edits(rng, length, b"theirs")
    after = edited(before, ours)
    now = edited(before, {**ours, **{place: edit for place, edit in theirs.items() if place not in ours}})
    wanted = edited(before, {place: edit for place, edit in theirs.items() if place not in ours})
    try:
        result = lines.taken_back(*map(b"".join, (before, after, now)))
    except lines.Overlap:
        assert now != after  # what nobody touched always comes back
    else:
        assert result == b"".join(wanted)


Edit = list[bytes] | None  # what stands before a line, the line itself, or None for its removal


def edits(rng: random.Random, length: int, who: bytes) -> dict[int, Edit]:
    found: dict[int, Edit] = {}
    for place in rng.sample(range(length), rng.randint(0, length // 2)):
        new = b"%s %d\n" % (who, place)
        found[place] = rng.choice([None, [new], [new, b"line %d\n" % place], [b"line %d\n" % place, new]])
    return found


def edited(before: list[bytes], changes: dict[int, Edit]) -> list[bytes]:
    return [new for place, line in enumerate(before) for new in (changes.get(place, [line]) or [])]


@given(TEXTS, TEXTS)
def test_untouched_it_comes_back_whatever_it_is_where_it_is_plain(before: bytes, after: bytes) -> None:
    added, removed = lines.counted(before, after)
    assert (added - removed) == len(lines.split(after)) - len(lines.split(before))
    made = [
        line
        for hunk in lines.hunks(lines.split(before), lines.split(after))
        for line in lines.split(after)[hunk.other_first : hunk.other_last]
    ]
    assert len(made) == added
