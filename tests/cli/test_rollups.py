"""`rollup`: shown, done, taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

OLD = "# 2020-01-13\n\n- 14:05 Deploys go out on Tuesdays.\n- 15:00 Edited x <!-- by: tool -->\n"


@pytest.fixture
def old(workspace: Path) -> Path:
    """A workspace with a daily note of years ago, and without those of this year."""
    for note in (workspace / "memory").glob("2026-*.md"):
        note.unlink()
    (workspace / "memory" / "2020-01-13.md").write_text(OLD)
    return workspace


def test_shown_then_done_then_undone(run: Run, old: Path) -> None:
    shown = run("rollup", "--dry-run")
    assert shown.exit_code == 0
    assert "+# 2020-01-13" in shown.output
    assert "memory/2020-01.md: 1 daily note\n" in shown.output
    done = run("rollup", "--older-than", "60d")
    assert done.exit_code == 0
    assert "memory/2020-01.md: 1 daily note (run " in done.output
    assert not (old / "memory" / "2020-01-13.md").exists()
    assert run("rollup").exit_code == 3
    assert run("search", "deploys").output.startswith("memory/2020-01.md")
    assert run("undo", "--yes").exit_code == 0
    assert (old / "memory" / "2020-01-13.md").read_text() == OLD


@pytest.mark.parametrize("age", ["soon", "0"])
def test_what_is_no_age_is_refused(run: Run, old: Path, age: str) -> None:
    refused = run("rollup", "--older-than", age)
    assert refused.exit_code == 2
    assert ("1d" if age == "0" else "write it as 60d") in refused.output
    assert (old / "memory" / "2020-01-13.md").exists()


def test_days_and_weeks_are_read(run: Run, old: Path) -> None:
    for age in ("60", "60d", "8w"):
        assert run("rollup", "--dry-run", "--older-than", age).exit_code == 0
