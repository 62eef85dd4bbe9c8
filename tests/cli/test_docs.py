"""docs/command-line.md is what --help says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from commonplace.cli.application import COMMANDS, cli
from tests.cli.conftest import environment

ROOT = Path(__file__).parents[2]


def test_the_page_is_current() -> None:
    tool = ROOT / "tools" / "make_cli_docs.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], env=environment(), check=False)
    assert done.returncode == 0, "run python tools/make_cli_docs.py"


def test_the_table_says_what_each_command_says() -> None:
    context = click.Context(cli)
    for group in COMMANDS.values():
        for name in group:
            command = cli.get_command(context, name)
            assert command is not None
            assert command.name == name
            assert command.help


@pytest.mark.parametrize("width", ["60", "80", "200"])
def test_no_group_cuts_what_its_commands_do(width: str) -> None:
    context, groups = click.Context(cli), 0
    for name in cli.list_commands(context):
        if isinstance(cli.get_command(context, name), click.Group):
            groups += 1
            shown = CliRunner().invoke(cli, [name, "--help"], env={"COLUMNS": width}).output
            assert "..." not in shown.partition("Commands:")[2], name
    assert groups > 5
