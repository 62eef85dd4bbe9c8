"""What a ranked list of line ranges is worth against the lines that hold the answer: pure functions.

A result reaches an evidence span when both lie in the same file and their line ranges overlap. Two kinds of
figures: the first k results (`recall@k`, `hit@k`, `mrr`, `ndcg@10`), and the first c characters when the
results are read in order (`r@2000c`). The second compares systems whose results differ in size; whole files
lose on it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence

from commonplace.base.tuples import NamedTuple
from commonplace.types.data import cite

KS = (1, 5, 10)
BUDGETS = (1000, 2000, 4000, 8000)
LAST_LINE = 1 << 31  # of a span that is a whole file, however long

# The size in characters of each line of a file, its line break included; empty for a file that is not there.
LineSizes = Callable[[str], Sequence[int]]


class Span(NamedTuple):
    """Some lines of a file; 1-based and inclusive."""

    path: str
    start_line: int
    end_line: int

    @property
    def citation(self) -> str:
        """`path#L12-L18`; of a whole file its path."""
        return self.path if self.end_line >= LAST_LINE else cite(self.path, self.start_line, self.end_line)

    def overlaps(self, other: Span) -> bool:
        """Tell whether both share a line."""
        return (
            self.path == other.path
            and self.start_line <= other.end_line
            and other.start_line <= self.end_line
        )

    def holds(self, path: str, line: int) -> bool:
        """Tell whether a line is one of these."""
        return self.path == path and self.start_line <= line <= self.end_line


def reached(results: Sequence[Span], evidence: Sequence[Span]) -> set[int]:
    """Return which evidence spans the results overlap, by position."""
    return {i for i, span in enumerate(evidence) if any(span.overlaps(result) for result in results)}


def recall_at(results: Sequence[Span], evidence: Sequence[Span], k: int) -> float:
    """Share of the evidence spans that the first k results reach."""
    return len(reached(results[:k], evidence)) / len(evidence)


def hit_at(results: Sequence[Span], evidence: Sequence[Span], k: int) -> float:
    """1 if the first k results reach any evidence, else 0."""
    return float(bool(reached(results[:k], evidence)))


def first_rank(results: Sequence[Span], spans: Sequence[Span], k: int) -> int | None:
    """Rank (from 1) of the first of k results that reaches any of the spans."""
    ranks = (rank for rank, result in enumerate(results[:k], 1) if any(map(result.overlaps, spans)))
    return next(ranks, None)


def reciprocal_rank(results: Sequence[Span], evidence: Sequence[Span], k: int) -> float:
    """1 / rank of the first result that reaches any evidence, 0 beyond k."""
    rank = first_rank(results, evidence, k)
    return 1 / rank if rank else 0.0


def discounted_gain(results: Sequence[Span], evidence: Sequence[Span], k: int) -> float:
    """Normalised discounted cumulative gain of the first k results (nDCG@k), 0..1.

    A result gains 1 when it reaches a span that no better-ranked one reached, and 0 otherwise, so that a span
    counts once: sum of gain / log2(rank + 1), divided by that sum for a ranking that reaches a new span at
    each of its first ranks (Järvelin and Kekäläinen, ACM TOIS 20(4), 2002, with this gain).
    """
    found: set[int] = set()
    total = 0.0
    for rank, result in enumerate(results[:k], 1):
        fresh = reached([result], evidence) - found
        total += 1 / math.log2(rank + 1) if fresh else 0.0
        found |= fresh
    return total / sum(1 / math.log2(rank + 1) for rank in range(1, min(len(evidence), k) + 1))


def newer_first(results: Sequence[Span], evidence: Sequence[Span], stale: Sequence[Span], k: int) -> float:
    """1 if the evidence is found and no older, superseded statement ranks above it, else 0."""
    new, old = first_rank(results, evidence, k), first_rank(results, stale, k)
    return float(new is not None and (old is None or new <= old))


def read_within(results: Sequence[Span], sizes: LineSizes, budget: int) -> Iterator[tuple[str, int]]:
    """Yield the (path, line) read when results are read in order until `budget` characters are used up.

    Only whole lines are read, a line that was read before costs nothing, and reading ends at the first
    line that would go over the budget.
    """
    seen: set[tuple[str, int]] = set()
    for path, start, end in results:
        lengths = sizes(path)
        for number in range(start, min(end, len(lengths)) + 1):
            if (path, number) in seen:
                continue
            budget -= lengths[number - 1]
            if budget < 0:
                return
            seen.add((path, number))
            yield path, number


def recall_within(results: Sequence[Span], evidence: Sequence[Span], sizes: LineSizes, budget: int) -> float:
    """Share of the evidence spans of which at least one line is read within `budget` characters."""
    lines = list(read_within(results, sizes, budget))
    found = {i for i, span in enumerate(evidence) if any(span.holds(*line) for line in lines)}
    return len(found) / len(evidence)


def score(
    results: Sequence[Span], evidence: Sequence[Span], sizes: LineSizes, stale: Sequence[Span] = ()
) -> dict[str, float]:
    """Return every figure of one question by name; `evidence` must not be empty."""
    figures = {f"recall@{k}": recall_at(results, evidence, k) for k in KS}
    figures |= {f"hit@{k}": hit_at(results, evidence, k) for k in KS}
    figures["mrr"] = reciprocal_rank(results, evidence, max(KS))
    figures[f"ndcg@{max(KS)}"] = discounted_gain(results, evidence, max(KS))
    if stale:
        figures["fresh1st"] = newer_first(results, evidence, stale, max(KS))
    return figures | {f"r@{b}c": recall_within(results, evidence, sizes, b) for b in BUDGETS}


def mean(rows: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Mean of each figure over the rows that have it."""
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row[name] for row in rows if name in row] for name in names}
    return {name: sum(column) / len(column) for name, column in columns.items()}


def percentile(values: Sequence[float], share: float) -> float | None:
    """Value below which `share` (0..1) of the values lie, by nearest rank; None of no values."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else None
