"""Standard streams that are closed, full or not text: one line, an exit code, and nothing half done."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Program, command, environment

ANSWERS = [["search", "deploy"], ["status"], ["--help"]]  # the short way, a command, what click prints itself
MORE = [["search", "deploy", "--format", "json"], ["recall", "deploy"], ["get", "MEMORY.md"],
        ["collection", "list"], ["config"], ["--version"]]  # fmt: skip


def shell(workspace: Path, arguments: list[str], redirected: str) -> subprocess.CompletedProcess[str]:
    """Run the program by a shell with its streams redirected."""
    line = f'exec "$@" {redirected}'
    return subprocess.run(
        ["sh", "-c", line, "sh", *command("-w", workspace, *arguments)],
        capture_output=True,
        text=True,
        env=environment(),
        timeout=60,
    )


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    "arguments", [*ANSWERS, *(pytest.param(one, marks=pytest.mark.slow) for one in MORE)], ids=" ".join
)
def test_an_answer_that_cannot_be_written_is_an_error_of_one_line(
    workspace: Path, arguments: list[str]
) -> None:
    done = shell(workspace, arguments, ">/dev/full")
    assert done.returncode == 1
    assert done.stderr == "commonplace: error: no space left on device\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_answer_too_long_for_a_buffer_is_the_same_error(workspace: Path) -> None:
    (workspace / "memory" / "long.md").write_text("a long line of words\n" * 20_000)
    done = shell(workspace, ["get", "memory/long.md"], ">/dev/full")
    assert (done.returncode, done.stderr) == (1, "commonplace: error: no space left on device\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_an_entry_is_kept_though_its_place_cannot_be_told(workspace: Path) -> None:
    done = shell(workspace, ["remember", "the", "walnut", "desk"], ">/dev/full")
    assert done.returncode == 1
    assert "walnut desk" in "".join(note.read_text() for note in workspace.rglob("*.md"))


@pytest.mark.parametrize("arguments", [["remember", "-"], ["search", "-"], ["recall", "-"]], ids=" ".join)
def test_a_closed_standard_input_is_told(workspace: Path, arguments: list[str]) -> None:
    done = shell(workspace, arguments, "<&-")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "commonplace: error: -: standard input is closed\n"


def test_a_command_that_asks_nothing_needs_no_standard_input(workspace: Path) -> None:
    assert shell(workspace, ["search", "deploy"], "<&-").returncode == 0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (b"plain\n", "plain"),
        (b"caf\xc3\xa9", "café"),
        (b"caf\xe9", "caf\ufffd"),
        (b"a\x00b", "a\ufffdb"),
        (b"\xef\xbb\xbfmarked", "marked"),
        (b"one\r\ntwo", "one"),
    ],
)
def test_any_bytes_on_standard_input_are_remembered_as_text(
    program: Program, workspace: Path, given: bytes, kept: str
) -> None:
    done = program("remember", "-", input=given)
    assert done.returncode == 0
    path = workspace / done.stdout.decode().partition(":")[0]
    assert path.read_text("utf-8").split("\n")[2].split(" ", 2)[2] == kept


def test_nothing_on_standard_input_is_nothing_to_remember(program: Program) -> None:
    done = program("remember", "-", input=b"")
    assert done.returncode == 1
    assert b"nothing to remember" in done.stderr


def test_a_megabyte_on_standard_input_is_one_entry(program: Program, workspace: Path) -> None:
    done = program("remember", "-", input=b"word " * 200_000)
    assert done.returncode == 0
    assert program("search", "word", "-n", "1").returncode == 0


@pytest.mark.parametrize("closed", ["stdout", "stderr"])
def test_a_stream_that_is_closed_is_no_error(workspace: Path, closed: str) -> None:
    descriptor = {"stdout": 1, "stderr": 2}[closed]
    done = shell(workspace, ["search", "deploy"], f"{descriptor}>&-")
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert ("memory/" in done.stdout) == (closed == "stderr")


def test_a_current_folder_that_is_gone_matters_only_where_it_is_asked_for(
    workspace: Path, tmp_path: Path
) -> None:
    gone = tmp_path / "gone"
    line = f'mkdir "{gone}" && cd "{gone}" && rmdir "{gone}" && exec "$@"'
    for place, code in ((["-w", workspace], 0), ([], 1)):
        done = subprocess.run(
            ["sh", "-c", line, "sh", *command(*place, "search", "deploy")],
            capture_output=True,
            text=True,
            env=environment(),
            timeout=60,
        )
        assert done.returncode == code
    assert done.stderr.startswith(
        "commonplace: error: no workspace at or above the current folder, which is gone"
    )
