"""The user's editor: the command that opens a file at a line, and its start."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError

VARIABLES = ("VISUAL", "EDITOR")
_USUAL = ("editor", "nano", "vim", "vi")  # the first that is installed, if no variable names one
_PLUS, _WAITING = ("+{line}", "{path}"), ("--wait", "{path}:{line}")  # which would otherwise return at once
_GOTO = ("--wait", "--goto", "{path}:{line}")
# The arguments that open a file at a line, by the name of the program; any other gets the file alone.
_PLACES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys("vi vim nvim gvim emacs emacsclient nano micro kak joe mcedit gedit".split(), _PLUS),
    **dict.fromkeys(("hx", "helix"), ("{path}:{line}",)),
    **dict.fromkeys(("subl", "sublime_text", "zed", "zeditor"), _WAITING),
    **dict.fromkeys(("code", "code-insiders", "codium", "cursor", "windsurf"), _GOTO),
}


def command_line(path: Path, line: int, environ: Mapping[str, str], *, usual: bool = True) -> list[str]:
    """Return the command that opens a line of a file in the editor. Raises ConfigError without an editor.

    It is that of VISUAL or EDITOR, split as a shell does; else, where `usual`, the first that is installed.
    """
    named = next((name for name in VARIABLES if environ.get(name, "").strip()), "")
    if named:
        try:
            argv = shlex.split(environ[named])
        except ValueError as error:
            raise ConfigError(named, f"cannot be read as a command: {str(error).lower()}") from error
    elif usual:
        argv = [next(filter(shutil.which, _USUAL), "")]
    else:
        told = "there is no terminal for an editor; set one that opens a window, as in: export VISUAL=code"
        raise ConfigError(VARIABLES[1], told)
    program = shutil.which(argv[0])
    if not program:
        told = f"there is no program {argv[0]!r}" if argv[0] else "no editor is known here"
        other = next(filter(shutil.which, _USUAL[1:]), "nano" if argv[0] != "nano" else "vi")
        raise ConfigError(named or VARIABLES[1], f"{told}; set it, as in: export EDITOR={other}")
    # `editor` and `vi` may be links to an editor of another name, such as vim.basic.
    names = (os.path.basename(one).partition(".")[0] for one in (argv[0], os.path.realpath(program)))
    place = next((_PLACES[name] for name in names if name in _PLACES), ("{path}",))
    filled = (part.format(path=path, line=line) for part in place)
    return [*argv, *(part for part in filled if part not in argv)]


def run(argv: Sequence[str]) -> int:
    """Start an editor, wait for it, and return its exit code. Raises ConfigError where it does not start."""
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise ConfigError(argv[0], f"cannot be started: {paths.reason(error)}; set EDITOR") from error
