"""Editors of people: which one is theirs, how it takes a line, and its start."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError
from commonplace.base.root import open_named

VARIABLES = ("VISUAL", "EDITOR")
# Debian's own way: what `select-editor` noted, or else what `update-alternatives` set. `sensible-editor`
# starts the same, and would hide from us how it takes a line.
_SENSIBLE = "sensible-editor"
_SELECTED = re.compile(r"""^\s*SELECTED_EDITOR=(["']?)(.+?)\1\s*$""", re.MULTILINE)
_USUAL = ("editor", "nano", "vim", "vi")  # the first that is installed, if no variable names one
_LARGEST = 4096  # bytes of ~/.selected_editor
_PLUS = ("+{line}", "{path}")
_COLON = ("{path}:{line}",)
_WAITING = ("--wait", "{path}:{line}")  # which would otherwise return at once
_GOTO = ("--wait", "--goto", "{path}:{line}")
# The arguments that open a file at a line, by the name of the program; any other gets the file alone.
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
    """Return the command that opens a line of a file in the editor. Raises ConfigError without an editor.

    It is that of VISUAL or EDITOR, split as a shell does; else, where `usual`, the one that is selected on
    this machine, or the first that is there.
    """
    named = next((name for name in VARIABLES if environ.get(name, "").strip() not in ("", _SENSIBLE)), "")
    if named:
        try:
            argv = shlex.split(environ[named], posix=os.name == "posix")
        except ValueError as error:
            raise ConfigError(named, f"cannot be read as a command: {str(error).lower()}") from error
    elif usual:
        argv = [next(filter(shutil.which, (_selected(environ), *_USUAL)), "")]
    else:
        told = "there is no terminal for an editor; set one that opens a window, as in: export VISUAL=code"
        raise ConfigError(VARIABLES[1], told)
    program = shutil.which(argv[0])
    if not program:
        told = f"there is no program {argv[0]!r}" if argv[0] else "no editor is known here"
        other = next(filter(shutil.which, _USUAL[1:]), "nano" if argv[0] != "nano" else "vi")
        raise ConfigError(named or VARIABLES[1], f"{told}; set it, as in: export EDITOR={other}")
    # `editor` and `vi` may be links to an editor of another name.
    place = _place(argv[0]) or _place(os.path.realpath(program)) or ("{path}",)
    filled = (part.format(path=path, line=line) for part in place)
    return [*argv, *(part for part in filled if part not in argv)]


def _place(program: str) -> Sequence[str] | None:
    name = os.path.basename(program).lower().removesuffix(".exe").removesuffix(".cmd")
    return PLACES.get(name) or PLACES.get(name.partition(".")[0])


def _selected(environ: Mapping[str, str]) -> str:
    """The editor that the user selected for `sensible-editor`, or an empty text."""
    try:
        with open_named(paths.home(environ) / ".selected_editor") as file:
            noted = _SELECTED.search(file.read(_LARGEST).decode("utf-8", "replace"))
    except OSError:
        noted = None
    return noted[2] if noted else environ.get("SELECTED_EDITOR", "")


def run(argv: Sequence[str]) -> int:
    """Start an editor, wait for it, and return its exit code. Raises ConfigError where it does not start."""
    try:
        return subprocess.run(argv, check=False).returncode
    except OSError as error:
        raise ConfigError(argv[0], f"cannot be started: {paths.reason(error)}; set EDITOR") from error
