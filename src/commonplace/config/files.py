"""Settings files: where they are, and reading them as TOML within bounds."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import CommonplaceError, ConfigError
from commonplace.base.expressions import lazy
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.config import keys

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Any

AGENT_VARIABLE = "COMMONPLACE_AGENT"
_AGENT = lazy(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_LARGEST = 256 << 10  # bytes of a settings file
_DEEPEST = 64  # parts of a dotted key: the library takes a time that grows with their square
_PART = rb"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_DEEP = lazy(rb"(?<![\w-])(?:" + _PART + rb"){%d}" % _DEEPEST)
STAYS = frozenset({"old", "config.toml", ".gitignore"})  # in the folder `.commonplace` of a workspace
_ATTEMPTS = 20  # a file may be replaced while it is being opened, which is refused


class File(NamedTuple):
    """A settings file as read; `own` is true for the user's, false for a workspace's."""

    path: Path
    own: bool
    content: Mapping[str, Any]


def move_state(folder: str) -> None:
    """Keep state and index in a folder, in this process and in those that it starts."""
    os.environ[paths.STATE_VARIABLE] = os.path.abspath(os.path.expanduser(folder))


def user_file(environ: Mapping[str, str] | None = None) -> Path:
    """Return the path of the user's settings, whether the file exists or not."""
    return paths.user_config_dir(environ) / "config.toml"


def workspace_file(root: Path) -> Path:
    """Return the path of a workspace's own settings; that of version 0.1 while only that file exists."""
    own, former = Path(root, paths.DERIVED_FOLDER, "config.toml"), Path(root, paths.FORMER_SETTINGS)
    return former if not os.path.lexists(own) and os.path.lexists(former) else own


def is_old(workspace: paths.Workspace) -> bool:
    """Tell if a workspace may hold state or settings of version 0.1."""
    names = os.listdir(workspace.derived) if os.access(workspace.derived, os.R_OK | os.X_OK) else ()
    return os.path.lexists(workspace.root / paths.FORMER_SETTINGS) or not STAYS.issuperset(names)


def move(workspace: paths.Workspace) -> str:
    """Move a workspace's settings of version 0.1 to their place; return a message, or "".

    A link stays, and is read through. Raises OSError.
    """
    former, own = workspace.root / paths.FORMER_SETTINGS, workspace.derived / "config.toml"
    may_write = workspace.reader is None and os.access(workspace.root, os.W_OK | os.X_OK)
    if workspace_file(workspace.root) != former or former.is_symlink() or not may_write:
        return ""
    from commonplace.base.locks import locked

    paths.prepare_state(workspace)
    with locked(paths.lock_file(workspace, "settings")):
        if workspace_file(workspace.root) == former:
            make_folder(workspace)
            workspace.files.rename(former, own)
    return f"the settings of this workspace are in {paths.shown(own)} now"


def make_folder(workspace: paths.Workspace) -> None:
    """Make the folder of a workspace's settings, as open as the workspace, if it can be made."""
    with suppress(OSError):
        workspace.files.make_folder(workspace.derived, os.stat(workspace.root).st_mode & 0o777)


def stamp(root: Path, environ: Mapping[str, str] | None = None) -> tuple[object, ...]:
    """Return identity, size and time of both settings files of a workspace, to see changes."""
    found: list[object] = [None, None]
    for number, path in enumerate((user_file(environ), workspace_file(root))):
        with suppress(OSError):
            status = os.stat(path)
            found[number] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return tuple(found)


def read(path: Path) -> Mapping[str, Any]:
    """Parse a TOML file; a missing one is empty. Raises ConfigError."""
    return parse(data, path) if (data := content(path)) else {}  # the parser costs a start 12 ms


def content(path: Path) -> bytes:
    """Return the bytes of a settings file, empty for a missing one. Raises ConfigError, NoteUnreadable."""
    # The owner may link to a file of his own; a workspace's folder may not lead out of the workspace.
    is_inside = path.parent.name == paths.DERIVED_FOLDER
    root = path.parent.parent if is_inside else Path(os.path.realpath(path)).parent
    if not (is_inside and paths.barrier(root)):  # the first access says who closed a workspace
        paths.check_open(path.parent)
    if not os.path.lexists(path):
        return b""
    trouble: CommonplaceError | None = None
    for _ in range(_ATTEMPTS):
        try:
            return paths.read_contained(path, [root])
        except CommonplaceError as error:
            trouble = error
    raise ConfigError("settings", str(trouble)) from trouble


def parse(data: bytes, path: Path) -> Mapping[str, Any]:
    """Parse the bytes of a settings file. Raises ConfigError, with the file and the line."""
    import tomllib

    if len(data) > _LARGEST:
        raise ConfigError(paths.shown(path), f"has {len(data):,} bytes; settings have {_LARGEST:,} at most")
    if deep := _DEEP.search(data):
        line = data.count(b"\n", 0, deep.start()) + 1
        raise ConfigError(paths.shown(path), f"a key of more than {_DEEPEST} parts (at line {line})")
    try:
        return tomllib.loads(data.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(paths.shown(path), f"not UTF-8 (at line {line})") from error
    except (ValueError, RecursionError) as error:
        invalid = message("toml.invalid", "not valid TOML: {what}", what=str(error).splitlines()[0])
        raise ConfigError(paths.shown(path), invalid) from error


def table(name: str, value: object, path: Path) -> Mapping[str, Any]:
    """Return a value that is a table. Raises ConfigError."""
    if not isinstance(value, Mapping):
        raise ConfigError(name, f"{keys.quoted(value)} in {paths.shown(path)} must be a table")
    return value


def agent_name(name: str) -> str:
    """Return the name of an agent, or the empty one. Raises ConfigError for a name that is not allowed."""
    if name and not _AGENT.fullmatch(name):
        allowed = "letters, digits, - _ and ., at most 64, a letter or digit first"
        raise ConfigError("agent", f"{keys.quoted(name)} is no name for one; allowed are {allowed}")
    return name
