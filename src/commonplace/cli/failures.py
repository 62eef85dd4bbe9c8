"""Errors as one line on standard error, and the exit code each of them means."""

from __future__ import annotations

import os
import sys
from contextlib import suppress

from commonplace.base.errors import CommonplaceError, NoModel

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    import click

ERROR, USAGE, NOTHING_FOUND, NO_MODEL, INTERRUPTED = 1, 2, 3, 4, 130  # 128 + SIGINT, as shells report it
_SHORTEST_KEY = 16  # characters; a message of shorter words needs no search for keys


def end(error: BaseException, *, debug: bool = False) -> int:
    """Return the exit code for whatever ended a command, and say what it was.

    A reader that went away and Ctrl-C are not worth a word. With `debug` errors are raised on.
    """
    if isinstance(error, BrokenPipeError):
        _silence_stdout()
        return 0
    if isinstance(error, KeyboardInterrupt) or _click(error, "Abort"):
        return INTERRUPTED
    if debug:
        raise error
    return report(error)


def flush(code: int) -> int:
    """Write out what is still buffered; return the exit code, which is another one where that fails.

    A failure that was reported before is not repeated.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        _silence_stdout()
        code = code or (0 if isinstance(error, BrokenPipeError) else report(error))
    with suppress(OSError):
        sys.stderr.flush()
    return code


def report(error: BaseException) -> int:
    """Print what went wrong and return the exit code."""
    line, code = describe(error)
    print(f"commonplace: error: {one_line(line)}", file=sys.stderr)
    return code


def describe(error: BaseException) -> tuple[str, int]:
    """Return the line and the exit code for an error."""
    if wrong := _click(error, "ClickException"):
        message = wrong.format_message().rstrip(".")
        context = getattr(wrong, "ctx", None)
        command = context.command_path if context else "commonplace"
        first = message[:1].lower() if message[1:2].islower() or message[1:2] == " " else message[:1]
        return f"{first}{message[1:]} (see `{command} --help`)", wrong.exit_code
    if isinstance(error, CommonplaceError):
        return str(error), NO_MODEL if isinstance(error, NoModel) else ERROR
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{(error.strerror or str(error) or type(error).__name__).lower()}", ERROR
    what = f"{type(error).__name__}: {error}".removesuffix(": ")
    return f"unexpected {what} (run again with --debug to see where)", ERROR


def warn(message: str) -> None:
    """Print a warning."""
    print(f"commonplace: {one_line(message)}", file=sys.stderr)


def _click(error: BaseException, name: str) -> click.ClickException | None:
    """Return the error if it is one of click's, without importing click for the question."""
    kind = getattr(sys.modules.get("click"), name, None)
    return error if kind is not None and isinstance(error, kind) else None


def _silence_stdout() -> None:
    """Let what is still buffered go nowhere, so that Python does not complain at exit."""
    if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())


def one_line(text: str) -> str:
    """Keep a message to one line that a terminal shows rather than obeys, and take keys out of it.

    A message may quote a value, and a key may have been put where another value belongs.
    """
    if len(max(text.split(), key=len, default="")) >= _SHORTEST_KEY:
        from commonplace.redaction import redact

        text = redact.redact(text)[0]
    shown = (c if c.isprintable() or c in "\n\t" or "\udc80" <= c <= "\udcff" else "\ufffd" for c in text)
    line = " ".join("".join(shown).split())
    return line if len(line) <= 500 else f"{line[:400]}…{line[-90:]}"
