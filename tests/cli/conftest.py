"""A small workspace, and two ways to run commands on it: in this process, and as a program."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click.testing
import pytest

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


@pytest.fixture
def program(workspace: Path) -> Program:
    """Run the program on the workspace."""

    def start(*arguments: str, **named: object) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(  # type: ignore[call-overload,no-any-return]
            command("-w", workspace, *arguments), capture_output=True, env=environment(), timeout=60, **named
        )

    return start
