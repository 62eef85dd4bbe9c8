"""A plugin for Claude Code: server, hooks and skill in one folder, with its manifest.

Source: the plugin reference of Claude Code; `claude plugin validate FOLDER` checks one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from commonplace import __version__
from commonplace.base import paths
from commonplace.base.errors import ConfigError, NoteUnreadable
from commonplace.base.root import Root
from commonplace.clients import edits, entries
from commonplace.clients.entries import Door
from commonplace.clients.table import Target
from commonplace.types.changes import Change

CLIENT = "claude-code"
_MANIFEST = ".claude-plugin/plugin.json"
_ABOUT = "Long-term memory in plain Markdown: search, cite, write, correct."


def changes(target: Target, door: Door, folder: Path) -> list[Change]:
    """Return what each file of the plugin becomes, its path below the folder.

    Raises ConfigError for a client without plugins and for a folder that holds something else.
    """
    if target.name != CLIENT:
        raise ConfigError("--plugin", f"{target.title} takes none from here; there is one for {CLIENT}")
    files = Root(folder)
    try:
        if files.names() and not _is_ours(files):
            raise ConfigError("--plugin", f"{paths.shown(folder)} is not empty; name another folder")
        return [Change(name, _read(files, name), data) for name, data in _composed(target, door).items()]
    except OSError as error:
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error


def write(changed: Sequence[Change], folder: Path) -> None:
    """Write all files of a plugin, or restore them all. Raises NoteUnreadable."""
    files, written = Root(folder), list[Change]()
    try:
        for change in changed:
            if change.after is not None and change.after != change.before:
                files.exchange(change.path, change.after)
                written.append(change)
    except OSError as error:
        for change in written:
            with suppress(OSError):
                if change.before is None:
                    files.unlink(change.path)
                else:
                    files.exchange(change.path, change.before)
        raise NoteUnreadable(paths.shown(folder), paths.reason(error)) from error


def _composed(target: Target, door: Door) -> dict[str, bytes]:
    about = {"description": _ABOUT, "author": {"name": "commonplace"}, "license": "Apache-2.0"}
    manifest = {"name": edits.SKILL, "version": __version__, **about}
    hooks = entries.add_hooks("", target, door)
    server = entries.add_server("", target, door)
    texts = {
        _MANIFEST: json.dumps(manifest, indent=2) + "\n",
        ".mcp.json": server,
        "hooks/hooks.json": hooks,
        f"skills/{edits.SKILL}/SKILL.md": edits.skill(door),
    }
    try:
        return {name: text.encode() for name, text in texts.items()}
    except UnicodeEncodeError as error:
        raise ConfigError("--plugin", "a path that is not UTF-8 cannot be noted; rename it") from error


def _is_ours(files: Root) -> bool:
    try:
        manifest = json.loads(_read(files, _MANIFEST) or b"{}")
    except ValueError:
        return False
    return isinstance(manifest, dict) and manifest.get("name") == edits.SKILL


def _read(files: Root, name: str) -> bytes | None:
    try:
        return files.read(os.path.normpath(name))
    except (FileNotFoundError, NotADirectoryError):
        return None
