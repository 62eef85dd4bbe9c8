"""The table of the kinds of memories that can be imported: one module each, loaded on first use.

A module has `recognises(path)`, True if a path is of its kind by its names and first bytes, and `read(path)`,
which yields its parts, and a `FileFailure` for each part that cannot be read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.messages import message
from commonplace.base.tuples import NamedTuple
from commonplace.types import FileFailure, Part


class Kind(NamedTuple):
    """A kind: its name, its title, what it is recognised by, its module, where it usually lies."""

    name: str
    title: str
    what: str
    module: str
    places: tuple[str, ...] = ()

    def recognises(self, path: Path) -> bool:
        """Tell whether a path is of this kind; what cannot be looked at is not."""
        try:
            return bool(self._load().recognises(path))
        except OSError:
            return False

    def read(self, path: Path) -> Iterator[Part]:
        """Yield what a path holds; where it ends with an error, that stands for the rest of it."""
        try:
            yield from self._load().read(path)
        except NoteUnreadable as error:
            yield FileFailure(error.path, error.reason)
        except OSError as error:  # no regular file, or one that is somebody else's
            yield FileFailure(paths.shown(path), paths.reason(error))

    def _load(self) -> _Reader:
        module = import_module(f"commonplace.imports.{self.module}")
        return _Reader(module.recognises, module.read)


class _Reader(NamedTuple):
    recognises: Callable[[Path], bool]
    read: Callable[[Path], Iterator[Part]]


# In the order in which they are tried: what says more of itself first.
KINDS = (
    Kind(
        "commonplace", "commonplace", "an export of its own: JSON made by `export`", "commonplace",
    ),
    Kind(
        "claude-mem", "claude-mem", "claude-mem.db, or the folder that holds it", "claude_mem",
        ("~/.claude-mem/claude-mem.db",),
    ),
    Kind(
        "qmd", "QMD", "index.yml with its collections and contexts", "qmd",
        ("$QMD_CONFIG_DIR/index.yml", "$XDG_CONFIG_HOME/qmd/index.yml", "~/.config/qmd/index.yml"),
    ),
    Kind(
        "nanobot", "nanobot", "a workspace (USER.md, memory/*.md, memory/history.jsonl), or ~/.nanobot",
        "nanobot", ("~/.nanobot",),
    ),
    Kind(
        "openclaw", "OpenClaw", "a workspace (MEMORY.md, USER.md, memory/*.md), or ~/.openclaw", "openclaw",
        ("~/.openclaw",),
    ),
    Kind("obsidian", "Obsidian", "a vault: a folder that holds .obsidian", "obsidian"),
    Kind("logseq", "Logseq", "a graph: a folder that holds logseq/config.edn", "logseq"),
    Kind("mem0", "mem0", "an export: JSON with a list of memories", "mem0"),
    Kind(
        "chats", "ChatGPT and Claude", "an export: conversations.json, or the zip or folder that holds it",
        "chats",
    ),
    Kind(
        "basic-memory", "Basic Memory", "a project: Markdown with permalinks and observations",
        "basic_memory", ("~/basic-memory",),
    ),
)  # fmt: skip
_ALIASES = {"chatgpt": "chats", "claude": "chats", "claude-export": "chats", "basic_memory": "basic-memory",
            "claude_mem": "claude-mem"}  # fmt: skip


def find(name: str) -> Kind | None:
    """Return the kind of a name, None if unknown."""
    name = name.lower()
    return next((kind for kind in KINDS if kind.name == _ALIASES.get(name, name)), None)


def of(path: Path) -> Kind:
    """Return the kind of a path. Raises ConfigError, with the list of kinds, if it is not recognised."""
    if not os.path.lexists(path):
        raise ConfigError("path", paths.no_file(path))
    for kind in KINDS:
        if kind.recognises(path):
            return kind
    told = "{path} is not recognised; name its kind first: {kinds}"
    names = [kind.name for kind in KINDS]
    raise ConfigError("path", message("import.unknown", told, path=paths.shown(path), kinds=names))


def chosen(name: str, path: str) -> tuple[Kind, Path]:
    """Return a kind and its path: an empty name is recognised by the path, an empty path is the usual one.

    Raises ConfigError for an unknown kind, NoteUnreadable for a path that does not exist.
    """
    place = Path(os.path.abspath(os.path.expanduser(path))) if path else None
    if not name:
        if place is None:
            raise ConfigError("path", message("import.what", "say what is to be imported"))
        return of(place), place
    kind = find(name)
    if kind is None:
        told, names = "{kind!r} is not known; there are {kinds}", [one.name for one in KINDS]
        raise ConfigError("kind", message("import.no_kind", told, kind=name, kinds=names))
    if place is None:
        return kind, usual(kind)
    if not os.path.lexists(place):
        raise NoteUnreadable(paths.shown(place), message("import.missing", "no such file or folder"))
    return kind, place


def usual(kind: Kind) -> Path:
    """Return the usual path of a kind. Raises ConfigError if it does not exist."""
    for place in kind.places:
        if os.path.lexists(path := Path(os.path.expandvars(os.path.expanduser(place)))):
            return path
    if kind.places:
        told = "there is no {place}; say where it lies"
        raise ConfigError("path", message("import.nowhere", told, place=kind.places[-1]))
    raise ConfigError("path", message("import.where", "say where it lies: {what}", what=kind.what))
