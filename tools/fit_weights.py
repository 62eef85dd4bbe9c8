"""Fit the weights of `search/weights.toml` on sets of questions, each counting alike.

    python tools/fit_weights.py DATA [SET ...] [--questions 150] [--write]

DATA holds a folder a set: `dev/queries.jsonl` with lines of {id, workspace, question, evidence: [{path, start_line,
end_line}]}, and `dev/workspaces/NAME/`. Every question is asked, and the features of its candidates are kept. Then
the weights are moved so that passages with evidence score above the 50 best others of their question (logistic loss
of pairs, L2 towards what the weights were). Each set is judged by weights that were fitted without it: recall within
2,000 characters, as it was and as it would be. *words* are the measure of the others, and `translated` is a part of them: neither is
fitted.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from commonplace import Memory
from commonplace.search import pipeline, ranking

OTHERS = 50  # of a question, that are compared with each passage that holds evidence
TEMPERATURE, L2, STEPS, RATE = 0.08, 0.1, 300, 0.05
BUDGET = 2000  # characters
Features = Any  # an array of numpy, (n, features)


class Asked(NamedTuple):
    """The candidates of a question: their parts, characters, and which of its evidence each holds."""

    parts: Features
    characters: Sequence[int]
    gold: Sequence[frozenset[int]]
    evidence: int


def main() -> None:
    """Fit, report, and write where that is asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("sets", nargs="*")
    parser.add_argument("--questions", type=int, default=150)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    names = options.sets or sorted(
        path.parent.parent.name for path in options.data.glob("*/dev/queries.jsonl")
    )
    weights = ranking.fitted()
    known = {name: list(ask(options.data / name / "dev", options.questions, [*weights])) for name in names}
    pairs = {name: compared(rows) for name, rows in known.items()}
    for name, rows in known.items():
        others = fit([pairs[other] for other in names if other != name] or [pairs[name]])
        before, after = recall(rows, np.ones(len(weights))), recall(rows, others)
        print(f"{name:18} r@{BUDGET}c {before:.3f} -> {after:.3f} without it")
    fitted = fit(list(pairs.values()))
    for (name, weight), factor in zip(weights.items(), fitted, strict=True):
        print(f"{name:18} {weight:+.3f} -> {weight * factor:+.3f}")
    loss = np.mean([loss_of(differences, fitted)[0] for differences in pairs.values()])
    print(f"loss {loss:.4f}, {len(names)} sets")
    if options.write:
        write(
            {name: round(w * float(f), 3) for (name, w), f in zip(weights.items(), fitted, strict=True)},
            names,
            loss,
        )


def ask(folder: Path, most: int, names: Sequence[str]) -> Iterator[Asked]:
    """Ask the questions of a set, a workspace after the other, and keep what their candidates score."""
    kept: list[list[ranking.Ranked]] = []
    rank = ranking.rank

    def keeping(*given: Any) -> list[ranking.Ranked]:
        kept.append(rank(*given))
        return kept[-1]

    pipeline.ranking.rank = keeping
    lines = (folder / "queries.jsonl").read_text("utf-8").splitlines()
    questions = [one for one in map(json.loads, lines) if one.get("evidence")]
    questions = questions[:: max(1, len(questions) // most)][:most]
    with tempfile.TemporaryDirectory() as scratch:
        for workspace in sorted({one["workspace"] for one in questions}):
            own = Path(scratch) / workspace
            shutil.copytree(folder / "workspaces" / workspace, own)
            include = {"index.include": ["MEMORY.md", "**/*.md"], "usage.record": False}
            with Memory.open(own, overrides=include) as memory:
                memory.sync()
                for one in (one for one in questions if one["workspace"] == workspace):
                    kept.clear()
                    memory.search(one["question"], limit=50)
                    if kept:
                        sources = memory._store.index.sources([item.candidate.id for item in kept[-1]])
                        paths = {passage: source.path for passage, source in sources.items()}
                        yield of(kept[-1], paths, one["evidence"], names)
    pipeline.ranking.rank = rank


def of(
    ranked: Sequence[ranking.Ranked], paths: Mapping[int, str], evidence: Sequence[Any], names: Sequence[str]
) -> Asked:
    """Read what was ranked; the last column is all parts that no weight changes."""
    parts, gold = [], []
    for own, score, named, _ in ranked:
        row = [named.get(name, 0.0) for name in names]
        parts.append([*row, score - sum(row)])
        holds = {
            at
            for at, span in enumerate(evidence)
            if span["path"] == paths.get(own.id)
            and span["start_line"] <= own.end_line
            and span["end_line"] >= own.start_line
        }
        gold.append(frozenset(holds))
    return Asked(np.array(parts), [len(own.candidate.text) for own in ranked], gold, len(evidence))


def compared(rows: Sequence[Asked]) -> Features:
    """The differences of parts of each passage with evidence and the best others of its question."""
    found = []
    for one in rows:
        holds = np.array([bool(gold) for gold in one.gold])
        others = one.parts[~holds][:OTHERS]
        found += [own - others for own in one.parts[holds][:6]]
    return np.concatenate(found)


def loss_of(differences: Features, factors: Features) -> tuple[float, Features]:
    """The logistic loss of pairs under factors of the weights, and its gradient."""
    margin = (differences[:, :-1] @ factors + differences[:, -1]) / TEMPERATURE
    slope = -1 / (1 + np.exp(np.clip(margin, -40, 40))) / TEMPERATURE
    return float(np.logaddexp(0, -margin).mean()), differences[:, :-1].T @ slope / len(differences)


def fit(sets: Sequence[Features]) -> Features:
    """Fit a factor for each weight, by gradient descent with momentum; 1 leaves it as it was."""
    factors = np.ones(sets[0].shape[1] - 1)
    moved = np.zeros_like(factors)
    for _ in range(STEPS):
        slopes = [loss_of(differences, factors)[1] for differences in sets]
        moved = 0.9 * moved - RATE * (np.mean(slopes, axis=0) + 2 * L2 * (factors - 1))
        factors = np.maximum(0.0, factors + moved)
    return factors


def recall(rows: Sequence[Asked], factors: Features) -> float:
    """The mean share of the evidence of a question within the budget, as the factors order its candidates."""
    shares = []
    for one in rows:
        room, found = BUDGET, set[int]()
        for at in np.argsort(-(one.parts[:, :-1] @ factors + one.parts[:, -1]), kind="stable"):
            room -= one.characters[at] + 1
            if room < 0:
                break
            found |= one.gold[at]
        shares.append(len(found) / one.evidence)
    return float(np.mean(shares))


def write(weights: Mapping[str, float], names: Sequence[str], loss: float) -> None:
    """Write the weights with the day, the sets and the loss."""
    path = Path(ranking.__file__).with_name("weights.toml")
    head = [line for line in path.read_text("utf-8").splitlines() if line.startswith("#")][:1]
    day = datetime.now(UTC).date()
    head.append(f"# Fitted by tools/fit_weights.py on {day}, loss {loss:.4f}, sets: {', '.join(names)}.")
    rows = [f'"{name}" = {value}' if " " in name else f"{name} = {value}" for name, value in weights.items()]
    path.write_text("\n".join([*head, *rows]) + "\n", "utf-8")


if __name__ == "__main__":
    sys.exit(main())
