"""A program of others, run without a shell to its end or to a deadline, and ended with all that it started.

It has a process group of its own, no input, and threads that listen to it, so that no full pipe stops it.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple
from commonplace.redaction.redact import public
from commonplace.render import screen

LEAVING_S = 2.0  # for what is on its way after its end; a daemon that it left may hold its pipes for ever
_SAID_BYTES = 4_000  # of what it says on standard error, from the end
_SAID_CHARACTERS = 200  # of the line that is quoted


class NotStarted(Exception):
    """A program that cannot be started; the text says why."""


class Outcome(NamedTuple):
    """What a program printed, and how it failed, in one line; empty for one that ended well."""

    printed: bytes
    failure: str = ""
    is_cut: bool = False  # ended, since it printed more than it may


def run(
    command: Sequence[str],
    folder: str,
    timeout_s: float,
    *,
    most_bytes: int = 0,
    environ: Mapping[str, str] | None = None,
) -> Outcome:
    """Run a program in a folder; what it prints is kept up to `most_bytes`, at which it is ended.

    Raises NotStarted, and TimeoutError for one that was ended at its deadline.
    """
    try:
        process = subprocess.Popen(
            list(command),
            cwd=folder,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if most_bytes else subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        raise NotStarted(paths.reason(error) if isinstance(error, OSError) else str(error)) from error
    assert process.stderr is not None
    listeners = [_Listener(process.stderr, 0, process)]
    if process.stdout is not None:
        listeners.append(_Listener(process.stdout, most_bytes, process))
    try:
        code = process.wait(timeout_s)
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    finally:
        end(process)
        for listener in listeners:
            listener.join(LEAVING_S)
    said, *printed = listeners
    data, size = (printed[0].data, printed[0].size) if printed else (b"", 0)
    return Outcome(data, failure(code, said.data) if code else "", size > most_bytes)


def failure(code: int, said: bytes) -> str:
    """Say how a program failed, with the last line that it said; no secret and no control gets in."""
    # Secrets are redacted: an address may hold a password.
    lines = public(said.decode("utf-8", "replace")).splitlines()
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    last = screen.shorten(screen.one_line(last), _SAID_CHARACTERS)
    how = f"was ended by signal {-code}" if code < 0 else f"exited with {code}"
    return f"{how}: {last}" if last else how


def end(process: subprocess.Popen[bytes]) -> None:
    """End a program that still runs, with all its children."""
    # Until it is waited for, its number cannot belong to another process.
    if process.returncode is None:
        with suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(LEAVING_S)


class _Listener(Thread):
    """Reads a pipe to its end: all of it up to `most` bytes, at which the program is ended, or its last."""

    def __init__(self, stream: IO[bytes], most: int, process: subprocess.Popen[bytes]) -> None:
        super().__init__(name="commonplace-program", daemon=True)
        self.data, self.size = b"", 0
        self._stream, self._most, self._process = stream, most, process
        self.start()

    def run(self) -> None:
        """Read until nobody holds the other end any more."""
        pieces: list[bytes] = []
        with self._stream:
            for read in self._pieces():
                self.size += len(read)
                if not self._most:
                    self.data = (self.data + read)[-_SAID_BYTES:]
                elif self.size <= self._most:
                    pieces.append(read)
                else:
                    end(self._process)
                    break
        if self._most:
            self.data = b"".join(pieces)

    def _pieces(self) -> Iterator[bytes]:
        while read := os.read(self._stream.fileno(), 1 << 16):
            yield read
