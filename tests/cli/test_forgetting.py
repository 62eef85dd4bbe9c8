"""`forget`: shown first, asked on a terminal, refused elsewhere without --yes; exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from commonplace import Memory
from commonplace.agent.tools import call
from commonplace.base.paths import Workspace
from commonplace.cli import session
from commonplace.edit.forget import journal, stores
from commonplace.edit.forget.targets import Targets
from tests.cli.conftest import Program, Run

DAY = "memory/2026-02-13.md"


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands believe that somebody sits there."""
    monkeypatch.setattr(session, "is_terminal", lambda stream: True)


def test_without_a_terminal_it_shows_and_says_what_to_type(run: Run, workspace: Path) -> None:
    before = (workspace / DAY).read_bytes()
    result = run("forget", "--person", "Lin", "--also", "L. X.")
    assert result.exit_code == 2
    assert f"{DAY}#L6\n  - Lin signs it off." in result.stdout
    assert "commonplace forget --yes --person Lin --also 'L. X.'" in result.stderr
    assert (workspace / DAY).read_bytes() == before


def test_yes_forgets(run: Run, workspace: Path) -> None:
    result = run("forget", "--person", "Lin", "--yes")
    assert result.exit_code == 0, result.stderr
    assert "nothing of it is found any more" in result.stderr
    assert "Lin" not in (workspace / DAY).read_text()
    assert "cannot be reached from here:" in result.stdout
    again = run("forget", "--person", "Lin", "--yes")
    assert (again.exit_code, "nothing of it is found" in again.stderr) == (3, True)
    assert again.stdout == ""  # there is nothing that backups could hold


def test_what_stands_in_a_collection_alone_is_named_with_the_place(
    run: Run, workspace: Path, tmp_path: Path
) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "work" / "w.md").write_text("- Zorblax works here.\n")
    assert run("collection", "add", str(tmp_path / "work"), "--name", "work").exit_code == 0
    for words in (("--dry-run",), ("--yes",), ()):
        result = run("forget", "--person", "Zorblax", *words)
        assert result.exit_code == 3, result.stderr
        assert "collection work: w.md" in result.stdout
        assert "not ours to change" in result.stdout
        assert "what is named above is not ours to delete" in result.stderr
        assert "backups" not in result.stdout
    (workspace / DAY).write_text("# 2026-02-13\n\n- Zorblax signs off.\n")
    here = run("forget", "--person", "Zorblax", "--yes")
    assert here.exit_code == 0
    assert "nothing of it is found here any more" in here.stderr
    assert (tmp_path / "work" / "w.md").read_text() == "- Zorblax works here.\n"


def test_undo_says_that_a_forgetting_cannot_be_undone(run: Run, workspace: Path) -> None:
    assert run("forget", "--person", "Lin", "--yes").exit_code == 0
    result = run("undo", "--yes")
    assert result.exit_code == 1
    assert "a forgetting cannot be undone" in result.stderr
    assert "to take back an older change, name it" in result.stderr


def test_a_dry_run_only_shows(run: Run, workspace: Path) -> None:
    before = (workspace / DAY).read_bytes()
    result = run("forget", f"{DAY}#L5", "--dry-run")
    assert (result.exit_code, "nothing is changed yet" in result.stderr) == (0, True)
    assert "- The deploy moved to Thursday." in result.stdout
    assert (workspace / DAY).read_bytes() == before
    assert run("forget", "--text", "no such words", "--dry-run").exit_code == 3


def test_on_a_terminal_it_asks(run: Run, workspace: Path, terminal: None) -> None:
    before = (workspace / DAY).read_bytes()
    result = run("forget", DAY, input="n\n")
    assert "Forget 1 place for good? It cannot be undone." in result.stderr
    assert (result.exit_code, (workspace / DAY).read_bytes()) == (130, before)
    assert run("forget", DAY, input="y\n").exit_code == 0
    assert not (workspace / DAY).exists()


def test_hits_are_picked_by_their_numbers(run: Run, workspace: Path, terminal: None) -> None:
    shown = run("forget", "--query", "deploy Lin 部署", input="\n")
    assert shown.exit_code == 3
    rows = [line for line in shown.stdout.splitlines() if line.strip()]
    picked = next(row.split()[0] for row in rows if "Lin signs" in row)
    result = run("forget", "--query", "deploy Lin 部署", "--yes", input=f"{picked}\n")
    assert result.exit_code == 0, result.stderr
    assert "Lin" not in (workspace / DAY).read_text()
    assert "Thursday" in (workspace / DAY).read_text()
    assert run("forget", "--query", "deploy", "--yes", input="99\n").exit_code == 2
    with Memory.open(workspace) as memory:
        assert memory.usage().days == ()


def test_hits_without_a_terminal_say_how_to_pick(run: Run) -> None:
    result = run("forget", "--query", "deploy")
    assert result.exit_code == 2
    assert f"commonplace forget '{DAY}#L5' --yes" in result.stderr


TABLED = """# M

- Alpha beta gamma.

| who | what |
|---|---|
| Zed | secretcoffee |

## About secretcoffee

- other thing.

```sh
run secretcoffee --now
ls
```
"""


