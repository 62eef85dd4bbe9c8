"""A program that kills itself at its n-th step, for every n: run by `test_killed`, prints what became of each.

python dying.py TEMPLATE FOLDER STRIDE ARGUMENTS…

For n = 1, 2, … the workspace TEMPLATE is copied to FOLDER/n, and `commonplace -w FOLDER/n ARGUMENTS…` runs in
a process of its own, which is killed (SIGKILL) as it is about to force to the disk, rename or remove a file for
the n-th time; until one comes to its end. The processes are forked from one that has loaded the program.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

STEPS = ("fsync", "replace", "rename", "unlink", "rmdir")


def deadly(limit: int) -> None:
    """Let this process be killed at a step of a number."""
    seen = 0

    def counted(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal seen
            seen += 1
            if seen == limit:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    for name in STEPS:
        setattr(os, name, counted(getattr(os, name)))


def run(root: Path, limit: int, arguments: list[str]) -> int:
    """Run the command in a process that dies at a step, 0 for never; return its exit code, -9 if it was killed."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        quiet = os.open(os.devnull, os.O_RDWR)
        told = os.open(root.parent / f"{root.name}.out", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(quiet, 0)
        os.dup2(told, 1)
        os.dup2(told, 2)
        if limit:
            deadly(limit)
        sys.argv = ["commonplace", "-w", str(root), *arguments]
        from commonplace.cli.application import cli

        cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def main(template: str, folder: str, stride: str, *arguments: str) -> None:
    found: dict[str, int] = {}
    limit = 1
    while True:
        root = Path(folder) / str(limit)
        shutil.copytree(template, root, symlinks=True)
        found[str(limit)] = code = run(root, limit, list(arguments))
        if code != -signal.SIGKILL:
            break
        limit += int(stride)
    print(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
