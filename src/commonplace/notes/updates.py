"""Commands of the owner's that bring a collection up to date before it is synced, such as `git pull`.

A command is a list of arguments from the owner's own settings and never passes a shell. It runs in the
collection's folder, in a process group of its own that is ended as a whole when it takes too long.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import PurePath

from commonplace import paths, screen
from commonplace.config.settings import Collection
from commonplace.notes.redact import redact

TIMEOUT_S = 120.0  # a command that has not ended by then waits for somebody to answer it, or for a network
_TOLD_BYTES = 4000  # of what it says on standard error, from its end
_TOLD_CHARACTERS = 200


def run_all(collections: Iterable[Collection]) -> list[str]:
    """Run the commands of collections, one after the other; return what went wrong, a line each."""
    told = ((c.name, run(c.update, c.path)) for c in collections if c.update)
    return [f"collection {name}: {trouble}" for name, trouble in told if trouble]


def run(command: Sequence[str], folder: str, timeout_s: float = TIMEOUT_S) -> str:
    """Run a command in a folder without input; return what went wrong, or an empty text."""
    name = PurePath(command[0]).name
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = paths.reason(error) if isinstance(error, OSError) else str(error)
            return f"{name} cannot be started in {paths.shown(folder)}: {reason}"
        try:
            code = process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return f"{name} was ended after {timeout_s:g} s"
        finally:
            _end(process)
        if not code:
            return ""
        said.seek(max(0, said.seek(0, os.SEEK_END) - _TOLD_BYTES))
        last = _last_line(said.read())
    how = f"was ended by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{name} {how}" + (f": {last}" if last else "")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a command that still runs, with all its children."""
    if process.poll() is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        process.wait()


def _last_line(said: bytes) -> str:
    """The last line with something on it, secrets redacted: an address may hold a password."""
    lines = redact(said.decode("utf-8", "replace"))[0].splitlines()
    last = next((line for line in reversed(lines) if line.strip()), "")
    return screen.shorten(screen.one_line(last.strip()), _TOLD_CHARACTERS)
