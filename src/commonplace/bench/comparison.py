"""Two result files of one question set side by side: what differs, and whether chance would do the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from commonplace.bench import bootstrap, metrics
from commonplace.bench.bootstrap import Difference
from commonplace.bench.datasets import Answer
from commonplace.bench.grid import grid
from commonplace.bench.sets import QuestionSet
from commonplace.errors import ConfigError
from commonplace.paths import shown
from commonplace.render import count

Figures = Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both files: their means over `n` questions, and the difference, second minus first."""

    figure: str
    n: int
    first: float
    second: float
    difference: Difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """All figures; `missing` counts questions without a line in either file, which found nothing there.

    `unknown` counts lines for questions that are not in the set, which are left out.
    """

    rows: tuple[Row, ...]
    missing: tuple[int, int]
    unknown: tuple[int, int]


def compare(asked: QuestionSet, first: Mapping[str, Answer], second: Mapping[str, Answer]) -> Comparison:
    """Score both files and compare them question by question.

    Raises ConfigError for a missing workspace, and for a file that answers none of the questions.
    """
    both = (first, second)
    scored = tuple(score(asked, answers) for answers in both)
    for name, figures, answers in zip("AB", scored, both, strict=True):
        if figures and answers.keys().isdisjoint(figures):
            told = f"answers none of the questions of {shown(asked.path)}; it belongs to another set"
            raise ConfigError(name, told)
    known = {question.id for question in asked.questions}
    return Comparison(
        rows=tuple(_rows(*scored)),
        missing=_pair([len(scored[0].keys() - answers.keys()) for answers in both]),
        unknown=_pair([len(answers.keys() - known) for answers in both]),
    )


def score(asked: QuestionSet, answers: Mapping[str, Answer]) -> dict[str, dict[str, float]]:
    """Return every figure of every question that has evidence, by id."""
    sizes = asked.line_sizes()
    return {
        question.id: metrics.score(
            answers[question.id].results if question.id in answers else (),
            question.evidence,
            sizes(question.workspace),
            question.stale,
        )
        for question in asked.questions
        if question.evidence
    }


def _rows(first: Figures, second: Figures) -> list[Row]:
    import numpy as np

    rows: dict[str, Row] = {}
    names = list(dict.fromkeys(name for figures in first.values() for name in figures))
    for group in _same_questions(first, names):
        ids = [id_ for id_, figures in first.items() if group[0] in figures]
        tables = [np.array([[one[id_][name] for name in group] for id_ in ids]) for one in (first, second)]
        found = bootstrap.paired(tables[1] - tables[0])
        means = [table.mean(axis=0) for table in tables]
        for place, name in enumerate(group):
            one, other = (float(mean[place]) for mean in means)
            rows[name] = Row(name, len(ids), one, other, found[place])
    return [rows[name] for name in names]


def _same_questions(figures: Figures, names: Sequence[str]) -> list[list[str]]:
    """Group figures that the same number of questions have: only `fresh1st` is not had by all."""
    counts = {name: sum(name in own for own in figures.values()) for name in names}
    return [[name for name in names if counts[name] == count] for count in sorted(set(counts.values()))]


def _pair(counts: Sequence[int]) -> tuple[int, int]:
    return counts[0], counts[1]


# --- as text and as JSON --------------------------------------------------------------------------------


def as_text(comparison: Comparison) -> str:
    """One row a figure; a star where the interval leaves zero out."""
    head = ("figure", "n", "A", "B", "B - A", "95 % interval", "p", "")
    rows = [
        [
            row.figure,
            str(row.n),
            f"{row.first:.4f}",
            f"{row.second:.4f}",
            f"{row.difference.mean:+.4f}",
            f"[{row.difference.low:+.4f}, {row.difference.high:+.4f}]",
            f"{row.difference.p:.4f}",
            "*" if is_sure(row.difference) else "",
        ]
        for row in comparison.rows
    ]
    lines = [grid(head, rows), "", f"{bootstrap.RESAMPLES:,} resamples; * the interval leaves out 0"]
    for name, missing, unknown in zip("AB", comparison.missing, comparison.unknown, strict=True):
        if missing:
            lines.append(f"note     {name} has no line for {count(missing, 'question')}: nothing found")
        if unknown:
            told = f"{name} has {count(unknown, 'line')} for questions not in the set: left out"
            lines.append(f"note     {told}")
    return "\n".join(lines)


def as_record(comparison: Comparison) -> dict[str, Any]:
    """Return the same as a JSON object."""
    figures = {
        row.figure: {
            "n": row.n,
            "a": row.first,
            "b": row.second,
            "difference": row.difference.mean,
            "low": row.difference.low,
            "high": row.difference.high,
            "p": row.difference.p,
        }
        for row in comparison.rows
    }
    names = ("a", "b")
    return {
        "figures": figures,
        "resamples": bootstrap.RESAMPLES,
        "missing": dict(zip(names, comparison.missing, strict=True)),
        "unknown": dict(zip(names, comparison.unknown, strict=True)),
    }


def is_sure(difference: Difference) -> bool:
    """Whether the interval leaves zero out."""
    return difference.low > 0 or difference.high < 0
