"""Write docs/command-line.md from the help of every command; `--check` only says whether it is current."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from commonplace.cli.application import cli

TARGET = Path(__file__).parents[1] / "docs" / "command-line.md"
WIDTH = 88
HEAD = """# Command line

Made by `python tools/make_cli_docs.py` from `commonplace --help`; edit the commands, not this page.

Exit codes: 0 found or done, 1 error (one line on standard error), 2 wrong usage, 3 nothing found, 4 no language
model is set and one is needed (`ask`, `chat`, `consolidate` where statements wait for one), 130 Ctrl-C.
What is said about a result (warnings, the level that answered, `stale: N files`) goes to standard error;
standard output holds the result alone, between two lines that mark it as data where `search`, `get`, `ls` and others
print what notes say to what is no terminal (`output.frame`). `NO_COLOR`, `FORCE_COLOR` and `TERM=dumb` are honoured.
"""


def pages(command: click.Command, path: list[str]) -> Iterator[tuple[list[str], str]]:
    """Yield the path and the help of a command and of those below it."""
    context = click.Context(command, info_name=" ".join(path), terminal_width=WIDTH, max_content_width=WIDTH)
    yield path, re.sub(r"[ \t]+$", "", command.get_help(context), flags=re.MULTILINE)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from pages(below, [*path, name])


def document() -> str:
    """Return the whole page."""
    parts = [HEAD]
    for path, text in pages(cli, ["commonplace"]):
        level = "##" if len(path) <= 2 else "###"
        parts.append(f"{level} {' '.join(path[1:]) or 'commonplace'}\n\n```text\n{text}\n```\n")
    return "\n".join(parts)


def main() -> int:
    """Write the page, or check it."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="only say whether it is current")
    if parser.parse_args().check:
        # Words only: versions of click break lines differently.
        return 0 if TARGET.exists() and TARGET.read_text("utf-8").split() == document().split() else 1
    TARGET.parent.mkdir(exist_ok=True)
    TARGET.write_text(document(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
