"""The `commonplace` program: a plain search takes the short way, everything else goes through click."""

from __future__ import annotations

import sys
from typing import NoReturn

from commonplace.cli import deferred

# click and dataclasses import inspect, which takes longer than either, for things not done here.
deferred.defer("inspect")


def main() -> NoReturn:
    """Run the program on the arguments of the process."""
    for stream in (sys.stdout, sys.stderr):
        # Notes are UTF-8 whatever the locale says; names of files that are not come out as they are.
        stream.reconfigure(encoding="utf-8", errors="surrogateescape")  # type: ignore[union-attr]
    from commonplace.cli import shortcut

    code = shortcut.run(sys.argv[1:])
    if code is None:
        from commonplace.cli.application import cli

        cli.main()
    sys.exit(code)
