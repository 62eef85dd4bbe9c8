"""`consolidate` from the shell."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base.paths import Workspace
from commonplace.upkeep.schedule import due
from tests.cli.conftest import Run

ENTRIES = "".join(f"- Person{n} owns service number {n}.\n" for n in range(6))
TEXT = f"# Memory\n\n## People\n\n{ENTRIES}- Mira owns billing and mail.\n- Mira owns the billing and the mail.\n"


@pytest.fixture
def twice(workspace: Path) -> Path:
    (workspace / "MEMORY.md").write_text(TEXT)
    return workspace / "MEMORY.md"


def test_what_is_proposed_is_shown_and_written_when_accepted(run: Run, twice: Path) -> None:
    done = run("consolidate")
    assert done.exit_code == 0
    assert "+- ~~Mira owns billing and mail.~~" in done.stdout
    assert (
        "2 lines that say the same become one, “Mira owns the billing and the mail.”: MEMORY.md#L"
        in done.stderr
    )
    assert "consolidate --accept" in done.stderr
    assert twice.read_text() == TEXT
    done = run("consolidate", "--accept")
    assert "undo" in done.stderr
    assert "~~Mira owns billing and mail.~~" in twice.read_text()
    done = run("consolidate", "--accept")
    assert (done.exit_code, done.stderr.strip()) == (3, "nothing to do")
    assert run("consolidate", "--if-due").exit_code == 0  # nothing for a schedule to complain of


def test_statements_that_wait_for_a_model_end_with_a_code_of_their_own(run: Run, workspace: Path) -> None:
    day = f"{date.today():%Y-%m-%d}"
    (workspace / "memory" / f"{day}.md").write_text(f"# {day}\n\n- Priya decided to be a vegetarian.\n")
    done = run("consolidate")
    assert done.exit_code == 4
    assert "no language model is set" in done.stderr
    assert run("consolidate", "--dry-run").exit_code == 4
    assert run("consolidate", "--if-due").exit_code == 0


def test_a_dry_run_writes_nothing(run: Run, twice: Path) -> None:
    done = run("consolidate", "--dry-run", "--days", "3")
    assert "+- ~~Mira" in done.stdout
    assert twice.read_text() == TEXT
    assert run("consolidate", "--dry-run", "--accept").exit_code == 2


def test_an_estimate_asks_nothing(run: Run, twice: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("consolidate", "--estimate", "--days", "366").stdout.endswith("no language model is set\n")
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "fake")
    told = run("consolidate", "--estimate", "--days", "366").stdout
    assert "statements" in told
    assert not Workspace(twice.parent).ledger.exists() or run("costs").stdout == ""


def test_a_model_that_answers_nonsense_changes_nothing(
    run: Run, twice: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    day = f"{date.today():%Y-%m-%d}"
    (twice.parent / "memory" / f"{day}.md").write_text(f"# {day}\n\n- Priya is vegetarian and owns mail.\n")
    monkeypatch.setenv("COMMONPLACE_LLM_PROVIDER", "fake")
    done = run("consolidate")
    assert done.exit_code == 0
    assert "no language model planned this" in done.stderr
    assert twice.read_text() == TEXT


def test_the_second_at_once_says_so_and_ends_well(run: Run, workspace: Path) -> None:
    with Memory.open(workspace) as memory, due.held(memory.workspace):
        done = run("consolidate")
    assert done.exit_code == 0
    assert "another process" in done.stderr


def test_a_due_one_that_changes_nothing_ends_well(run: Run) -> None:
    result = run("consolidate", "--if-due")
    assert (result.exit_code, "not due" in result.stderr) == (0, False)


def test_only_if_it_is_due(run: Run, twice: Path) -> None:
    assert "not due" not in run("consolidate", "--if-due").stderr
    assert "not due" in run("consolidate", "--if-due").stderr


def test_without_a_model_it_says_how_much_waits(run: Run, workspace: Path) -> None:
    day = f"{date.today():%Y-%m-%d}"
    (workspace / "memory" / f"{day}.md").write_text(f"# {day}\n\n- Kim owns logs.\n")
    told = run("consolidate").stderr
    assert "no language model is set, and 1 statement waits for one; set one with" in told
    assert "nothing to do" not in told
