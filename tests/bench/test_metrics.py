"""The figures: worked examples, the reference's rule, and what must hold for any ranking."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measuring import metrics
from measuring.metrics import Span

SIZES = {"a.md": (10, 20, 30, 40), "b.md": (500, 500, 500), "c.md": (1,) * 50}


def sizes(path: str) -> tuple[int, ...]:
    return SIZES.get(path, ())


def span(text: str) -> Span:
    """`a2-3` is lines 2 to 3 of a.md."""
    first, _, last = text[1:].partition("-")
    return Span(f"{text[0]}.md", int(first), int(last or first))


def spans(text: str) -> list[Span]:
    return [span(part) for part in text.split()]


def _span(path: str, first: int, length: int) -> Span:
    return Span(path, first, first + length)


any_span = st.builds(_span, st.sampled_from(sorted(SIZES)), st.integers(1, 8), st.integers(0, 3))
rankings = st.lists(any_span, max_size=15)
evidences = st.lists(any_span, min_size=1, max_size=5)


def test_spans_overlap_when_they_share_a_line() -> None:
    for one, other, shared in [
        ("a1-2", "a2-3", True),
        ("a1-2", "a3", False),
        ("a1", "b1", False),
        ("a1-9", "a4-5", True),
    ]:
        assert span(one).overlaps(span(other)) is shared
        assert span(other).overlaps(span(one)) is shared


def test_recall_and_hit_by_rank() -> None:
    results, evidence = spans("b1 a1-2 a4"), spans("a2 a4")
    assert [metrics.recall_at(results, evidence, k) for k in (1, 2, 3)] == [0.0, 0.5, 1.0]
    assert [metrics.hit_at(results, evidence, k) for k in (1, 2, 3)] == [0.0, 1.0, 1.0]
    assert metrics.reciprocal_rank(results, evidence, 10) == 0.5
    assert metrics.reciprocal_rank(results, evidence, 1) == 0.0


def test_reading_stops_at_the_first_line_over_the_budget() -> None:
    results = spans("a1-3 b1 c1")
    assert list(metrics.read_within(results, sizes, 60)) == [("a.md", 1), ("a.md", 2), ("a.md", 3)]
    assert list(metrics.read_within(results, sizes, 59)) == [("a.md", 1), ("a.md", 2)]
    # b.md does not fit: c.md behind it is not reached although it would fit.
    assert ("c.md", 1) not in list(metrics.read_within(results, sizes, 100))


def test_a_line_read_twice_costs_once() -> None:
    assert list(metrics.read_within(spans("a1-2 a1-3"), sizes, 60))[-1] == ("a.md", 3)


def test_lines_past_the_end_and_missing_files_cost_nothing() -> None:
    results = [Span("gone.md", 1, 3), Span("a.md", 4, 99), Span("c.md", 1, 1)]
    assert list(metrics.read_within(results, sizes, 41)) == [("a.md", 4), ("c.md", 1)]


def test_part_of_a_span_is_enough() -> None:
    assert metrics.recall_within(spans("a1-4"), spans("a2-4"), sizes, 30) == 1.0
    assert metrics.recall_within(spans("a1-4"), spans("a2-4"), sizes, 29) == 0.0


def test_the_newer_statement_must_rank_above_the_older() -> None:
    for results, expected in [("a1 b1", 1.0), ("b1 a1", 0.0), ("a1", 1.0), ("b1", 0.0), ("", 0.0)]:
        assert metrics.newer_first(spans(results), spans("a1"), spans("b1"), 10) == expected


def test_score_names_every_figure() -> None:
    figures = metrics.score(spans("a1"), spans("a1"), sizes, spans("b1"))
    assert list(figures) == [
        "recall@1", "recall@5", "recall@10", "hit@1", "hit@5", "hit@10", "mrr", "ndcg@10", "fresh1st",
        "r@1000c", "r@2000c", "r@4000c", "r@8000c",
    ]  # fmt: skip
    assert set(figures.values()) == {1.0}


def test_mean_of_what_each_row_has() -> None:
    assert metrics.mean([{"a": 1.0, "b": 0.0}, {"a": 0.0}]) == {"a": 0.5, "b": 0.0}
    assert metrics.mean([]) == {}


def test_percentile_by_nearest_rank() -> None:
    assert metrics.percentile([3.0, 1.0, 2.0], 0.5) == 2.0
    assert metrics.percentile([float(n) for n in range(100)], 0.95) == 95.0
    assert metrics.percentile([], 0.5) is None


@given(rankings, evidences, st.integers(0, 15))
def test_recall_never_falls_with_k(results: list[Span], evidence: list[Span], k: int) -> None:
    assert metrics.recall_at(results, evidence, k) <= metrics.recall_at(results, evidence, k + 1)
    assert metrics.hit_at(results, evidence, k) >= metrics.recall_at(results, evidence, k)


@given(rankings, evidences, st.integers(0, 3000), st.integers(0, 3000))
def test_recall_never_falls_with_the_budget(
    results: list[Span], evidence: list[Span], budget: int, more: int
) -> None:
    less = metrics.recall_within(results, evidence, sizes, budget)
    assert less <= metrics.recall_within(results, evidence, sizes, budget + more)


@given(rankings, st.integers(0, 3000))
def test_what_is_read_fits_the_budget(results: list[Span], budget: int) -> None:
    lines = list(metrics.read_within(results, sizes, budget))
    assert len(lines) == len(set(lines))
    assert sum(SIZES[path][line - 1] for path, line in lines) <= budget


@given(rankings, evidences)
def test_with_room_for_everything_only_the_ranking_counts(results: list[Span], evidence: list[Span]) -> None:
    inside = [e for e in evidence if e.start_line <= len(SIZES[e.path])]
    if inside:
        kept = [Span(r.path, r.start_line, min(r.end_line, len(SIZES[r.path]))) for r in results]
        everything = metrics.recall_within(results, inside, sizes, 10**9)
        assert everything == metrics.recall_at([r for r in kept if r.start_line <= r.end_line], inside, 99)


@given(rankings, evidences, st.integers(1, 15))
def test_reciprocal_rank_says_where_the_first_hit_is(
    results: list[Span], evidence: list[Span], k: int
) -> None:
    value = metrics.reciprocal_rank(results, evidence, k)
    assert (value > 0) == (metrics.hit_at(results, evidence, k) == 1.0)
    if value:
        assert metrics.hit_at(results, evidence, round(1 / value)) == 1.0
        assert metrics.hit_at(results, evidence, round(1 / value) - 1) == 0.0


def test_gain_falls_with_the_rank() -> None:
    for results, evidence, expected in [
        ("a1 a2", "a1 a2", 1.0),
        ("b1 a1", "a1", 1 / math.log2(3)),
        ("a1 a1 a2", "a1 a2", (1 + 1 / math.log2(4)) / (1 + 1 / math.log2(3))),  # a span counts once
        ("a1-2", "a1 a2", 1 / (1 + 1 / math.log2(3))),  # a result gains 1, however much it reaches
        ("b1 b2", "a1", 0.0),
    ]:
        assert metrics.discounted_gain(spans(results), spans(evidence), 10) == pytest.approx(expected)


@given(rankings, evidences)
def test_every_figure_is_a_share(results: list[Span], evidence: list[Span]) -> None:
    assert all(0.0 <= value <= 1.0 + 1e-9 for value in metrics.score(results, evidence, sizes).values())
