"""Collections from the command line: left out of searches, updated before a sync, made of code."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run


@pytest.fixture
def docs(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a.md").write_text("# Papers\n\nThe walnut deploy paper.\n")
    run("collection", "add", str(folder), "--name", "docs")
    return folder


@pytest.mark.parametrize(("folder", "name"), [("docs", "docs"), ("My Papers (2026)", "my-papers-2026")])
def test_a_collection_is_called_as_its_folder_is(run: Run, tmp_path: Path, folder: str, name: str) -> None:
    (tmp_path / folder).mkdir()
    assert f"added collection {name}: " in run("collection", "add", str(tmp_path / folder)).stdout
    again = run("collection", "add", str(tmp_path / folder))
    assert (again.exit_code, again.stdout) == (1, "")
    assert f"{name!r}, as the folder is called, is taken; give it a name" in again.stderr


def test_a_folder_that_gives_no_name_gets_one_and_a_name_that_is_taken_is_refused(
    run: Run, tmp_path: Path
) -> None:
    for folder, name in (("资料", "folder"), ("…", "folder-2")):
        (tmp_path / folder).mkdir()
        assert f"added collection {name}:" in run("collection", "add", str(tmp_path / folder)).stdout
    (tmp_path / "memory").mkdir()
    told = run("collection", "add", str(tmp_path / "memory"))
    assert (told.exit_code, told.stderr.count("\n")) == (1, 1)
    assert "give it a name" in told.stderr
    assert run("collection", "add", str(tmp_path / "memory"), "--name", "papers").exit_code == 0


def found(run: Run, *arguments: str) -> set[str]:
    answer = run("search", *arguments, "--format", "json")
    return {hit["collection"] for hit in json.loads(answer.stdout or "[]")}


def test_an_excluded_collection_is_found_only_when_it_is_named(run: Run, docs: Path) -> None:
    assert found(run, "deploy") == {"memory", "docs"}
    assert run("collection", "exclude", "docs").exit_code == 0
    assert found(run, "deploy") == {"memory"}
    assert found(run, "type:note deploy") == set()
    assert found(run, "deploy", "-c", "docs") == found(run, "deploy in:docs") == {"docs"}
    assert found(run, "deploy -in:memory") == set()
    assert "walnut" not in run("recall", "the walnut deploy").stdout
    assert "walnut" in run("recall", "the walnut deploy", "-c", "docs").stdout
    shown = dict(line.split(maxsplit=1) for line in run("collection", "show", "docs").stdout.splitlines())
    assert shown["searched"] == "when it is named: -c docs, in:docs"
    assert not json.loads(run("collection", "show", "docs", "--format", "json").stdout)["include_by_default"]
    run("collection", "include", "docs")
    assert found(run, "deploy") == {"memory", "docs"}
    run("collection", "exclude", "docs")
    assert found(run, "deploy") == {"memory"}
    assert run("collection", "exclude", "none").exit_code == 1


def test_a_weight_is_shown_and_set(run: Run, docs: Path, tmp_path: Path) -> None:
    shown = json.loads(run("collection", "list", "--format", "json").stdout)
    assert {one["name"]: one["weight"] for one in shown} == {"memory": "own", "docs": "reference"}
    assert run("collection", "weight", "docs", "own").stdout == (
        "collection docs is own: ranked as your own notes are\n"
    )
    row = next(line for line in run("collection", "list").stdout.splitlines() if line.startswith("docs"))
    assert row.split()[1] == "own"
    assert "ranked as your own notes are" in run("collection", "show", "docs").stdout
    assert run("collection", "weight", "docs", "heavy").exit_code == 2
    added = run("collection", "add", str(docs), "--name", "more", "--weight", "own")
    assert "go before it" not in added.stderr
    assert "go before it" in run("collection", "add", str(docs), "--name", "rest").stderr


def test_a_sync_with_pull_runs_the_command_first(run: Run, docs: Path) -> None:
    writes = "open('b.md', 'w').write('# B\\n\\nThe sycamore.\\n')"
    told = run("collection", "update-cmd", "docs", "--", sys.executable, "-c", writes)
    assert (told.exit_code, "sync --pull" in told.stdout) == (0, True)
    assert sys.executable in run("collection", "update-cmd", "docs").stdout
    assert sys.executable in run("collection", "show", "docs").stdout
    run("sync")
    run("search", "sycamore")
    assert not (docs / "b.md").exists()
    report = json.loads(run("sync", "--pull", "--format", "json").stdout)
    assert (report["added"], report["warnings"]) == (1, [])
    assert found(run, "sycamore") == {"docs"}


def test_a_command_that_fails_is_a_warning_of_the_sync(run: Run, docs: Path) -> None:
    run("collection", "update-cmd", "docs", "--", sys.executable, "-c", "raise SystemExit('no remote')")
    (docs / "c.md").write_text("# C\n")
    result = run("sync", "--pull")
    assert result.exit_code == 0
    assert "collection docs: " in result.stderr
    assert "exited with 1: no remote" in result.stderr
    assert " added" in result.stdout
    assert run("collection", "update-cmd", "docs", "--clear").exit_code == 0
    assert run("collection", "update-cmd", "docs").stdout == ""
    assert run("sync", "--pull").stderr == ""


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("collection", "update-cmd", "docs", "--clear", "git"), 2),
        (("collection", "update-cmd", "none"), 1),
        (("collection", "update-cmd", "none", "git"), 1),
        (("sync", "--pull", "--estimate"), 2),
    ],
)
def test_wrong_usage(run: Run, docs: Path, arguments: tuple[str, ...], code: int) -> None:
    result = run(*arguments)
    assert result.exit_code == code


CODE = '''import os

# Title of nothing
class Dispatcher:
    """Sends webhooks."""

    def retry(self, count):
        """Wait before the next attempt."""
        return min(512, 2 ** count)
'''


def aged(path: Path, text: str) -> None:
    path.write_text(text)
    os.utime(path, (1_770_000_000, 1_770_000_000))


@pytest.fixture
def code(run: Run, tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    aged(folder / "hooks.py", CODE)
    run("collection", "add", str(folder), "--name", "source", "--glob", "**/*.py")
    return folder


def hit(run: Run, *arguments: str) -> dict[str, object]:
    first: dict[str, object] = json.loads(run("search", *arguments, "--format", "json").stdout)[0]
    return first
