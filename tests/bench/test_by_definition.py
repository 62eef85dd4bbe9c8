"""Figures against their definitions, computed line by line and without any of their shortcuts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from measuring import metrics
from measuring.metrics import BUDGETS, KS, Span

SIZES = {"a.md": (10, 900, 30, 1, 2500), "b.md": (500,) * 6}


def sizes(path: str) -> tuple[int, ...]:
    return SIZES.get(path, ())


SPAN = st.builds(
    lambda path, first, more: Span(path, first, first + more),
    st.sampled_from(["a.md", "b.md", "gone.md"]),
    st.integers(1, 7),
    st.integers(0, 3),
)
RANKING, EVIDENCE = st.lists(SPAN, max_size=12), st.lists(SPAN, min_size=1, max_size=4)


def lines(span: Span) -> set[tuple[str, int]]:
    return {(span.path, number) for number in range(span.start_line, span.end_line + 1)}


@given(SPAN, SPAN)
def test_spans_overlap_if_they_have_a_line_in_common(one: Span, other: Span) -> None:
    assert one.overlaps(other) is other.overlaps(one) is bool(lines(one) & lines(other))
    assert all(one.holds(*line) for line in lines(one))


@given(RANKING, EVIDENCE, RANKING)
def test_figures_of_ranks(results: list[Span], evidence: list[Span], stale: list[Span]) -> None:
    found = metrics.score(results, evidence, sizes, stale)
    for k in KS:
        seen = set().union(*map(lines, results[:k]))
        reached = [bool(lines(span) & seen) for span in evidence]
        assert found[f"recall@{k}"] == sum(reached) / len(evidence)
        assert found[f"hit@{k}"] == float(any(reached))
    answer = set().union(*map(lines, evidence))
    ranks = [rank for rank, span in enumerate(results[: max(KS)], 1) if lines(span) & answer]
    assert found["mrr"] == (1 / ranks[0] if ranks else 0.0)
    gains = [
        any(lines(span) & lines(result) and not any(lines(span) & lines(before) for before in results[:place])
            for span in evidence)
        for place, result in enumerate(results[: max(KS)])
    ]  # fmt: skip
    gained = sum(1 / math.log2(place + 2) for place, gain in enumerate(gains) if gain)
    ideal = sum(1 / math.log2(place + 2) for place in range(min(len(evidence), max(KS))))
    assert found[f"ndcg@{max(KS)}"] == pytest.approx(gained / ideal)
    old = set().union(*map(lines, stale))
    older = [rank for rank, span in enumerate(results[: max(KS)], 1) if lines(span) & old]
    assert ("fresh1st" in found) is bool(stale)
    if stale:
        assert found["fresh1st"] == float(bool(ranks) and (not older or ranks[0] <= older[0]))


@given(RANKING, EVIDENCE)
def test_figures_of_characters_read(results: list[Span], evidence: list[Span]) -> None:
    found = metrics.score(results, evidence, sizes)
    for budget in BUDGETS:
        read: list[tuple[str, int]] = []
        room = budget
        for span in results:
            for path, number in sorted(lines(span)):
                if room < 0 or (path, number) in read or number > len(sizes(path)):
                    continue
                room -= sizes(path)[number - 1]
                if room >= 0:
                    read.append((path, number))
        share = sum(bool(lines(span) & set(read)) for span in evidence) / len(evidence)
        assert found[f"r@{budget}c"] == share


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.floats(0, 1)), max_size=5))
def test_a_mean_is_over_the_rows_that_have_the_figure(rows: list[dict[str, float]]) -> None:
    found = metrics.mean(rows)
    assert set(found) == {name for row in rows for name in row}
    for name, value in found.items():
        column = [row[name] for row in rows if name in row]
        assert value == pytest.approx(math.fsum(column) / len(column))


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=30), st.floats(0, 1))
def test_a_percentile_is_a_value_with_that_share_below_it(values: list[int], share: float) -> None:
    found = metrics.percentile(values, share)
    assert found in values
    assert sum(value < found for value in values) <= share * len(values) + 1e-9 or found == max(values)
    assert metrics.percentile(values, 0) == min(values)
    assert metrics.percentile(values, 1) == max(values)


def test_of_no_values_there_is_no_percentile() -> None:
    assert metrics.percentile([], 0.5) is None
