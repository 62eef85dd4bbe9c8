"""What docs/agents.md says of summaries and compaction is so."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from commonplace.config.settings import Summary
from commonplace.upkeep import flush, summaries
from commonplace.upkeep.compaction import Window
from commonplace.upkeep.summaries import MAX_WORDS, MIN_USER_TURNS
from tests.cli.conftest import environment

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text("utf-8")


def test_the_example_runs_and_leaves_a_summary(tmp_path: Path) -> None:
    (block,) = [b for b in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "Compactor" in b]
    (tmp_path / "notes").mkdir()
    given = environment(COMMONPLACE_EMBEDDING_PROVIDER="none")
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", block], cwd=tmp_path, env=given, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    (note,) = (tmp_path / "notes" / "memory").glob("*.md")
    assert "Decided – We decided on step 0." in note.read_text("utf-8")


def test_the_table_of_windows_is_the_formula() -> None:
    rows = re.findall(r"^\| ([\d,]+) \| ([\d,]+) \|$", PAGE, re.MULTILINE)
    assert len(rows) == 5
    for window, limit in rows:
        assert Window(int(window.replace(",", ""))).limit == int(limit.replace(",", ""))


def test_the_numbers_are_those_of_the_settings() -> None:
    assert MIN_USER_TURNS == 3
    assert "At least three messages of the user are new" in PAGE
    assert f"at most {MAX_WORDS} words" in PAGE
    assert Summary().idle_s == 600
    assert f"{Window(1).reserve:,} and {Window(1).margin:,})" in PAGE
    assert f"at most {flush.MOST_ENTRIES} facts" in PAGE
    assert "tried again when it has grown by the margin" in PAGE
    assert f"## {summaries.HEADINGS['en']}" in PAGE
