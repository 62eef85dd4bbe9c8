"""Programs of the system that start others at night, called with what they are told."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NamedTuple

_WAIT_S = 30.0


class Done(NamedTuple):
    """What became of a call; `code` is 127 where there is no such program."""

    code: int
    out: bytes
    said: str


def call(name: str, *arguments: str, given: bytes | None = None) -> Done:
    """Run a program that lies on the PATH, in the plain locale; one that hangs counts as one that failed."""
    program = shutil.which(name)
    if program is None:
        return Done(127, b"", f"there is no {name} here")
    try:
        done = subprocess.run(
            [program, *arguments], input=given if given is not None else b"", capture_output=True,
            timeout=_WAIT_S, env={**os.environ, "LC_ALL": "C"}, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired) as error:
        what = "takes too long" if isinstance(error, subprocess.TimeoutExpired) else "cannot be started"
        return Done(126, b"", f"{name} {what}")
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return Done(done.returncode, done.stdout, said[:200] or f"{name} ended with {done.returncode}")
