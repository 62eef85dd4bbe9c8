"""`./run` in a fresh clone installs what the command needs: the product alone, or the tools of test and check too."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

CLONE = Path(__file__).parents[2]
UV = """#!/bin/sh
if [ "$1" = venv ]; then
    for place; do :; done
    mkdir -p "$place/bin"
    printf '#!/bin/sh\\n[ "$1" != - ] || exec {python} "$@"\\n' >"$place/bin/python"
    chmod +x "$place/bin/python"
else
    while [ "$1" != -r ]; do shift; done
    cat "$2" >>{log}
    echo installed >>{log}
fi
"""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    folder = tmp_path / "clone"
    (folder / "tests").mkdir(parents=True)
    for name in ("run", "pyproject.toml"):
        shutil.copy2(CLONE / name, folder)
    uv = tmp_path / "bin" / "uv"
    uv.parent.mkdir()
    uv.write_text(UV.format(python=sys.executable, log=tmp_path / "log"))
    uv.chmod(0o755)
    return folder


def installed(clone: Path, *arguments: str) -> list[str]:
    """What `./run` installs beside the product itself, and that once; what is there already is nothing."""
    log = clone.parent / "log"
    log.unlink(missing_ok=True)
    path = f"{clone.parent / 'bin'}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(
        [clone / "run", *arguments],
        cwd=clone,
        env={**os.environ, "PATH": path},
        check=True,
        capture_output=True,
    )
    return log.read_text().splitlines() if log.exists() else []


@pytest.mark.parametrize("command", ["search kite", "demo", "--version", "mcp", "hook", "sync"])
def test_a_command_of_the_product_installs_no_development_tools(clone: Path, command: str) -> None:
    assert installed(clone, *command.split()) == ["installed"]
    assert installed(clone, *command.split()) == []
    tools = installed(clone, "check")
    assert any(tool.startswith("mypy") for tool in tools)
    assert installed(clone, "check") == installed(clone, *command.split()) == []


def test_an_environment_with_tools_keeps_them_when_the_project_changes(clone: Path) -> None:
    assert len(installed(clone, "check")) > 10
    with (clone / "pyproject.toml").open("a") as file:
        file.write("\n")
    assert len(installed(clone, "search", "kite")) > 10
    assert installed(clone, "check") == []


def test_extras_and_groups_that_need_other_versions_are_declared_apart() -> None:
    """What `uv run` in a clone fails on otherwise: two majors of one package in what it resolves together."""
    declared = tomllib.loads((CLONE / "pyproject.toml").read_text())
    apart = [[next(iter(one.items())) for one in group] for group in declared["tool"]["uv"]["conflicts"]]
    pairs = {frozenset((one, other)) for group in apart for one in group for other in group if one != other}
    for group in ("mcp1", "mcp2", "client-anthropic", "client-fastmcp"):
        assert frozenset((("extra", "nanobot"), ("group", group))) in pairs, group
