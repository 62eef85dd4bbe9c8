"""Commands of the owner's that bring a collection up to date before it is synced, such as `git pull`.

A command is a list of arguments from the owner's own settings and never passes a shell. It runs in the
collection's folder, in a process group of its own that is ended as a whole when it takes too long.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePath
from threading import Thread
from typing import IO

from commonplace.base import paths
from commonplace.config.settings import Collection
from commonplace.redaction.redact import redact
from commonplace.render import screen

TIMEOUT_S = 120.0  # a command that has not ended by then waits for somebody to answer it, or for a network
_TOLD_BYTES = 4000  # of what it says on standard error, from its end
_READ_BYTES = 1 << 16
_LISTENS_S = 1.0  # after its end, for what is on its way; a daemon it left may hold standard error for ever
_TOLD_CHARACTERS = 200


def run_all(collections: Iterable[Collection]) -> list[str]:
    """Run the commands of collections, one after the other; return what went wrong, a line each."""
    troubles = ((c.name, run(c.update, c.path)) for c in collections if c.update)
    return [f"collection {name}: {trouble}" for name, trouble in troubles if trouble]


def run(command: Sequence[str], folder: str, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command in a folder without input; return what went wrong, or an empty text."""
    name = PurePath(command[0]).name
    try:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        reason = paths.reason(error) if isinstance(error, OSError) else str(error)
        return f"{name} cannot be started in {paths.shown(folder)}: {reason}"
    assert process.stderr is not None
    listener = _Listener(process.stderr)
    listener.start()
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        return f"{name} was ended after {timeout_s:g} s"
    finally:
        _end(process)
        listener.join(_LISTENS_S)
    if not code:
        return ""
    # Secrets are redacted: an address may hold a password.
    lines = redact(listener.said.decode("utf-8", "replace"))[0].splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    last = screen.shorten(screen.one_line(last), _TOLD_CHARACTERS)
    how = f"was ended by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{name} {how}" + (f": {last}" if last else "")


class _Listener(Thread):
    """Reads what a command says as fast as it is said, and keeps the end: it may talk all the time."""

    def __init__(self, stream: IO[bytes]) -> None:
        super().__init__(name="commonplace-update", daemon=True)
        self.said = b""
        self._stream = stream

    def run(self) -> None:
        """Read until nobody holds the other end any more."""
        with self._stream:
            while read := os.read(self._stream.fileno(), _READ_BYTES):
                self.said = (self.said + read)[-_TOLD_BYTES:]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, with all its children."""
    if process.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()
