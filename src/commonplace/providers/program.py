"""Run another program without a shell, to its end or to a deadline, and end it with all that it started.

It has a process group of its own and no input; its output goes to files without a name, up to a limit.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress

from commonplace.base import paths
from commonplace.base.tuples import NamedTuple
from commonplace.redaction.redact import public
from commonplace.render import screen

_LOOK_S = 0.1  # between two looks at the size of the output
_ERROR_BYTES, _ERROR_CHARACTERS = 4_000, 300  # of standard error, read from its end; of the line quoted


class NotStarted(Exception):
    """A program that cannot be started; the text is the reason."""


class ProgramOutput(NamedTuple):
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
) -> ProgramOutput:
    """Run a program in a folder; its output is kept up to `most_bytes`, at which it is ended.

    Raises NotStarted, and TimeoutError for a program that was ended at its deadline.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(
                list(command),
                cwd=folder,
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=output if most_bytes else subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise NotStarted(paths.reason(error) if isinstance(error, OSError) else str(error)) from error
        end = time.monotonic() + timeout_s
        try:
            while process.poll() is None and os.fstat(output.fileno()).st_size <= most_bytes:
                if time.monotonic() > end:
                    raise TimeoutError
                with suppress(subprocess.TimeoutExpired):
                    process.wait(_LOOK_S)
        finally:
            if process.returncode is None:  # until it is waited for, its number belongs to no other process
                with suppress(OSError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        output.seek(0)
        errors.seek(max(0, errors.seek(0, os.SEEK_END) - _ERROR_BYTES))
        failure = _failure(process.returncode, errors.read(_ERROR_BYTES))
        return ProgramOutput(output.read(most_bytes), failure, os.fstat(output.fileno()).st_size > most_bytes)


def _failure(code: int, errors: bytes) -> str:
    """Return how a program failed, with its last line on standard error, redacted; empty for success."""
    lines = [line.strip() for line in public(errors.decode("utf-8", "replace")).splitlines() if line.strip()]
    last = screen.shorten(screen.one_line(lines[-1]), _ERROR_CHARACTERS) if lines else ""
    how = f"was ended by signal {-code}" if code < 0 else f"exited with {code}"
    return (f"{how}: {last}" if last else how) if code else ""
