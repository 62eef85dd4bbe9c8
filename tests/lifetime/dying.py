"""A program that kills itself at its n-th step, for every n: run by `test_killed`, prints what became of each.

python dying.py '{"template": …, "folder": …, "stride": 1, "command": […], "next": [[…], …]}'

For n = 1, 1 + stride, … the workspace `template` is copied to `folder`/n, and the command runs there in a
process of its own, which is killed (SIGKILL) at its n-th step (`tests.kills`); until one comes to its end. What a kill left is copied to `folder`/n.killed, and the next
commands run at n, to their ends. The processes are forked from one that has loaded the program.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run(root: Path, limit: int, arguments: Sequence[str]) -> int:
    """Run a command in a process that dies at a step, 0 for never; return its exit code, -9 if it was killed."""
    sys.stdout.flush()
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    code = 70
    try:
        told = os.open(root.parent / f"{root.name}.out", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(os.open(os.devnull, os.O_RDWR), 0)
        os.dup2(told, 1)
        os.dup2(told, 2)
        from tests.kills import deadly

        deadly(limit)
        sys.argv = ["commonplace", "-w", str(root), *arguments]
        application().main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def application() -> Any:
    """The program, with what its commands need, loaded once for all processes."""
    from commonplace import memory as memory
    from commonplace.cli import application

    return application.cli


def main(
    template: str, folder: str, stride: int, command: Sequence[str], next: Sequence[Sequence[str]]
) -> None:
    application()
    from tests.copies import Template

    found: dict[str, list[int]] = {}
    limit = 1
    while True:
        root = Path(folder) / str(limit)
        Template(Path(template)).copied(root)
        codes = found[str(limit)] = [run(root, limit, command)]
        if codes[0] != -signal.SIGKILL:
            break
        Template(root).copied(Path(folder) / f"{limit}.killed")
        codes += [run(root, 0, following) for following in next]
        limit += stride
    print(json.dumps(found))


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))  # this is a program, not a module
    main(**json.loads(sys.argv[1]))
