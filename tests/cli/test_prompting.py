"""`prompt`: the block and nothing else on standard output, sessions across processes, the instructions."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commonplace.agent import instructions
from tests.cli.conftest import Program, Run
from tests.places import settings_file

DAY = ("--now", "2026-02-14")


def test_the_block_is_all_that_is_printed(run: Run) -> None:
    result = run("prompt", "who", "signs the deploy off?", *DAY)
    assert result.exit_code == 0
    assert result.stdout.startswith("<recalled-notes ")
    assert result.stdout.endswith("</recalled-notes>\n")
    for text in ("Aged white tea", "Nothing but rain", "Lin signs it off", "周五下午不部署"):
        assert result.stdout.count(text) == 1
    assert result.stderr == "106 tokens of 1,600 from 4 places · 1 left out\n"


def test_the_report_says_what_is_in_and_what_is_not(run: Run, workspace: Path) -> None:
    (workspace / "MEMORY.md").write_text("- sure\n- perhaps <!-- tentative -->\n")
    result = run("prompt", "部署", *DAY, "--report")
    assert "long-term       7  MEMORY.md#L1" in result.stderr
    assert "left out        3  MEMORY.md#L2: tentative" in result.stderr
    assert "daily" in result.stderr
    assert "MEMORY.md#L2" not in result.stdout
    assert "1 passage of the recall: tentative" in run("prompt", "perhaps", *DAY, "--report").stderr


def test_as_json_it_says_the_same(run: Run) -> None:
    plain = run("prompt", "deploy", *DAY).stdout
    result = run("prompt", "deploy", *DAY, "--json")
    data = json.loads(result.stdout)
    assert data["text"] + "\n" == plain
    assert (data["budget"], data["level"], data["session"]) == (1600, 2, "")
    assert data["parts"][0]["name"] == "long-term"
    assert {"name", "citation", "tokens", "text"} == set(data["parts"][0])
    assert result.stderr == ""


def test_a_budget_holds_and_one_below_the_least_is_wrong_usage(run: Run) -> None:
    assert json.loads(run("prompt", "deploy", *DAY, "--budget", "60", "--json").stdout)["tokens"] <= 60
    assert run("prompt", "deploy", "--budget", "49").exit_code == 2


def test_files_are_added_when_asked_or_set(run: Run, workspace: Path) -> None:
    (workspace / "AGENTS.md").write_text("- Be brief.\n")
    assert "Be brief" not in run("prompt", "deploy").stdout
    assert "Be brief" in run("prompt", "deploy", "--files").stdout
    settings_file(workspace).write_text('[prompt]\nfile_names = ["AGENTS.md"]\n')
    assert "Be brief" in run("prompt", "deploy").stdout
    assert "Be brief" not in run("prompt", "deploy", "--no-files").stdout


def test_a_session_is_given_nothing_twice_by_any_process(process: Program, run: Run) -> None:
    first = process("prompt", "deploy", *DAY, "--session", "s 1")
    assert first.returncode == 0, first.stderr
    again = run("prompt", "deploy", *DAY, "--session", "s 1")
    assert (again.exit_code, again.stdout) == (3, "")
    assert again.stderr.startswith("nothing new to say · ")
    assert run("prompt", "deploy", *DAY, "--session", "other").stdout.encode() == first.stdout
    assert run("prompt", "deploy", *DAY, "--session", "s 1", "--forget").stdout.encode() == first.stdout
    assert run("prompt", "--session", "s 1", "--forget").exit_code == 0
    assert run("prompt", "deploy", *DAY, "--session", "s 1").stdout.encode() == first.stdout


@pytest.mark.parametrize("arguments", [(), ("--forget",), ("--forget", "deploy"), ("--session", "a")])
def test_what_is_missing_is_wrong_usage(run: Run, arguments: tuple[str, ...]) -> None:
    result = run("prompt", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_the_message_may_come_on_standard_input(run: Run) -> None:
    assert (
        run("prompt", "-", *DAY, input="who signs off the deploy?").stdout
        == run("prompt", "who signs off the deploy?", *DAY).stdout
    )


def test_nothing_to_say_is_nothing_printed(run: Run, workspace: Path) -> None:
    for note in workspace.rglob("*.md"):
        note.unlink()
    result = run("prompt", "deploy")
    assert (result.exit_code, result.stdout) == (3, "")


def test_the_instructions_are_in_the_language_of_the_notes_or_as_told(run: Run, workspace: Path) -> None:
    english, chinese = instructions.text("en") + "\n", instructions.text("zh") + "\n"
    assert run("prompt", "--instructions").stdout == english
    assert run("prompt", "--instructions", "zh").stdout == chinese
    (workspace / "MEMORY.md").write_text("# 记忆\n\n- 午饭后喝老白茶。\n", "utf-8")
    assert run("prompt", "--instructions").stdout == chinese
    assert run("prompt", "--instructions", "en").stdout == english
    assert run("prompt", "--instructions", "fr").exit_code == 2


def test_the_instructions_need_no_workspace(run: Run, tmp_path: Path) -> None:
    assert run("-w", str(tmp_path / "nowhere"), "prompt", "--instructions", "en").exit_code == 0
