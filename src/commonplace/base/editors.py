"""Editors of people: which one is theirs, how it takes a line, and its start."""

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
_USUAL = ("sensible-editor", "nano", "vim", "vi")  # of those that are there, where no variable names one
_PLUS = ("+{line}", "{path}")
_COLON = ("{path}:{line}",)
_WAITING = ("--wait", "{path}:{line}")  # which would otherwise return at once
_GOTO = ("--wait", "--goto", "{path}:{line}")
# What an editor takes to open a file at a line, by the name of its program; any other takes the file alone.
PLACES: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(
        ("vi", "vim", "nvim", "gvim", "view", "emacs", "emacsclient", "nano", "pico", "micro", "kak", "joe",
         "jed", "ne", "mcedit", "gedit"),
        _PLUS,
    ),
    **dict.fromkeys(("hx", "helix"), _COLON),
    **dict.fromkeys(("subl", "sublime_text", "zed", "zeditor"), _WAITING),
    **dict.fromkeys(("code", "code-insiders", "codium", "vscodium", "cursor", "windsurf"), _GOTO),
    "mate": ("--wait", "--line", "{line}", "{path}"),
    "kate": ("--block", "--line", "{line}", "{path}"),
    "notepad++": ("-n{line}", "{path}"),
}  # fmt: skip


def command_line(path: Path, line: int, environ: Mapping[str, str], *, usual: bool = True) -> list[str]:
    """Return what starts the editor on a line of a file. Raises ConfigError where there is none.

    It is that of VISUAL or EDITOR, split as a shell does; else, where `usual`, one that is there.
    """
    named = next((name for name in VARIABLES if environ.get(name, "").strip()), "")
    if named:
        try:
            argv = shlex.split(environ[named], posix=os.name == "posix")
        except ValueError as error:
            raise ConfigError(named, f"cannot be read as a command: {str(error).lower()}") from error
    else:
        argv = [next(filter(shutil.which, _USUAL), "")] if usual else [""]
    if not shutil.which(argv[0]):
        told = f"there is no program {argv[0]!r}" if argv[0] else "no editor is known here"
        other = next(filter(shutil.which, _USUAL[1:]), "nano" if argv[0] != "nano" else "vi")
        raise ConfigError(named or VARIABLES[1], f"{told}; set it, as in: export EDITOR={other}")
    program = os.path.basename(argv[0]).lower().removesuffix(".exe").removesuffix(".cmd")
    place = PLACES.get(program) or PLACES.get(program.partition(".")[0]) or ("{path}",)
    filled = (part.format(path=path, line=line) for part in place)
    return [*argv, *(part for part in filled if part not in argv)]


def run(argv: Sequence[str]) -> int:
    """Start an editor, wait for it, and return its exit code. Raises ConfigError where it does not start."""
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise ConfigError(argv[0], f"cannot be started: {paths.reason(error)}; set EDITOR") from error
