"""Measurements as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.bench import metrics
from commonplace.bench.evaluation import Evaluation
from commonplace.bench.grid import grid
from commonplace.types import LEVEL_NAMES

ALL = "(all)"
RANKED = (*(f"recall@{k}" for k in metrics.KS), *(f"hit@{k}" for k in metrics.KS), "mrr", "fresh1st")
BUDGETED = tuple(f"r@{budget}c" for budget in metrics.BUDGETS)


def by_category(evaluation: Evaluation) -> dict[str, dict[str, float]]:
    """Mean figures of all questions, then of each category in the order of their names.

    Each row also has `n`, its number of questions.
    """
    groups: dict[str, list[Mapping[str, float]]] = {ALL: list(evaluation.figures.values())}
    for category in sorted(set(evaluation.categories.values())):
        ids = (id_ for id_, name in evaluation.categories.items() if name == category)
        groups[category] = [evaluation.figures[id_] for id_ in ids]
    return {name: {"n": len(rows)} | metrics.mean(rows) for name, rows in groups.items() if rows}


def as_text(evaluation: Evaluation) -> str:
    """Two tables (ranks, characters read) and the lines that say how they came about."""
    rows = by_category(evaluation)
    parts = [_table(rows, RANKED), _table(rows, BUDGETED), "\n".join(_facts(evaluation))]
    return "\n\n".join(filter(None, parts))


def as_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return the same as a JSON object."""
    return {
        "figures": by_category(evaluation),
        "skipped": evaluation.skipped,
        "latency_ms": _latency(evaluation),
        "levels": {str(level): count for level, count in evaluation.levels.items()},
        "index_s": round(evaluation.index_s, 3),
        "search_s": round(evaluation.search_s, 3),
        "warnings": list(evaluation.warnings),
    }


def _table(rows: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> str:
    shown = [column for column in columns if any(column in row for row in rows.values())]
    if not shown:
        return ""
    body = ([name, f"{row['n']:.0f}", *_cells(row, shown)] for name, row in rows.items())
    return grid(["category", "n", *shown], body)


def _cells(row: Mapping[str, float], columns: Iterable[str]) -> list[str]:
    return [f"{row[column]:.3f}" if column in row else "-" for column in columns]


def _latency(evaluation: Evaluation) -> dict[str, float | None]:
    shares = {"p50": 0.5, "p95": 0.95}
    values = {name: metrics.percentile(evaluation.warm_ms, share) for name, share in shares.items()}
    return {name: None if value is None else round(value, 2) for name, value in values.items()}


def _facts(evaluation: Evaluation) -> Iterable[str]:
    latency = _latency(evaluation)
    if latency["p50"] is not None:
        yield f"latency  p50 {latency['p50']:.2f} ms, p95 {latency['p95']:.2f} ms (each index opened before)"
    yield f"time     {evaluation.index_s:.1f} s indexing, {evaluation.search_s:.1f} s searching"
    for level, count in evaluation.levels.items():
        yield f"level {level}  {LEVEL_NAMES[level]}: {count} questions"
    if evaluation.skipped:
        yield f"skipped  {evaluation.skipped} questions without evidence"
    for warning in evaluation.warnings:
        yield f"note     {warning}"