@pytest.mark.parametrize("line", [7, 9, 14])
def test_a_row_a_heading_and_a_line_of_code_are_picked_alone(run: Run, workspace: Path, line: int) -> None:
    path = workspace / "memory" / "coffee.md"
    path.write_text(TABLED)
    shown = run("forget", "--query", "secretcoffee", "--yes")
    rows = [row.split()[1] for row in shown.stdout.splitlines()]
    assert sorted(rows) == [f"memory/coffee.md#{at}" for at in ("L14", "L7", "L9")]
    assert f"commonplace forget '{rows[0]}' --yes" in shown.stderr
    assert run("forget", f"memory/coffee.md#L{line}", "--yes").exit_code == 0
    lines = TABLED.splitlines(keepends=True)
    assert path.read_text() == "".join(lines[: line - 1] + lines[line:])


def test_what_holds_no_word_of_a_question_is_not_offered(run: Run, workspace: Path) -> None:
    (workspace / "memory" / "quartz.md").write_text("- A stone of another name.\n")
    result = run("forget", "--query", "quartz", "--yes")
    assert (result.exit_code, result.stdout) == (3, "")
    assert "no line of the notes was found that holds a word of it" in result.stderr


def test_what_is_still_found_ends_with_one(run: Run, workspace: Path) -> None:
    (workspace / "letter.txt").write_text("Dear Lin")
    result = run("forget", "--person", "Lin", "--yes")
    assert result.exit_code == 1
    assert "letter.txt: it is no note of ours" in result.stderr
    assert "still found in 1 file" in result.stderr


def test_wrong_usage(run: Run) -> None:
    assert run("forget").exit_code == 2
    assert run("forget", "--also", "x").exit_code == 2
    assert run("forget", "memory/none.md", "--yes").exit_code == 1


def test_json_says_the_same(run: Run) -> None:
    data = json.loads(run("forget", "--person", "Lin", "--yes", "--format", "json").stdout)
    assert (data["complete"], data["dry_run"], data["left"]) == (True, False, [])
    assert data["places"][0]["citation"] == f"{DAY}#L6"
    assert data["run"]


def test_resume_carries_on(program: Program, workspace: Path) -> None:
    journal.write(Workspace(workspace), PENDING, Targets(people=("Lin",)))
    assert program("forget", "--resume").returncode == 0
    assert journal.pending(Workspace(workspace)) == []
    assert "Lin" not in (workspace / DAY).read_text()
    assert program("forget", "--resume").returncode == 3


PENDING = "20260213-000000-abcdef"


@pytest.fixture
def pending(workspace: Path) -> Workspace:
    """A forgetting of Lin that somebody began."""
    journal.write(Workspace(workspace), PENDING, Targets(people=("Lin",)))
    return Workspace(workspace)


def test_resume_with_nothing_to_carry_on_says_so(run: Run) -> None:
    result = run("forget", "--resume")
    assert (result.exit_code, result.stderr) == (3, "commonplace: no forgetting is under way\n")


def test_ctrl_c_says_what_is_unfinished(run: Run, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sweep = stores.sweep_logs

    def stopped(*arguments: Any, **named: Any) -> Any:
        if journal.pending(Workspace(workspace)):
            raise KeyboardInterrupt
        return sweep(*arguments, **named)

    with monkeypatch.context() as patched:
        patched.setattr(stores, "sweep_logs", stopped)
        result = run("forget", "--person", "Lin", "--yes")
    told = "interrupted; not all forgotten yet: Lin; carry on with: commonplace forget --resume"
    assert (result.exit_code, told in result.stderr) == (130, True)
    assert run("forget", "--resume").exit_code == 0
    assert journal.pending(Workspace(workspace)) == []


def test_a_terminal_gets_no_line_that_is_too_wide(
    run: Run, workspace: Path, terminal: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("TERM", "dumb")
    (workspace / "memory" / "long.md").write_text(f"- {'The zircon is blue. ' * 9}\n")
    for arguments in (("--query", "zircon"), ("--text", "zircon", "--dry-run")):
        shown = run("forget", *arguments, input="\n").stdout
        assert max(map(len, shown.splitlines())) <= 80
        assert "zircon" in shown


TOKEN = "ghp_" + "a1B2c3D4e5F6" * 3
BOX = f"# Box\n\n- The zinc box opens with {TOKEN}.\n- zinc <private>in Lisbon</private>\n\n<private>\nzinc\n</private>\n"


@pytest.mark.parametrize("arguments", [
    ("memory/box.md", "--dry-run"), ("--text", "zinc", "--dry-run"), ("--query", "zinc"),
    ("--text", "zinc", "--dry-run", "--format", "json"), ("memory/box.md", "--yes"),
    ("--text", TOKEN, "--yes", "--format", "json"),
])  # fmt: skip
def test_a_terminal_shows_no_secret_and_nothing_private(
    run: Run, workspace: Path, arguments: tuple[str, ...]
) -> None:
    (workspace / "memory" / "box.md").write_text(BOX)
    result = run("forget", *arguments)
    assert "memory/box.md" in result.stdout
    assert TOKEN not in result.stdout + result.stderr
    assert "Lisbon" not in result.stdout + result.stderr


@pytest.mark.parametrize("form", ["text", "json"])
def test_what_agents_ask_for_is_listed_without_secrets(run: Run, workspace: Path, form: str) -> None:
    (workspace / "memory" / "box.md").write_text(BOX)
    with Memory.open(workspace, overrides={"embedding.provider": "none"}) as memory:
        assert call(memory, "memory_forget", {"what": TOKEN, "kind": "text"}).data["approve"]
    result = run("forget", "--pending", "--format", form)
    assert result.exit_code == 0
    assert "[REDACTED:" in result.stdout
    assert TOKEN not in result.stdout
