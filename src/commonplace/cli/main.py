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
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:  # closed by who started us; what is said to it is said to nobody
            setattr(sys, name, open(os.devnull, "w"))  # noqa: SIM115 - as long as the process
        # Notes are UTF-8 whatever the locale says; names of files that are not come out as they are.
        getattr(sys, name).reconfigure(encoding="utf-8", errors="surrogateescape")
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
