"""init, remember, sync, watch, status, collection, context, config."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import click.testing

from commonplace.cli.application import cli
from tests.cli.conftest import Run, command, environment
from tests.places import settings_file


def test_init_makes_what_is_missing_and_touches_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    first = click.testing.CliRunner().invoke(cli, ["init", str(folder)])
    assert first.exit_code == 0
    assert "MEMORY.md" in first.stdout
    (folder / "MEMORY.md").write_text("mine\n")
    second = click.testing.CliRunner().invoke(cli, ["init", str(folder)])
    assert "nothing to make" in second.stdout
    assert (folder / "MEMORY.md").read_text() == "mine\n"


def test_remember_says_where(run: Run, workspace: Path) -> None:
    result = run("remember", "The", "key", "is", "under", "the", "mat.")
    path, _, line = result.stdout.strip().partition(":")
    written = (workspace / path).read_text().splitlines()
    assert written[int(line) - 1].endswith("The key is under the mat.")
    assert run("search", "mat").exit_code == 0


def test_remember_long_term_reads_standard_input(run: Run, workspace: Path) -> None:
    result = run("remember", "-", "--long-term", "--section", "Tea", input="No longjing before noon.\n")
    assert result.stdout.startswith("MEMORY.md:")
    assert "No longjing before noon." in (workspace / "MEMORY.md").read_text()


def test_remember_says_what_was_redacted(run: Run, workspace: Path) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6" * 3
    result = run("remember", f"token {secret}")
    assert "redacted" in result.stderr
    assert not any(secret in path.read_text() for path in workspace.rglob("*.md"))
    assert "redacted" not in run("remember", "--no-redact", f"token {secret}").stderr
    assert any(secret in path.read_text() for path in workspace.rglob("*.md"))


def test_status(run: Run, workspace: Path) -> None:
    run("sync")
    assert json.loads(run("status", "--format", "json").stdout)["notes"] == 3
    text = run("status").stdout
    assert str(workspace) in text
    assert "up to date" in text


def test_watch_takes_up_changes_until_ctrl_c(workspace: Path) -> None:
    process = subprocess.Popen(
        command("-w", workspace, "watch"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert b"3 added" in process.stdout.readline()
    (workspace / "memory" / "2026-02-15.md").write_text("# 2026-02-15\n\nnew\n")
    assert b"1 added" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert b"Traceback" not in errors


def test_collections_come_and_go(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "plan.md").write_text("# Plan\n\nShip the deploy tool.\n")
    (folder / "draft.md").write_text("# Draft\n\nAn unfinished deploy.\n")
    assert run("collection", "add", str(folder), "--name", "proj", "--ignore", "draft.md").exit_code == 0
    found = json.loads(run("search", "deploy", "-c", "proj", "--format", "json").stdout)
    assert [hit["path"] for hit in found] == ["proj/plan.md"]
    assert "Ship the deploy tool." in run("get", "proj/plan.md").stdout
    assert run("collection", "rename", "proj", "plans").exit_code == 0
    listed = json.loads(run("collection", "list", "--format", "json").stdout)
    assert [one["name"] for one in listed] == ["memory", "plans"]
    assert "plans" in run("collection", "list").stdout
    assert run("collection", "remove", "plans").exit_code == 0
    assert (folder / "plan.md").exists()
    assert run("search", "deploy", "-c", "plans").exit_code == 1


def test_contexts_stand_beside_hits(run: Run) -> None:
    assert run("context", "add", "memory", "Daily", "notes of an engineer").exit_code == 0
    assert "Daily notes of an engineer" in run("context", "list").stdout
    hit = json.loads(run("search", "deploy", "--format", "json").stdout)[0]
    assert hit["contexts"] == ["Daily notes of an engineer"]
    assert "(Daily notes of an engineer)" in run("search", "deploy", "--full").stdout
    assert run("context", "remove", "memory").exit_code == 0
    assert json.loads(run("context", "list", "--format", "json").stdout) == {}
    assert "nothing is described; `commonplace context add" in run("context", "list").stderr


def test_a_setting_that_is_not_allowed_is_one_line(run: Run, workspace: Path) -> None:
    settings_file(workspace).write_text("[search]\nlimit = 0\n")
    result = run("search", "deploy")
    assert result.exit_code == 1
    assert "search.limit" in result.stderr
    assert result.stderr.count("\n") == 1
