"""Run another program without a shell, to its end or to a deadline, and end it with all that it started.

It has a process group of its own and no input; its output goes to a file, up to a limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple
from commonplace.redaction.redact import public
from commonplace.render import screen

_LOOK_S = 0.1  # between two looks at the size of the output
LEAVING_S = 2.0  # for its last words; a daemon that it left may hold the pipe for ever
_ERROR_BYTES = 4_000  # of standard error, from the end
_ERROR_CHARACTERS = 300  # of the line that is quoted


class NotStarted(Exception):
    """A program that cannot be started; the text is the reason."""


class Outcome(NamedTuple):
    """The output of a program, and its failure in one line, empty for success."""

    printed: bytes
    failure: str = ""
    is_cut: bool = False  # ended because it printed too much


def run(
    command: Sequence[str],
    folder: str,
    timeout_s: float,
    *,
    most_bytes: int = 0,
    environ: Mapping[str, str] | None = None,
    look: Callable[[], None] = lambda: None,
) -> Outcome:
    """Run a program in a folder; its output is kept up to `most_bytes`, at which it is ended.

    `look` is called some times a second meanwhile. Raises NotStarted, and TimeoutError for a program that was
    ended at its deadline.
    """
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output if most_bytes else subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise NotStarted(paths.reason(error) if isinstance(error, OSError) else str(error)) from error
        last = bytearray()
        listener = Thread(target=_listen, args=(process.stderr, last), daemon=True)
        listener.start()
        end = time.monotonic() + timeout_s
        try:
            while process.poll() is None and _size(output) <= most_bytes:
                look()
                if time.monotonic() > end:
                    raise TimeoutError
                with suppress(subprocess.TimeoutExpired):
                    process.wait(max(0.0, min(_LOOK_S, end - time.monotonic())))
        finally:
            _kill(process)
            listener.join(LEAVING_S)
        output.seek(0)
        failure = _failure(process.returncode, bytes(last))
        return Outcome(output.read(most_bytes), failure, _size(output) > most_bytes)


def _listen(stream: IO[bytes], last: bytearray) -> None:
    """Keep the last bytes of a pipe until no process holds its other end."""
    with stream:
        while read := os.read(stream.fileno(), 1 << 16):
            last += read
            del last[:-_ERROR_BYTES]


def _size(file: IO[bytes]) -> int:
    return os.fstat(file.fileno()).st_size


def _failure(code: int, errors: bytes) -> str:
    """Return how a program failed, with its last line on standard error, redacted; empty for success."""
    lines = [line.strip() for line in public(errors.decode("utf-8", "replace")).splitlines() if line.strip()]
    last = screen.shorten(screen.one_line(lines[-1]), _ERROR_CHARACTERS) if lines else ""
    how = f"was ended by signal {-code}" if code < 0 else f"exited with {code}"
    return (f"{how}: {last}" if last else how) if code else ""


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs, with all its children."""
    if process.returncode is None:  # until it is waited for, its number cannot belong to another process
        with suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
