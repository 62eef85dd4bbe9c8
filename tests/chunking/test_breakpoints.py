"""Where a stretch of lines may be cut, worked out by hand."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from commonplace.chunking import breakpoints
from commonplace.chunking.breakpoints import BLANK, DECAY, FENCE, HEADING, ITEM, LINE, RULE, choose, pieces
from commonplace.markdown.document import parse


def test_how_good_a_cut_before_each_line_is() -> None:
    for text, expected in [
        ("a\n# H\nb", [BLANK, HEADING, LINE]),
        ("a\n#no\nb", [BLANK, LINE, LINE]),
        ("a\n\nb", [BLANK, LINE, BLANK]),
        ("a\n- b\n2. c\n  * d", [BLANK, ITEM, ITEM, ITEM]),
        ("a\n```\nx\n```\nb", [BLANK, FENCE, LINE, LINE, FENCE]),
        ("a\n\n***\nb", [BLANK, LINE, RULE, LINE]),
        ("a\n\n- - -\nb", [BLANK, LINE, RULE, LINE]),
        ("a\n\n**\nb", [BLANK, LINE, BLANK, LINE]),
    ]:
        note = parse(text, "a.md")
        assert [breakpoints.score(note, n) for n in range(1, len(note.lines) + 1)] == expected


def test_a_hash_in_a_fence_is_no_heading() -> None:
    assert breakpoints.score(parse("```\nx\n# no\n```", "a.md"), 3) == LINE


def chosen(scores: list[float], window: float, end: int = 4, size: int = 10) -> int:
    return choose([size] * 4, lambda place: scores[place], 0, end, window)


def test_without_a_better_place_the_cut_falls_at_the_end() -> None:
    assert chosen([1, 1, 1, 1, 1], 40) == 4


def test_a_better_place_within_the_window_wins() -> None:
    assert chosen([1, 1, 100, 1, 1], 40) == 2


def test_a_place_beyond_the_window_does_not_count() -> None:
    assert chosen([1, 1, 100, 1, 1], 19) == 4


def test_the_first_unit_is_never_left_without_one() -> None:
    assert chosen([100, 1, 1, 1, 1], 400) == 4


def test_distance_takes_from_the_score_by_its_square() -> None:
    worth = 100 * (1 - DECAY * (20 / 40) ** 2)  # 82.5, two units of 10 left behind
    assert chosen([1, 1, 100, 1, worth - 0.1], 40) == 2
    assert chosen([1, 1, 100, 1, worth + 0.1], 40) == 4


@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(0, 100)), min_size=1, max_size=12), st.floats(0.1, 300)
)
def test_a_cut_always_leaves_something_and_never_passes_the_end(
    units: list[tuple[int, float]], window: float
) -> None:
    sizes, scores = [size for size, _ in units], [*(score for _, score in units), 1.0]
    assert 1 <= choose(sizes, lambda place: scores[place], 0, len(units), window) <= len(units)


def test_a_long_line_is_cut_where_it_pauses() -> None:
    for line, limit, expected in [
        ("short", 10, ["short"]),
        ("", 10, []),
        ("    ", 10, []),
        ("One two. Three four.", 12, ["One two.", "Three four."]),
        ('He said "no." Then left.', 16, ['He said "no."', "Then left."]),
        ("one two three four", 9, ["one two", "three", "four"]),
        ("abcdefghijkl", 5, ["abcde", "fghij", "kl"]),
        ("他走了。我留下来。", 5, ["他走了。", "我留下来。"]),
        ("他说：“走吧。”我就走", 8, ["他说：“走吧。”", "我就走"]),
        ("一二三，四五六七八", 6, ["一二三，", "四五六七八"]),
    ]:
        assert pieces(line, limit) == expected
