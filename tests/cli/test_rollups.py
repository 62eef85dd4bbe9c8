"""`rollup`: shown, done, confirmed."""

from __future__ import annotations

from pathlib import Path

import pytest

from commonplace.cli import session
from tests.cli.conftest import Program, Run

OLD = "# 2020-01-13\n\n- 14:05 Deploys go out on Tuesdays.\n- 15:00 Edited x <!-- by: tool -->\n"


@pytest.fixture
def old(workspace: Path) -> Path:
    """A workspace with a daily note of years ago, and without those of this year."""
    for note in (workspace / "memory").glob("2026-*.md"):
        note.unlink()
    (workspace / "memory" / "2020-01-13.md").write_text(OLD)
    return workspace


def test_shown_then_done_then_confirmed(run: Run, old: Path) -> None:
    shown = run("rollup", "--dry-run")
    assert shown.exit_code == 0
    assert "+# 2020-01-13" in shown.output
    assert "memory/2020-01.md: 1 daily note\n" in shown.output
    assert not (old / "archive").exists()
    done = run("rollup", "--older-than", "60d")
    assert done.exit_code == 0
    assert "memory/2020-01.md: 1 daily note (run " in done.output
    assert (old / "archive" / "2020" / "2020-01-13.md").read_text() == OLD
    assert run("rollup").exit_code == 3
    assert "2020-01: archive/2020/2020-01-13.md\n" in run("rollup", "--confirm", "--dry-run").output
    assert "add --yes" in run("rollup", "--confirm").output
    assert (old / "archive" / "2020" / "2020-01-13.md").exists()
    confirmed = run("rollup", "--confirm", "2020-01", "--yes")
    assert "2020-01: 1 original deleted (run " in confirmed.output
    assert not (old / "archive").exists()
    assert run("rollup", "--confirm", "--yes").exit_code == 3
    assert run("search", "deploys").output.startswith("memory/2020-01.md")


@pytest.mark.parametrize(
    "arguments",
    [
        ("2020-01",),
        ("--yes",),
        ("--confirm", "--older-than", "3d"),
        ("--older-than", "soon"),
        ("--older-than", "0"),
    ],
)
def test_what_does_not_go_together_is_refused(run: Run, old: Path, arguments: tuple[str, ...]) -> None:
    assert run("rollup", *arguments).exit_code == 2
    assert (old / "memory" / "2020-01-13.md").exists()


def test_days_and_weeks_are_read(run: Run, old: Path) -> None:
    for age in ("60", "60d", "8w"):
        assert run("rollup", "--dry-run", "--older-than", age).exit_code == 0


def test_whoever_says_no_to_deleting_gets_no_success(
    run: Run, old: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "is_terminal", lambda stream: True)
    assert run("rollup").exit_code == 0
    refused = run("rollup", "--confirm", input="n\n")
    assert refused.exit_code == 130
    assert "Delete 1 original?" in refused.output
    assert (old / "archive" / "2020" / "2020-01-13.md").exists()


def test_a_name_in_capitals_keeps_them(program: Program, old: Path) -> None:
    done = program("rollup", "2020-01")
    assert b"error: MONTH and --yes go with --confirm, which deletes the originals" in done.stderr
    assert b"1d" in program("rollup", "--older-than", "0d").stderr
    assert b"write it as 60d" in program("rollup", "--older-than", "soon").stderr


def test_what_is_no_month_is_refused(program: Program, old: Path) -> None:
    done = program("rollup", "--confirm", "January", "--yes")
    assert done.returncode == 1
    assert b"write it as 2026-01" in done.stderr
