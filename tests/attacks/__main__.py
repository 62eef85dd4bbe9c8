"""What takes longest, for a look at it: `python -m tests.attacks parsers notes. --share 4`, `… commands`."""

from __future__ import annotations

import argparse
import contextlib
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path

from tests.attacks import commands, growth
from tests.attacks.hostile import GENERATORS
from tests.attacks.parsers import PARSERS, REFUSALS, Parser

SHOWN = 10
MEGABYTE = 1 << 20

Row = tuple[float, str, str, str]  # seconds a megabyte, what was called, the generator, what is wrong


def share(name: str, of: int, turn: int) -> list[str]:
    """The generators that are tried on a name: one in `of`, other ones on another, and at another turn."""
    return [text for text in GENERATORS if (zlib.crc32(f"{name} {text}".encode()) + turn) % of == 0]


def refusing(parser: Parser) -> Parser:
    """Let a parser answer with a refusal."""

    def call(text: str) -> None:
        with contextlib.suppress(REFUSALS):
            parser(text)

    return call


def of_parsers(start: str, of: int, turn: int) -> Iterator[Row]:
    """Measure every function whose name begins so."""
    for name in (name for name in PARSERS if name.startswith(start)):
        for text in share(name, of, turn):
            grown = growth.measure(refusing(PARSERS[name]), GENERATORS[text])
            yield grown.per_mb, name, text, grown.fault


def of_commands(start: str, of: int, turn: int) -> Iterator[Row]:
    """Measure every command whose name begins so on a MEMORY.md of a megabyte."""
    for name in (name for name in commands.COMMANDS if name.startswith(start)):
        for text in share("command", of, turn):
            with tempfile.TemporaryDirectory() as folder:
                memory = commands.workspace(Path(folder) / "notes", GENERATORS[text](MEGABYTE))
                taken = growth.seconds(lambda: commands.run(commands.COMMANDS[name], memory), 30.0)  # noqa: B023
            late = f"{taken:.1f} s" if taken > growth.PER_MB_S else ""
            yield taken, name, text, late


def main() -> None:
    """Print what is at fault as it is met, and the slowest at the end."""
    options = argparse.ArgumentParser(prog="python -m tests.attacks", description=__doc__)
    options.add_argument("what", choices=("parsers", "commands"))
    options.add_argument("start", nargs="?", default="", help="how the names begin")
    options.add_argument("--share", type=int, default=1, help="try one generator in so many")
    options.add_argument("--turn", type=int, default=0, help="which of them")
    told = options.parse_args()
    measured = of_parsers if told.what == "parsers" else of_commands
    rows = []
    for row in measured(told.start, told.share, told.turn):
        rows.append(row)
        if row[3]:
            print(f"{row[1]} on {row[2]!r}: {row[3]}", flush=True)
    print(f"{len(rows)} tried; seconds a megabyte of the slowest:")
    for seconds, name, text, _ in sorted(rows, reverse=True)[:SHOWN]:
        print(f"{seconds:7.2f}  {name} on {text!r}")


if __name__ == "__main__":
    main()
