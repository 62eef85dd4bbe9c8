"""Measurements as text and as JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from commonplace.bench import metrics
from commonplace.bench.evaluation import Evaluation
from commonplace.bench.grid import grid
from commonplace.types import LEVEL_NAMES

ALL = "(all)"
NDCG = f"ndcg@{max(metrics.KS)}"
RANKED = (*(f"recall@{k}" for k in metrics.KS), *(f"hit@{k}" for k in metrics.KS), "mrr", NDCG, "fresh1st")
BUDGETED = tuple(f"r@{budget}c" for budget in metrics.BUDGETS)
FIGURES = RANKED + BUDGETED
LATENCIES = {"p50": 0.5, "p90": 0.9, "p99": 0.99}

Rows = dict[str, dict[str, float]]


def by_category(evaluation: Evaluation) -> Rows:
    """Mean figures of all questions, then of each category in the order of their names.

    Each row also has `n`, its number of questions.
    """
    everything = {ALL: _means(evaluation.figures.values())} if evaluation.figures else {}
    return everything | _grouped(evaluation, evaluation.categories)


def by_language(evaluation: Evaluation) -> Rows:
    """Mean figures of the questions in each language: `cjk` where most letters are, `other`."""
    return _grouped(evaluation, evaluation.languages)


def _grouped(evaluation: Evaluation, names: Mapping[str, str]) -> Rows:
    rows: Rows = {}
    for name in sorted(set(names.values())):
        rows[name] = _means(evaluation.figures[id_] for id_, own in names.items() if own == name)
    return rows


def _means(figures: Iterable[Mapping[str, float]]) -> dict[str, float]:
    rows = list(figures)
    return {"n": len(rows)} | metrics.mean(rows)


def as_text(evaluation: Evaluation) -> str:
    """Two tables (ranks, characters read) and the lines that say how they came about."""
    rows, languages = by_category(evaluation), by_language(evaluation)
    if len(languages) > 1:
        rows |= {f"({name})": row for name, row in languages.items()}
    parts = [_table(rows, RANKED), _table(rows, BUDGETED), "\n".join(_facts(evaluation))]
    return "\n\n".join(filter(None, parts))


def as_record(evaluation: Evaluation) -> dict[str, Any]:
    """Return the same as a JSON object."""
    return {
        "figures": by_category(evaluation),
        "languages": by_language(evaluation),
        "skipped": evaluation.skipped,
        "latency_ms": _latency(evaluation),
        "levels": {str(level): count for level, count in evaluation.levels.items()},
        "index_s": round(evaluation.index_s, 3),
        "search_s": round(evaluation.search_s, 3),
        "warnings": list(evaluation.warnings),
    }


def short_of(evaluation: Evaluation, least: Mapping[str, float]) -> list[str]:
    """Say which figures of all questions fall short of their least value, a line each."""
    found = by_category(evaluation).get(ALL, {})
    told = []
    for name, value in least.items():
        if name not in found:
            told.append(f"{name} was not measured: no question has it")
        elif found[name] < value:
            told.append(f"{name} is {found[name]:.4f}, under {value:g}")
    return told


def _table(rows: Mapping[str, Mapping[str, float]], columns: Sequence[str]) -> str:
    shown = [column for column in columns if any(column in row for row in rows.values())]
    if not shown:
        return ""
    body = ([name, f"{row['n']:.0f}", *_cells(row, shown)] for name, row in rows.items())
    return grid(["category", "n", *shown], body)


def _cells(row: Mapping[str, float], columns: Iterable[str]) -> list[str]:
    return [f"{row[column]:.3f}" if column in row else "-" for column in columns]


def _latency(evaluation: Evaluation) -> dict[str, float | None]:
    values = {name: metrics.percentile(evaluation.warm_ms, share) for name, share in LATENCIES.items()}
    return {name: None if value is None else round(value, 2) for name, value in values.items()}


def _facts(evaluation: Evaluation) -> Iterable[str]:
    latency = _latency(evaluation)
    if evaluation.warm_ms:
        told = ", ".join(f"{name} {value:.2f} ms" for name, value in latency.items())
        yield f"latency  {told} (each index opened before)"
    yield f"time     {evaluation.index_s:.1f} s indexing, {evaluation.search_s:.1f} s searching"
    for level, count in evaluation.levels.items():
        yield f"level {level}  {LEVEL_NAMES[level]}: {count} questions"
    if evaluation.skipped:
        yield f"skipped  {evaluation.skipped} questions without evidence"
    for warning in evaluation.warnings:
        yield f"note     {warning}"
