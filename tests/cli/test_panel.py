"""`tui`: what it says where it cannot open; the panel itself is in tests/panel."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from commonplace.base import installation
from tests.cli.conftest import SOURCE, Run, command, environment

pty = pytest.importorskip("pty")


def test_without_a_terminal_it_says_so(run: Run) -> None:
    result = run("tui")
    assert result.exit_code == 2
    assert "the panel needs a terminal" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_without_textual_it_says_what_installs_it(workspace: Path, tmp_path: Path) -> None:
    (tmp_path / "textual.py").write_text("raise ModuleNotFoundError('none', name='textual')\n")
    ours, theirs = pty.openpty()
    done = subprocess.run(
        command("-w", workspace, "tui"), stdin=theirs, stdout=theirs, stderr=subprocess.PIPE,
        env=environment(PYTHONPATH=os.pathsep.join([str(tmp_path), str(SOURCE)])), check=False,
    )  # fmt: skip
    os.close(ours)
    os.close(theirs)
    assert done.returncode == 1
    assert done.stderr.startswith(b"commonplace: error: the panel needs an extra: ")


def test_an_unknown_theme_is_wrong_usage(run: Run) -> None:
    assert run("tui", "--theme", "pink").exit_code == 2


def test_the_extra_is_declared() -> None:
    assert [re.split("[<>=]", one)[0] for one in installation.requirements("tui")] == ["textual"]
