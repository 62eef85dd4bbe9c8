"""A small workspace, and three ways to run commands on it: by click, as the program in this process, as a process."""

from __future__ import annotations

import contextlib
import functools
import gc
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click.testing
import pytest

from commonplace.cli import shortcut
from commonplace.cli.application import cli

SOURCE = Path(__file__).parents[2] / "src"
Run = Callable[..., click.testing.Result]
Program = Callable[..., "subprocess.CompletedProcess[bytes]"]


def environment(**more: str) -> dict[str, str]:
    """Return an environment in which a subprocess finds this package."""
    return {**os.environ, "PYTHONPATH": str(SOURCE), **more}


def command(*arguments: str | Path) -> list[str]:
    """Return what runs the program, warnings being errors."""
    return [sys.executable, "-W", "error", "-m", "commonplace", *map(str, arguments)]


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A workspace of three notes, without a model."""
    monkeypatch.setenv("COMMONPLACE_EMBEDDING_PROVIDER", "none")
    monkeypatch.setenv("COMMONPLACE_OUTPUT_FRAME", "never")  # as at a terminal; test_frames has the frame
    root = tmp_path / "notes"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Memory\n\n## Tea\n\n- Aged white tea after lunch.\n")
    (root / "memory" / "2026-02-13.md").write_text(
        "# 2026-02-13\n\n## Deploy\n\n- The deploy moved to Thursday.\n- Lin signs it off.\n\n"
        "## 部署\n\n- 周五下午不部署。\n"
    )
    (root / "memory" / "2026-02-14.md").write_text("# 2026-02-14\n\n- Nothing but rain.\n")
    for note in root.rglob("*.md"):  # a file this second old could change again unseen, so it counts as stale
        os.utime(note, (1_770_000_000, 1_770_000_000))
    return root


@pytest.fixture
def run(workspace: Path) -> Run:
    """Run a command on the workspace in this process."""

    def invoke(*arguments: str, **named: object) -> click.testing.Result:
        return click.testing.CliRunner().invoke(cli, ["-w", str(workspace), *arguments], **named)  # type: ignore[arg-type]

    return invoke


class Main:
    """What the program does with its arguments: the short way of a search, or click."""

    name = "commonplace"

    @staticmethod
    def main(args: list[str], **named: object) -> None:
        code = shortcut.run(args)
        gc.enable()  # which a short way leaves to the end of its process
        if code is not None:
            sys.exit(code)
        cli.main(args, **named)  # type: ignore[arg-type]


def called(
    *arguments: str | Path, input: bytes = b"", cwd: Path | None = None, **variables: str
) -> subprocess.CompletedProcess[bytes]:
    """Run the program in this process, from bytes to bytes."""
    with contextlib.chdir(cwd or os.getcwd()):
        done = click.testing.CliRunner().invoke(Main, list(map(str, arguments)), input=input, env=variables)  # type: ignore[arg-type]
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return subprocess.CompletedProcess(arguments, done.exit_code, done.stdout_bytes, done.stderr_bytes)


@pytest.fixture
def program(workspace: Path) -> Program:
    """Run the program on the workspace in this process."""
    return functools.partial(called, "-w", workspace)


@pytest.fixture
def process(workspace: Path) -> Program:
    """Run the program on the workspace as a process: only what tests its start, its streams or its end needs one."""

    def start(*arguments: str, **named: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command("-w", workspace, *arguments), capture_output=True, env=environment(), timeout=60, **named
        )

    return start
