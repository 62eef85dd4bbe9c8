"""Compare two result files of `tools/evaluate.py --out`: what differs, and whether chance would do the same.

    python tools/compare_answers.py A B --queries FILE [--workspaces DIR] [--json]

Chance is asked by paired bootstrap over the questions: Efron and Tibshirani, An Introduction to the
Bootstrap, 1993, chapter 13 for the percentile interval, chapter 16 for the test, which moves the differences
to a mean of zero and asks how often chance gives as much.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measuring import metrics, questions
from measuring.questions import Answer, QuestionSet

from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.paths import shown
from commonplace.base.tuples import NamedTuple
from commonplace.render import count, screen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
BLOCK = 4_000_000  # draws made at once: 32 MB
ROUNDING = 1e-12  # means that should be equal differ by this much
# Fewer questions make nothing sure: that five differ the same way is chance in 2 of 32.
LEAST = 6
Figures = Mapping[str, Mapping[str, float]]


def read_answers(path: Path) -> dict[str, Answer]:
    """Read a result file into answers by id; the last line for an id counts. Raises as `read_questions`."""
    answers: dict[str, Answer] = {}
    for place, record in questions.lines(path):
        with questions.placed(place):
            id_, latency = questions.string(record, "id"), record.get("latency_ms", 0.0)
            if "results" not in record and "question" in record:
                raise ValueError("a question, and no line of a run of `evaluate.py --out`")
            if isinstance(latency, bool) or not isinstance(latency, int | float):
                raise ValueError("'latency_ms' must be a number")
            answers[id_] = Answer(id_, questions.spans(record, "results"), latency)
    return answers


class Difference(NamedTuple):
    """A mean difference, its 95 % interval, and the p of no difference."""

    mean: float
    low: float
    high: float
    p: float

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves zero out."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of both files: their means over `n` questions, and the difference, second minus first."""

    figure: str
    n: int
    first: float
    second: float
    difference: Difference

    @property
    def is_sure(self) -> bool:
        """Whether the interval leaves zero out, and there are questions enough for one."""
        return self.n >= LEAST and self.difference.is_sure


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
    scored = [score(asked, answers) for answers in (first, second)]
    for name, answers in zip("AB", (first, second), strict=True):
        if scored[0] and answers.keys().isdisjoint(scored[0]):
            other = f"answers none of the questions of {shown(asked.path)}; it belongs to another set"
            raise ConfigError(name, other)
    known = {question.id for question in asked.questions}
    return Comparison(
        rows=tuple(_rows(*scored)),
        missing=(len(scored[0].keys() - first.keys()), len(scored[0].keys() - second.keys())),
        unknown=(len(first.keys() - known), len(second.keys() - known)),
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

    ids: dict[str, list[str]] = {}
    for id_, figures in first.items():
        for name in figures:
            ids.setdefault(name, []).append(id_)
    # Figures that the same questions have are compared at once: only `fresh1st` is not had by all.
    names: dict[tuple[str, ...], list[str]] = {}
    for name, measured in ids.items():
        names.setdefault(tuple(measured), []).append(name)
    rows: dict[str, Row] = {}
    for having, same in names.items():
        a, b = (np.array([[file[id_][name] for name in same] for id_ in having]) for file in (first, second))
        means = a.mean(axis=0).tolist(), b.mean(axis=0).tolist()
        for name, mean, second_mean, difference in zip(same, *means, paired(b - a), strict=True):
            rows[name] = Row(name, len(having), mean, second_mean, difference)
    return [rows[name] for name in ids]


def paired(differences: Floats) -> list[Difference]:
    """Return how sure the mean of each column is; `differences` is (questions, figures), at least one row."""
    import numpy as np

    observed = differences.mean(axis=0)
    means = np.concatenate(list(_resampled(differences)))
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    as_far = np.abs(means - observed) >= np.abs(observed) - ROUNDING
    p = (as_far.sum(axis=0) + 1) / (RESAMPLES + 1)
    return [Difference(*map(float, row)) for row in zip(observed, low, high, p, strict=True)]


def _resampled(differences: Floats) -> Iterator[Floats]:
    """Yield the means of samples as large as the set, some samples at a time: (samples, figures)."""
    import numpy as np

    chance = np.random.default_rng(SEED)
    count = len(differences)
    block = max(1, BLOCK // count)
    for start in range(0, RESAMPLES, block):
        samples = min(block, RESAMPLES - start)
        drawn = chance.integers(count, size=(samples, count))
        drawn += np.arange(samples)[:, None] * count
        times = np.bincount(drawn.ravel(), minlength=samples * count).reshape(samples, count)
        yield times @ differences / count


def as_text(comparison: Comparison) -> str:
    """One row a figure; a star where the interval leaves zero out."""
    rows = [
        ["figure", "n", "A", "B", "B - A", "95 % interval", "p", ""],
        *(
            [
                row.figure,
                str(row.n),
                f"{row.first:.4f}",
                f"{row.second:.4f}",
                f"{row.difference.mean:+.4f}",
                f"[{row.difference.low:+.4f}, {row.difference.high:+.4f}]" if row.n > 1 else "-",
                f"{row.difference.p:.4f}" if row.n > 1 else "-",
                "*" if row.is_sure else "",
            ]
            for row in comparison.rows
        ),
    ]
    lines = [*screen.table(rows, range(1, 8)), "", f"{RESAMPLES:,} resamples; * the interval leaves out 0"]
    if few := sorted({row.n for row in comparison.rows if row.n < LEAST}):
        lines.append(f"note     {count(few[-1], 'question')} say little: no star for fewer than {LEAST}")
    for name, missing, unknown in zip("AB", comparison.missing, comparison.unknown, strict=True):
        if missing:
            lines.append(f"note     {name} has no line for {count(missing, 'question')}: nothing found")
        if unknown:
            lines.append(
                f"note     {name} has {count(unknown, 'line')} for questions not in the set: left out"
            )
    return "\n".join(lines)


def as_record(comparison: Comparison) -> dict[str, Any]:
    """Return the same as a JSON object."""
    figures = {}
    for row in comparison.rows:
        mean, *rest = row.difference
        interval = dict(zip(("low", "high", "p"), rest if row.n > 1 else [None] * 3, strict=True))
        figures[row.figure] = {"n": row.n, "a": row.first, "b": row.second, "difference": mean, **interval}
    pairs = {"missing": comparison.missing, "unknown": comparison.unknown}
    sides = {name: dict(zip("ab", counts, strict=True)) for name, counts in pairs.items()}
    return {"figures": figures, "resamples": RESAMPLES, **sides}


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the comparison of two result files."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", metavar="FILE", type=Path, nargs=2)
    parser.add_argument("--queries", type=Path, required=True, help="the question set that both answer")
    parser.add_argument("--workspaces", type=Path, help="otherwise workspaces/ beside the questions")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        # A set without workspaces/ beside it is about the workspace that it lies in.
        asked = questions.read_set(given.queries, given.workspaces, lambda: given.queries.absolute().parent)
        compared = compare(asked, *map(read_answers, given.files))
    except CommonplaceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(json.dumps(as_record(compared), indent=1) if given.json else as_text(compared))
    return 0


if __name__ == "__main__":
    sys.exit(main())
