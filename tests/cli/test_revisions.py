"""`log` and `undo`: what was generated, and taking it back."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.storage import journal, transaction
from commonplace.types.changes import About, Change, Run
from tests import applying
from tests.cli.conftest import Program, environment
from tests.cli.conftest import Run as Command

NEW = b"# Memory\n\n## Tea\n\n- Green tea.\n"


def made(workspace: Path, data: bytes = NEW, title: str = "rewrite MEMORY.md", **named: object) -> Run:
    found = paths.Workspace(workspace)
    before = transaction.read(found, "MEMORY.md")
    about = About("write", title, "it was wrong", "agent", "nanobot", "8f3a")
    run = applying.apply(found, [Change("MEMORY.md", before, data)], about, **named)  # type: ignore[arg-type]
    assert run is not None
    return run


def test_nothing_generated_is_nothing_found(run: Command) -> None:
    for words in (("log",), ("undo",), ("undo", "--dry-run")):
        result = run(*words)
        assert (result.exit_code, result.stdout) == (3, "")
        assert "no generated change" in result.stderr
    assert run("log", "--format", "json").stdout == "[]\n"


def test_the_log_has_a_row_a_run(run: Command, workspace: Path) -> None:
    made(workspace, now=datetime(2026, 2, 13, 3, 30).astimezone())
    made(
        workspace,
        b"# M\n",
        "forget 1 statement \x1b[31m",
        now=datetime(2026, 2, 14, 4).astimezone(),
        keep=False,
    )
    result = run("log")
    assert result.exit_code == 0
    assert result.stdout == (
        "run              kind   by       lines  files  what\n"
        "20260214-040000  write  nanobot  +1 -5      1  (cannot be undone) forget 1 statement �[31m\n"
        "20260213-033000  write  nanobot  +1 -1      1  rewrite MEMORY.md\n"
    )
    assert run("log", "-n", "1").stdout.count("\n") == 2
    assert "+- Green tea." in run("log", "--diff").stdout
    (newest, oldest) = json.loads(run("log", "--format", "json").stdout)
    assert (newest["kept"], oldest["about"]["why"], "diff" in oldest) == (False, "it was wrong", False)


def test_one_run_is_told_with_its_reason_and_diff(run: Command, workspace: Path) -> None:
    one = made(workspace)
    shown = run("log", one.id[:15]).stdout
    for told in (
        one.id,
        "it was wrong",
        "agent nanobot, session 8f3a",
        "MEMORY.md +1 -1",
        "-- Aged white tea",
    ):
        assert told in shown
    assert json.loads(run("log", one.id, "--format", "json").stdout)[0]["diff"].startswith("--- a/MEMORY.md")
    unknown = run("log", "1999")
    assert (unknown.exit_code, unknown.stdout) == (1, "")
    assert "no such run" in unknown.stderr


def test_an_undo_puts_back_and_is_found_by_the_next_search(run: Command, workspace: Path) -> None:
    before = (workspace / "MEMORY.md").read_bytes()
    made(workspace)
    assert "Green" in run("search", "green tea").stdout
    dry = run("undo", "--dry-run")
    assert (dry.exit_code, (workspace / "MEMORY.md").read_bytes()) == (0, NEW)
    assert "+- Aged white tea after lunch." in dry.stdout
    assert "Take back rewrite MEMORY.md: nothing is changed yet" in dry.stderr
    planned = json.loads(run("undo", "--dry-run", "--format", "json").stdout)
    assert [one["id"] for one in planned["runs"]] == [journal.names(paths.Workspace(workspace))[0]]
    done = run("undo")
    assert (done.exit_code, (workspace / "MEMORY.md").read_bytes()) == (0, before)
    assert re.fullmatch(r"\d{8}-\d{6}-\w{6}: undo rewrite MEMORY\.md \(MEMORY\.md\)\n", done.stderr)
    assert "Aged white" in run("search", "white tea").stdout
    assert "(undone) rewrite" in run("log").stdout
    assert run("undo").exit_code == 3


def test_a_refusal_is_one_line_and_changes_nothing(run: Command, workspace: Path) -> None:
    first, second = made(workspace), made(workspace, b"# Mine\n")
    result = run("undo", first.id)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f"undo {second.id} first" in result.stderr
    assert (workspace / "MEMORY.md").read_bytes() == b"# Mine\n"
    assert run("undo", "--since").exit_code == 1
    taken = json.loads(run("undo", first.id, "--since", "--format", "json").stdout)
    assert [one["about"]["undoes"] for one in taken["runs"]] == [second.id, first.id]


@pytest.mark.parametrize(("answer", "back"), [("n\n", False), ("y\n", True)])
def test_a_terminal_shows_what_would_change_and_asks(workspace: Path, answer: str, back: bool) -> None:
    import pty

    made(workspace)
    outer, inner = pty.openpty()
    os.write(outer, answer.encode())
    done = subprocess.run(
        [sys.executable, "-m", "commonplace", "-w", str(workspace), "undo"],
        stdin=inner, capture_output=True, text=True, env=environment(), timeout=60, check=False,
    )  # fmt: skip
    os.close(outer)
    os.close(inner)
    assert "+- Aged white tea after lunch." in done.stdout
    assert "Take back rewrite MEMORY.md? [y/N]" in done.stderr
    assert ((workspace / "MEMORY.md").read_bytes() != NEW) == back


def test_git_that_could_not_is_a_warning(
    run: Command, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COMMONPLACE_HISTORY_GIT", "auto")
    made(workspace)
    subprocess.run(["git", "init", "-q", str(workspace)], check=True)
    (workspace / ".git" / "index.lock").touch()
    result = run("undo")
    assert result.exit_code == 0
    assert "not committed yet: another git (index.lock) is under way" in result.stderr
    assert "index.lock" in run("log", "2").stdout or "index.lock" in run("log", "--diff").stdout


def test_neither_needs_more_than_the_record(program: Program, workspace: Path) -> None:
    made(workspace)
    done = program("log")
    assert (done.returncode, done.stderr) == (0, b"")
    assert not paths.Workspace(workspace).index.exists()
