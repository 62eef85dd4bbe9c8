"""The program as a shell sees it: exit codes, one-line errors, broken pipes, Ctrl-C, what it imports."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace.base.paths import Workspace
from tests.cli.conftest import Program, Run, command, environment

HEAVY = ["numpy", "onnxruntime", "tokenizers", "sqlite_vec", "rich", "yaml", "watchfiles", "tomlkit"]
IDLE = ["click", "commonplace.config.editing", "commonplace.index.sync", "commonplace.notes.layout", "datetime", "difflib",
        "hashlib", "inspect", "ipaddress", "ntpath", "shlex", "signal", "string", "typing"]  # fmt: skip


# --- start-up ---------------------------------------------------------------------------------------


def imported(workspace: Path, *arguments: str) -> set[str]:
    """Run a command in a process of its own; return the modules it imported."""
    done = subprocess.run(
        command("-w", workspace, *arguments),
        capture_output=True,
        env=environment(PYTHONPROFILEIMPORTTIME="1"),
        timeout=60,
    )
    lines = done.stderr.decode().splitlines()
    return {line.rpartition("|")[2].strip() for line in lines if line.startswith("import time:")}


def test_a_lexical_search_imports_nothing_heavy(run: Run, workspace: Path) -> None:
    run("sync")
    modules = imported(workspace, "search", "--lexical", "deploy")
    assert "commonplace.memory" in modules
    assert not modules.intersection(HEAVY)
    assert not modules.intersection(IDLE)


def test_a_lexical_search_makes_only_the_dataclasses_it_returns() -> None:
    program = (
        "import dataclasses, sys, commonplace.cli.searching, commonplace.memory;"
        "modules = [m for name, m in sys.modules.items() if name.startswith('commonplace')];"
        "print({value.__name__ for m in modules for value in vars(m).values() if isinstance(value, type)"
        " and dataclasses.is_dataclass(value)} - {'Factor', 'Hit', 'SearchResult'})"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, env=environment(), check=True)
    assert done.stdout.strip() == b"set()"


@pytest.mark.parametrize("arguments", [[], ["--help"], ["--version"]])
def test_help_imports_no_command(workspace: Path, arguments: list[str]) -> None:
    modules = imported(workspace, *arguments)
    assert "commonplace.memory" not in modules
    assert not [name for name in modules if name.startswith("commonplace.cli.") and name.endswith("ing")]


# --- usage ------------------------------------------------------------------------------------------


def test_bad_input_gets_one_line(run: Run) -> None:
    for arguments, code, expected in (
        (["serch", "x"], 2, "did you mean 'search'?"),
        (["qqqqqq"], 2, "there are search, recall"),
        (["collection", "ad"], 2, "did you mean 'add'?"),
        (["search"], 2, "missing argument 'QUERY...'"),
        (["search", "x", "--format", "yaml"], 2, "'json', 'md', 'files'"),
        (["search", "x", "--lexicl"], 2, "--lexical"),
        (["search", "x", "-n", "0"], 2, "1 to 1000"),
        (["search", "x", "-n", "many"], 2, "'many' is not a number from 1 to 1000"),
        (["search", "x", "--min-score", "7"], 2, "a number from 0 to 1"),
        (["search", "x", "--now", "20260101"], 2, "'20260101' is not a day, such as 2026-02-13"),
        (["prompt", "x", "--now", "2026-W10-1"], 2, "'2026-W10-1' is not a day, such as 2026-02-13"),
        (["sync", "--every", "0"], 2, "x>=0.01"),
        (["remember", "x", "--section", "S"], 2, "--long-term"),
        (["search", "x", "-c", "nope"], 1, "unknown collection 'nope'; known: memory"),
        (["get", "memory/none.md"], 1, "no such note; `commonplace ls` lists them"),
        (["get", "a\0b"], 1, ""),
        (["get", "the", "deploy"], 2, "unexpected extra argument (deploy)"),
        (["get", "the deploy"], 1, "no such note; `commonplace search 'the deploy'` looks for words"),
        (["get", "7"], 1, "7: no such note; hits and notes have numbers at a terminal alone"),
        (["export", "all.zip"], 2, "unexpected extra argument (all.zip)"),
        (["sessions", "show", "nope"], 1, "no such session; `commonplace sessions list` shows all"),
        (["forget", "Lin signs"], 1, "words wherever they stand: `commonplace forget --text 'Lin signs'`"),
        (["forget", "Lin", "signs"], 1, "hold them: `commonplace forget --query 'Lin signs'`"),
        (["forget", "memory"], 1, "memory: is a folder; name its notes"),
        (["forget"], 2, "a note or lines of one (PATH:12), or --text, --person, --session, --query"),
        (["remember", "   "], 1, ""),
        (["collection", "add", "/no/such/folder", "--name", "x"], 1, "is not a folder"),
        (["collection", "remove", "nope"], 1, "unknown collection 'nope'"),
        (["context", "remove", "nope"], 1, "nope"),
    ):
        result = run(*arguments)
        assert result.exit_code == code, arguments
        assert result.stdout == "", arguments
        assert result.stderr.startswith("commonplace: error: "), arguments
        assert result.stderr.count("\n") == 1, arguments
        assert expected in result.stderr


def test_no_query_is_an_error(run: Run) -> None:
    for query in ("x" * 100_000, "部署 " * 30_000, '"unbalanced', "(((", "a AND", "NEAR(", "*", "\0", "-"):
        assert run("search", "--", query, input="deploy").exit_code in (0, 3), query[:40]


def test_bytes_that_are_no_text_are_a_query_too(process: Program) -> None:
    result = process("search", os.fsdecode(b"\xff\xfe deploy"), "--format", "json")
    assert result.returncode == 0
    assert json.loads(result.stdout)


def test_a_query_as_long_as_the_system_allows(process: Program) -> None:
    assert process("search", "deploy " * 14_000).returncode == 0


def test_missing_workspace(tmp_path: Path) -> None:
    missing = command("-w", tmp_path / "none", "status")
    result = subprocess.run(missing, capture_output=True, env=environment(), check=False, timeout=60)
    assert result.returncode == 1
    assert b"there is no folder" in result.stderr
    assert b"commonplace init" in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_the_workspace_may_be_named_after_the_command(run: Run, workspace: Path, tmp_path: Path) -> None:
    result = run("search", "deploy", "-w", str(tmp_path / "none"))
    assert result.exit_code == 1
    assert run("-w", str(tmp_path / "none"), "search", "deploy", "-w", str(workspace)).exit_code == 0


def test_an_unexpected_error_is_one_line_unless_debugging(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object, **named: object) -> None:
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("commonplace.memory.Memory.search", fail)
    result = run("search", "x")
    assert result.exit_code == 1
    assert "unexpected ZeroDivisionError: a bug" in result.stderr
    assert result.stderr.count("\n") == 1
    assert isinstance(run("search", "x", "--debug").exception, ZeroDivisionError)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_note_is_told_and_the_rest_is_synced(run: Run, workspace: Path) -> None:
    (workspace / "memory" / "2026-02-14.md").chmod(0)
    result = run("sync")
    assert result.exit_code == 0
    assert "2026-02-14.md: permission denied" in result.stderr
    assert run("search", "deploy").exit_code == 0


# --- pipes and signals ------------------------------------------------------------------------------


def test_a_reader_that_goes_away_is_no_error(workspace: Path) -> None:
    (workspace / "memory" / "2026-03-01.md").write_text(
        "# 2026-03-01\n\n" + "a long line of words\n" * 20_000
    )
    process = subprocess.Popen(
        command("-w", workspace, "get", "memory/2026-03-01.md"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait(30) == 0


def test_ctrl_c_ends_a_sync_and_the_next_one_goes_on(workspace: Path) -> None:
    for number in range(3000):
        (workspace / "memory" / f"note-{number:05}.md").write_text(
            f"# Note {number}\n\n" + "words here\n" * 60
        )
    process = subprocess.Popen(
        command("-w", workspace, "sync"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    )
    index = Workspace(workspace).index
    _wait_until(lambda: index.exists() or process.poll() is not None)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in errors
    assert b"interrupted: " in errors
    again = subprocess.run(
        command("-w", workspace, "sync", "--format", "json"),
        capture_output=True,
        env=environment(),
        timeout=120,
    )
    report = json.loads(again.stdout)
    assert report["added"] + report["unchanged"] == 3003
    assert report["failed"] == []


def test_sync_every_repeats_until_ctrl_c(workspace: Path) -> None:
    process = subprocess.Popen(
        command("-w", workspace, "sync", "--every", "0.01"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    assert process.stdout is not None
    assert b"3 added" in process.stdout.readline()
    assert b"3 unchanged" in process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert errors == b""


def _wait_until(condition: object, timeout_s: float = 30.0) -> None:
    ends = time.monotonic() + timeout_s
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < ends
        time.sleep(0.01)


# --- threads that are still in native code ----------------------------------------------------------

WHILE_MODELS_LOAD = """
import sys, threading
from commonplace.cli.main import main
from commonplace.providers.catalog import EMBEDDERS
begun = threading.Event()
def load():
    while True:
        EMBEDDERS.create("builtin").embed(["warm"], "query")
        begun.set()
threading.Thread(target=load, daemon=True).start()
assert begun.wait(60)
sys.argv = ["commonplace", *{arguments!r}]
main()
"""


@pytest.mark.parametrize(("arguments", "code"), [(["--version"], 0), (["get", "nowhere.md"], 1)])
def test_it_ends_with_its_code_while_a_model_is_loaded(
    workspace: Path, arguments: list[str], code: int
) -> None:
    program = WHILE_MODELS_LOAD.format(arguments=["-w", str(workspace), *arguments])
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment(), timeout=60
    )
    assert done.returncode == code, done.stderr
    assert "terminate" not in done.stderr
    assert bool(done.stdout) is (code == 0)
