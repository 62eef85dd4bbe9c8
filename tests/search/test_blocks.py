"""What a recalled block holds: hits as they were found, the best of them, nothing twice, nothing made up."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.base.tokens import about
from commonplace.language import compare
from commonplace.search.pack import compose
from commonplace.types import Hit


def hit(
    path: str, start: int, end: int, text: str, headings: tuple[str, ...] = (), date: str | None = None
) -> Hit:
    return Hit(path, start, end, text, 0.5, "T", headings, date, "memory", "abc123")


ONE_LINE = st.text(
    st.characters(exclude_categories=["C", "Z"], exclude_characters="<"), min_size=1, max_size=40
)
HITS = st.lists(
    st.builds(
        lambda path, start, lines: hit(path, start, start + len(lines) - 1, "\n".join(lines)),
        st.sampled_from(["a.md", "b/c.md"]),
        st.integers(1, 30),
        st.lists(ONE_LINE, min_size=1, max_size=5),
    ),
    max_size=8,
).filter(lambda hits: all(agree(one, other) for one in hits for other in hits))


def agree(one: Hit, other: Hit) -> bool:
    """Whether two passages have the same text at each line that both of them have, as passages of one note do."""
    if one.path != other.path:
        return True
    ours, theirs = (dict(enumerate(hit.text.split("\n"), hit.start_line)) for hit in (one, other))
    return all(ours[line] == theirs[line] for line in ours.keys() & theirs.keys())


@given(HITS, st.integers(1, 300))
def test_hits_come_best_first_and_only_the_best_is_cut_but_for_what_overlaps(
    hits: list[Hit], budget: int
) -> None:
    _, chosen, *_ = compose(hits, budget)
    whole = [one for one in chosen if one in hits]
    assert [hits.index(one) for one in whole] == sorted(hits.index(one) for one in whole)
    for cut in (one for one in chosen if one not in hits):
        text = cut.text.removesuffix("…").removesuffix("\n")
        origins = [one for one in hits if one.path == cut.path and text in one.text and within(cut, one)]
        others = [one for one in chosen if one is not cut]
        assert any(
            (chosen[0] is cut and one.text.startswith(text))
            or any(meet(one, other) or shared(one, other) for other in others)
            for one in origins
        )


def within(one: Hit, other: Hit) -> bool:
    return other.start_line <= one.start_line <= one.end_line <= other.end_line


def shared(one: Hit, other: Hit) -> bool:
    """Whether a line of one stands in the other as well."""
    return not set(one.text.split("\n")).isdisjoint(other.text.split("\n"))


def meet(one: Hit, other: Hit) -> bool:
    return one.path == other.path and one.start_line <= other.end_line and other.start_line <= one.end_line


@given(HITS)
def test_with_room_for_everything_all_that_differs_is_there(hits: list[Hit]) -> None:
    text, chosen, _, left_out, _ = compose(hits, 100_000)
    assert all(any(kept.text in one.text and kept.path == one.path for one in hits) for kept in chosen)
    lines = {line for kept in chosen for line in kept.text.split("\n")}
    assert all(
        any(one.text in kept.text for kept in chosen)
        or " ".join(one.text.split()) in {" ".join(k.text.split()) for k in chosen}
        or {line for line in one.text.split("\n") if len(line) > 3}
        <= lines  # of two that overlap all but stop words
        or any(compare.same(compare.read(one.text), compare.read(kept.text)) for kept in chosen)
        for one in hits
        if any(character.isalnum() for character in one.text)  # a bare mark of a heading says nothing
    )
    assert left_out == 0
    assert all(one.text in text for one in chosen)


@given(HITS, st.integers(1, 300))
def test_more_room_never_gives_less(hits: list[Hit], budget: int) -> None:
    less, more = compose(hits, budget), compose(hits, 100_000)
    assert len(less[1]) <= len(more[1])


def test_a_citation_says_where_when_and_under_what() -> None:
    for one, cited in [
        (hit("a.md", 3, 3, "x"), "From a.md#L3:"),
        (hit("a.md", 3, 5, "x"), "From a.md#L3-L5:"),
        (hit("a.md", 3, 3, "x", date="2026-02-13"), "From a.md#L3 (2026-02-13):"),
        (hit("a.md", 3, 3, "x", ("A", "B")), "From a.md#L3 (A › B):"),
        (hit("a.md", 3, 3, "x", ("2026-02-13", "B"), "2026-02-13"), "From a.md#L3 (2026-02-13, B):"),
    ]:
        assert compose([one], 500)[0].split("\n")[1] == cited


def test_only_lines_that_follow_on_share_a_citation() -> None:
    for second, joined in [
        (hit("a.md", 3, 4, "two"), True),
        (hit("a.md", 4, 4, "two"), False),
        (hit("a.md", 3, 3, "two", ("Other",)), False),
        (hit("b.md", 3, 3, "two"), False),
    ]:
        text = compose([hit("a.md", 1, 2, "one"), second], 500)[0]
        assert text.count("From ") == (1 if joined else 2)


def test_a_best_hit_of_one_long_line_is_cut_within_it() -> None:
    _, (cut,), *_ = compose([hit("a.md", 7, 7, "walnut " * 500)], 80)
    assert 0 < len(cut.text) < 3500
    assert (cut.start_line, cut.end_line) == (7, 7)


@pytest.mark.parametrize(
    "text",
    [
        "Our energy contract is with Greenchoice since the first of April, and the gas comes from them too. "
        * 3,
        "今天大年初一。给爸妈视频拜年，爸爸说他的血压又高了，开始吃氨氯地平。包了八十个饺子，白菜猪肉馅。"
        * 3,
        "a b " * 200,
        "- https://example.com/" + "path/" * 200,
    ],
)
def test_a_line_is_cut_behind_a_sentence_a_clause_or_a_word_and_says_so(text: str) -> None:
    for budget in range(40, 100):
        block = compose([hit("a.md", 7, 7, text)], budget)
        assert about(block.text) <= budget
        if not block.hits:
            continue
        begun = block.hits[0].text.removesuffix("…")
        assert block.hits[0].text == begun + "…"
        assert text.startswith(begun)
        if " " in begun and "http" not in text:
            assert text[len(begun)] == " "
    assert block.hits
    assert "http" in text or text[0] == "a" or begun[-1] in ".,。，"


def test_how_many_tokens_a_text_is_taken_for() -> None:
    for text, tokens in [
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("字", 1),
        ("字a", 2),
        ("字abcd", 2),
        ("ひらがな", 4),
        ("한국", 2),
        ("，", 1),
        ("𠀀", 1),
        ("é" * 4, 1),
    ]:
        assert about(text) == tokens


@given(st.text(), st.text())
def test_two_texts_never_take_more_together_than_apart(one: str, other: str) -> None:
    together = about(one + other)
    assert together <= about(one) + about(other)
    assert together >= max(about(one), about(other))
