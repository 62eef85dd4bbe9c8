"""The `commonplace` program: a plain search takes the short way, everything else goes through click."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from typing import NoReturn

from commonplace.cli import deferred

# click and dataclasses import inspect, which takes longer than either, for things not done here; pathlib
# imports how Windows writes paths and, through urllib, IP addresses.
deferred.defer("inspect", "ipaddress", "ntpath")


def main() -> NoReturn:
    """Run the program on the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        # Notes are UTF-8 whatever the locale says; names of files that are not come out as they are.
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    from commonplace.cli import shortcut

    code = shortcut.run(sys.argv[1:])
    if code is not None:
        _leave(code)
    from commonplace.cli.application import cli

    cli.main()


def _leave(code: int) -> NoReturn:
    """End the process at once: taking the interpreter apart would take 10 ms, and nothing is left open."""
    with suppress(BrokenPipeError):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)
