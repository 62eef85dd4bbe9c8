"""The tool that writes the page on quality: its tables against the runs, and a chart that can be drawn."""

from __future__ import annotations

import importlib.util
import re
import shutil
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from measuring import evaluation
from measuring import questions as sets_of

TOOL = Path(__file__).parents[2] / "tools" / "make_quality_docs.py"


@pytest.fixture(scope="module")
def tool() -> Any:
    found = importlib.util.spec_from_file_location("make_quality_docs", TOOL)
    assert found is not None
    assert found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules["make_quality_docs"] = module
    found.loader.exec_module(module)
    return module


def test_the_page_says_what_the_runs_say(tool: Any, queries: Path, tmp_path: Path) -> None:
    folder, out = tmp_path / "sets", tmp_path / "out"
    shutil.copytree(queries.parent, folder / "one")
    shutil.copytree(queries.parent, folder / "two" / "dev")
    assert tool.main([str(folder), "--out", str(out)]) == 0
    text = (out / "quality.md").read_text("utf-8")
    asked = sets_of.read_set(queries)
    found = evaluation.evaluate(asked.questions, asked.folder, evaluation.Options())
    value = f"{evaluation.by_category(found)[evaluation.ALL]['r@2000c']:.3f}"
    assert f"| `default` | {value} | {value} | {value} |" in text
    assert "sets and their questions: one (5), two (5)." in text
    for step in (*tool.PRESETS, *tool.ABLATION):
        assert step.name in text
    for lines in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):  # every row is as wide as its head
        assert len({line.count("|") for line in lines.splitlines()}) == 1
    drawn = ElementTree.fromstring((out / "images" / "quality.svg").read_text("utf-8"))
    curves = drawn.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(curves) == len(tool.PRESETS)
    assert all(len(curve.attrib["points"].split()) == len(tool.BUDGETS) for curve in curves)


def test_sets_that_are_not_there_are_told(tool: Any, queries: Path) -> None:
    with pytest.raises(SystemExit, match=r"no sets in .*: other"):
        tool.main([str(queries.parent.parent), "--sets", "set,other"])


def test_names_at_the_ends_of_lines_do_not_lie_on_each_other(tool: Any) -> None:
    for wanted in ([100.0, 101.0, 99.0], [360.0, 365.0, 366.0, 367.0, 368.0], [50.0]):
        placed = tool.ends(wanted)
        assert sorted(placed) == [placed[at] for at in sorted(range(len(wanted)), key=lambda at: wanted[at])]
        assert all(b - a >= tool.APART for a, b in zip(sorted(placed), sorted(placed)[1:], strict=False))
        assert max(placed) <= tool.HEIGHT - tool.BOTTOM
