"""What a block says already: passages and sentences that are left out, and those that must stay."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from commonplace.search import pack
from commonplace.search.dedupe import Repeats
from commonplace.types import Hit

SHOES = "- Dana bought running shoes in Lisbon yesterday."
DESK = "- The walnut desk stands by the northern window."
LUNCH = "- Lunch with Bob at the harbour was excellent."


def hit(path: str, start: int, text: str, headings: tuple[str, ...] = ("Day",)) -> Hit:
    end = start + text.count("\n")
    return Hit(path, start, end, text, 0.5, "T", headings, "2026-02-13", "memory", "abc123")


def rest(first: Hit, second: Hit) -> Hit | None:
    told = Repeats()
    told.add(first)
    return told.rest(second)


def test_a_passage_that_says_nothing_new_is_left_out() -> None:
    both = hit("a.md", 1, f"{SHOES}\n{DESK}")
    assert rest(hit("a.md", 1, DESK), hit("b.md", 4, f"- 14:05 {DESK[2:]}")) is None
    assert rest(both, hit("a.md", 2, DESK)) is None
    assert rest(both, hit("b.md", 4, LUNCH)) == hit("b.md", 4, LUNCH)


def test_a_short_sentence_under_another_heading_stays() -> None:
    text = "- Prefers green tea without sugar."
    bob = hit("b.md", 1, text, ("Bob",))
    assert rest(hit("a.md", 1, text, ("Alice",)), bob) == bob
    assert rest(hit("a.md", 1, text, ("Bob",)), bob) is None


def test_what_is_said_already_is_counted() -> None:
    hits = [hit("a.md", 1, f"{SHOES}\n{DESK}"), hit("b.md", 1, f"{SHOES}\n{DESK}"), hit("c.md", 1, LUNCH)]
    found = pack.compose(hits, 1000)
    assert (found.left_out, found.repeated) == (0, 1)


SENTENCES = st.sampled_from([SHOES, DESK, LUNCH, "", "- Yes.", "# Day", "| a | b |"])
HITS = st.lists(
    st.builds(
        lambda path, lines: hit(path, 1, "\n".join(["x", *lines])),
        st.sampled_from(["a.md", "b.md", "c.md"]),
        st.lists(SENTENCES, min_size=1, max_size=6),
    ),
    max_size=6,
)


@given(HITS)
def test_with_room_for_all_no_passage_is_said_twice_and_none_is_lost(hits: list[Hit]) -> None:
    found = pack.compose(hits, 100_000)
    assert len(found.hits) + found.left_out + found.repeated >= len(hits)
    texts = [one.text for one in found.hits]
    assert len(set(texts)) == len(texts)
    for one in hits:
        assert all(line in found.text for line in one.text.split("\n") if line in (SHOES, DESK, LUNCH))


def test_lines_that_two_passages_share_are_told_once() -> None:
    fenced = [
        "- Ran make test",
        "  ```",
        "  3 failed",
        "  ```",
        "- Wrote plan.md",
        "  ```diff",
        "  + 1",
        "  ```",
    ]

    def lines(first: int, last: int) -> Hit:
        text = "\n".join(fenced[first - 1 : last])
        return Hit("n.md", first, last, text, 1.0, "n", (), None, "n", "")

    told = Repeats()
    told.add(lines(5, 8))
    rest = told.rest(lines(1, 7))
    assert rest is not None
    assert (rest.start_line, rest.end_line, rest.text) == (1, 4, "\n".join(fenced[:4]))
    told.add(rest)
    assert told.rest(lines(2, 6)) is None
    assert told.rest(replace(lines(2, 6), path="m.md")) == replace(lines(2, 6), path="m.md")
