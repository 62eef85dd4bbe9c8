"""Somebody at a terminal: reads what the program shows, does something else meanwhile, then types."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

SOURCE = Path(__file__).parents[2] / "src"
_STYLES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]|\x1b\]8;;[^\x1b\x07]*(?:\x1b\\|\x07)")
WAITS_S = 60.0


class Person:
    """One run of the program whose input, output and errors are a terminal."""

    def __init__(self, root: Path, *arguments: str) -> None:
        import pty

        self._ours, theirs = pty.openpty()
        env = {**os.environ, "TERM": "dumb", "NO_COLOR": "1", "COLUMNS": "200", "PYTHONPATH": str(SOURCE)}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "commonplace", "-w", str(root), *arguments],
            stdin=theirs, stdout=theirs, stderr=theirs, start_new_session=True,
            env={**env, "COMMONPLACE_EMBEDDING_PROVIDER": "none"},
        )  # fmt: skip
        os.close(theirs)
        self.shown = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait(WAITS_S)
        os.close(self._ours)

    def _read(self, wait_s: float) -> bool:
        """Take in what is shown; false once the program has ended."""
        ready, _, _ = select.select([self._ours], [], [], wait_s)
        if not ready:
            return True
        try:
            part = os.read(self._ours, 65536)
        except OSError:  # how Linux says that the other side was closed
            return False
        self.shown += _STYLES.sub("", part.decode("utf-8", "replace")).replace("\r\n", "\n")
        return bool(part)

    def until(self, text: str) -> str:
        """Wait until something is shown; return all that is."""
        end = time.monotonic() + WAITS_S
        while text not in self.shown:
            assert time.monotonic() < end, self.shown
            assert self._read(0.1) or text in self.shown, self.shown
        return self.shown

    def types(self, text: str) -> int:
        """Type a line, and return the exit code once the program has ended."""
        os.write(self._ours, text.encode() + b"\n")
        end = time.monotonic() + WAITS_S
        while self._read(0.1):
            assert time.monotonic() < end, self.shown
        return self._process.wait(WAITS_S)
