"""docs/command-line.md is what --help says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from commonplace.cli.application import COMMANDS, cli

from .conftest import environment

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    tool = ROOT / "tools" / "make_cli_docs.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], env=environment(), check=False)
    assert done.returncode == 0, "run python tools/make_cli_docs.py"


def test_the_table_says_what_each_command_says() -> None:
    import click

    context = click.Context(cli)
    for group in COMMANDS.values():
        for name in group:
            command = cli.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert command.help
