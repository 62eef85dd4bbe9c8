"""The editor of the person at the terminal: which one, how it takes a line, and its start."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from commonplace.base.errors import ConfigError

# How an editor takes the file and the line; any other gets the file alone.
_LINES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("vi", "vim", "nvim", "view", "gvim", "kak", "mg", "ne"), ("+{line}", "{path}")),
    **dict.fromkeys(("nano", "emacs", "emacsclient", "joe"), ("+{line}", "{path}")),
    **dict.fromkeys(("code", "codium", "code-insiders", "cursor"), ("--wait", "--goto", "{path}:{line}")),
    **dict.fromkeys(("subl",), ("--wait", "{path}:{line}")),
    **dict.fromkeys(("hx", "helix", "zed"), ("{path}:{line}",)),
    "micro": ("{path}", "+{line}"),
}  # fmt: skip


def command(path: Path, line: int, environ: Mapping[str, str]) -> list[str]:
    """Return what opens a file at a line: `$VISUAL`, `$EDITOR`, with arguments, or vi. Raises ConfigError."""
    words = environ.get("VISUAL", "").strip() or environ.get("EDITOR", "").strip() or "vi"
    try:
        program, *arguments = shlex.split(words)
    except ValueError as error:
        raise ConfigError("EDITOR", f"{words!r} cannot be read as a command ({error})") from error
    form = _LINES.get(os.path.basename(program).removesuffix(".exe"), ("{path}",))
    further = [one for one in form if one not in arguments]
    return [program, *arguments, *(one.format(path=path, line=line) for one in further)]


def edit(path: Path, line: int, environ: Mapping[str, str] | None = None) -> None:
    """Open a file at a line, and wait for the editor. Raises ConfigError for one that does not start."""
    argv = command(path, line, os.environ if environ is None else environ)
    try:
        subprocess.run(argv, check=False)
    except OSError as error:
        told = f"{argv[0]!r} does not start ({(error.strerror or 'unknown').lower()}); set EDITOR to yours"
        raise ConfigError("EDITOR", told) from error
