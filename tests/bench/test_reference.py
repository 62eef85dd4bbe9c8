"""Our figures beside those of an independent scorer, where one is named: REFERENCE_SCORER is its Python file.

It defines `evaluate(queries, results, workspaces)`, which returns figures by id, under the same names.
"""

from __future__ import annotations

import importlib.util
import os
import random
from pathlib import Path
from typing import Any

import pytest
from measuring import metrics
from measuring import questions as sets_of
from measuring.metrics import Span

SCORER = os.environ.get("REFERENCE_SCORER", "")


def reference() -> Any:
    found = importlib.util.spec_from_file_location("reference_scorer", SCORER)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


@pytest.mark.skipif(not SCORER, reason="REFERENCE_SCORER names no file")
def test_every_figure_equals_the_reference(tmp_path: Path) -> None:
    chance = random.Random(0)
    folder = tmp_path / "workspaces" / "w"
    folder.mkdir(parents=True)
    for name in ("a.md", "b.md"):
        lines = ["x" * chance.choice((5, 80, 700, 1500)) for _ in range(30)]
        (folder / name).write_text("\n".join(lines) + "\n")

    def spans(most: int) -> list[Span]:
        starts = [(chance.choice(("a.md", "b.md")), chance.randint(1, 28)) for _ in range(most)]
        return [Span(path, start, start + chance.randint(0, 2)) for path, start in starts]

    evidence = {f"q{n}": spans(chance.randint(1, 4)) for n in range(200)}
    stale = {id_: spans(1) for id_ in list(evidence)[:50]}
    results = {id_: spans(chance.randint(0, 14)) for id_ in evidence}
    queries = [
        {"id": id_, "workspace": "w", "evidence": [span._asdict() for span in own]}
        | ({"stale": [span._asdict() for span in stale[id_]]} if id_ in stale else {})
        for id_, own in evidence.items()
    ]
    answers = [{"id": id_, "results": [span._asdict() for span in own]} for id_, own in results.items()]
    expected, _ = reference().evaluate(queries, answers, str(tmp_path / "workspaces"))
    sizes = sets_of.line_sizes(folder)
    for id_, own in evidence.items():
        figures = metrics.score(results[id_], own, sizes, stale.get(id_, ()))
        assert figures == pytest.approx({name: expected[id_][name] for name in figures})
