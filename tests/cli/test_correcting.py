"""`correct`, `confirm` and `remember --tentative` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

OLD, NEW = "The deploy moved to Thursday.", "The deploy moved to Friday."


def text(workspace: Path) -> str:
    return (workspace / "memory" / "2026-02-13.md").read_text()


def test_correct_shows_the_diff_and_says_what_it_did(run: Run, workspace: Path) -> None:
    done = run("correct", OLD, NEW, "--why", "asked for")
    assert done.exit_code == 0
    assert f"-- {OLD}\n" in done.stdout
    assert f"+- {NEW} <!-- cp: since=" in done.stdout
    assert done.stderr == "struck memory/2026-02-13.md#L5; memory/2026-02-13.md#L6 stands instead\n"
    assert f"- ~~{OLD}~~ <!-- cp: until=" in text(workspace)
    shown = run("log", "--format", "json")
    assert json.loads(shown.stdout)[0]["about"]["why"] == "asked for"
    assert run("undo").exit_code == 0
    assert "~~" not in text(workspace)


def test_what_an_agent_remembers_says_so(run: Run, workspace: Path) -> None:
    place = run("--agent", "scout", "remember", "The queue moved.").stdout.partition(":")[0]
    assert run("remember", "Tea at five.").exit_code == 0
    note = (workspace / place).read_text("utf-8")
    assert "The queue moved. <!-- by: agent; agent: scout; at: " in note
    assert "Tea at five.\n" in note


def test_json(run: Run) -> None:
    told = json.loads(run("correct", OLD, NEW, "--format", "json").stdout)
    assert told["struck"] == ["memory/2026-02-13.md#L5"]
    assert told["written"] == "memory/2026-02-13.md#L6"
    assert {*told} == {"run", "struck", "written", "similar", "redacted", "warnings", "diff"}


def test_dry_run_changes_nothing(run: Run, workspace: Path) -> None:
    before = text(workspace)
    done = run("correct", OLD, NEW, "--dry-run")
    assert (done.exit_code, done.stderr) == (0, "Correct 1 statement: nothing is changed yet\n")
    assert NEW in done.stdout
    assert text(workspace) == before


def test_nothing_in_its_place_and_new_from_standard_input(run: Run, workspace: Path) -> None:
    assert run("correct", "memory/2026-02-13.md:5", "--nothing").stderr == "struck memory/2026-02-13.md#L5\n"
    assert run("correct", "Lin signs it off.", "-", input="Mira signs it off.\nAlways.\n").exit_code == 0
    assert "- Mira signs it off. <!-- cp" in text(workspace)
    assert "\n  Always.\n" in text(workspace)


@pytest.mark.parametrize(
    "arguments", [("correct", OLD), ("correct", OLD, NEW, "--nothing"), ("correct", OLD, "-")]
)
def test_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments, input=" \n").exit_code == 2


def test_a_missing_argument_is_named(run: Run) -> None:
    for typed in ((), ("--nothing",)):
        told = run("correct", *typed)
        assert (told.exit_code, "missing argument 'OLD'" in told.stderr) == (2, True), told.stderr


def test_near_misses_are_listed(run: Run, workspace: Path) -> None:
    before = text(workspace)
    done = run("correct", "the deploy moved to Monday", NEW)
    assert done.exit_code == 1
    assert done.stderr.startswith("near it:\nmemory/2026-02-13.md#L5  The deploy moved to Thursday.\n")
    assert "no statement of the notes says that" in done.stderr
    assert text(workspace) == before


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("commonplace.cli.session.is_terminal", lambda stream: True)


@pytest.mark.usefixtures("terminal")
def test_on_a_terminal_the_owner_chooses(run: Run, workspace: Path) -> None:
    done = run("correct", "the deploy moved to Monday", NEW, input="1\n")
    assert done.exit_code == 0, done.stderr
    assert "  1  memory/2026-02-13.md#L5" in done.stderr
    assert f"- {NEW} <!--" in text(workspace)
    assert run("correct", "Lin signs off", "Mira signs it off.", input="0\n").exit_code == 130
    assert "Mira" not in text(workspace)


@pytest.mark.usefixtures("terminal")
def test_what_is_near_is_cut_to_the_terminal(
    run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "50")
    with (workspace / "memory/2026-02-13.md").open("a", encoding="utf-8") as note:
        note.write(f"\n- The deploy moved to Saturday{', and to another day' * 5}.\n")
    near = run("correct", "the deploy moved to Monday", NEW, input="0\n").stderr.splitlines()
    assert any(line.rstrip().endswith("…") for line in near)
    assert all(len(line) <= 50 for line in near if "memory/2026-02-13.md#" in line)


def test_an_agent_is_named(run: Run, workspace: Path) -> None:
    assert run("correct", OLD, NEW, "--agent", "nano", "--session", "s1").exit_code == 0
    assert "by=agent agent=nano" in text(workspace)
    assert "<!-- by: agent; agent: nano; session: s1; at: " in text(workspace)


def test_a_guess_is_remembered_and_confirmed(run: Run, workspace: Path) -> None:
    place = run("remember", "--tentative", "A hunch about rain.").stdout.strip().partition(":")[0]
    note = workspace / place
    assert "A hunch about rain. <!-- tentative -->" in note.read_text()
    assert run("confirm", "A hunch about rain.", "--dry-run").stderr.endswith(": nothing is changed yet\n")
    done = run("confirm", "A", "hunch", "about", "rain.", "--why", "it rained")
    assert (done.exit_code, done.stderr) == (0, f"confirmed {place}#L3\n")
    assert "tentative" not in note.read_text()
    assert run("confirm", "A hunch about rain.").exit_code == 1
    run("remember", "--tentative", "Another hunch about snow.")
    told = json.loads(run("confirm", "Another hunch about snow.", "--reject", "--format", "json").stdout)
    assert told["rejected"]
    assert "~~Another hunch about snow.~~" in note.read_text()


def test_remember_names_the_nearest_that_stands(run: Run, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("- Standup is at 9:30.\n")
    run("sync")
    done = run("remember", "Standup is at 10:00.")
    assert done.exit_code == 0
    assert "near MEMORY.md#L1: Standup is at 9:30." in done.stderr
    assert "`commonplace correct 'MEMORY.md#L1' NEW`" in done.stderr


def test_a_secret_in_the_name_of_an_agent_is_written_nowhere(run: Run, workspace: Path) -> None:
    token = "ghp_" + "a1B2c3D4e5F6" * 3
    (workspace / "memory" / "kiln.md").write_text("- The kiln burns at night.\n")
    words = ("The kiln burns at night.", "The kiln burns at noon.")
    result = run("--agent", f"b-{token}", "correct", *words, "--yes")
    assert result.exit_code == 0, result.stderr
    assert "agent=b-" in (workspace / "memory" / "kiln.md").read_text()
    files = [path for path in workspace.rglob("*") if path.is_file()]
    assert not [path for path in files if token.encode() in path.read_bytes()]
