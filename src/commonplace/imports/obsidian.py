"""Obsidian: a vault is a folder with `.obsidian` in it; it becomes a collection and stays where it lies.

Hidden folders (`.obsidian`, `.trash`) are no notes anyway; the folder of templates and what the vault itself
leaves out of its search are left out here as well (`.obsidian/templates.json`, `app.json`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Root
from commonplace.types.imports import Folder, Part

KIND = "obsidian"
_DRAWINGS = ("**/*.excalidraw.md",)  # compressed, not to be read
_SETTINGS = (".obsidian/templates.json", ".obsidian/app.json")
_LARGEST = 1 << 20  # bytes of a settings file


def recognises(path: Path) -> bool:
    """Return True if a folder is a vault."""
    return path.is_dir() and (path / ".obsidian").is_dir()


def read(path: Path) -> Iterator[Part]:
    """Yield the vault as a folder. Raises NoteUnreadable for a file, or a folder inside a vault."""
    if not path.is_dir():
        raise NoteUnreadable(str(path), "is no folder")
    if not recognises(path) and (vault := next(filter(recognises, path.resolve().parents), None)):
        message = f"lies in the vault {paths.shown(vault)}; import that, or add this folder as a collection"
        raise NoteUnreadable(paths.shown(path), message)
    root, ignore = Root(path), list(_DRAWINGS)
    unread = [one for one in _SETTINGS if _settings(root, one) is None]
    yield from (f"{one} cannot be read: what it leaves out is searched here" for one in unread)
    templates = (_settings(root, _SETTINGS[0]) or {}).get("folder")
    if isinstance(templates, str) and templates.strip("/ "):
        ignore.append(f"{templates.strip('/ ')}/**")
    name = path.resolve().name or KIND
    excluded = (_settings(root, _SETTINGS[1]) or {}).get("userIgnoreFilters")
    for one in excluded if isinstance(excluded, list) else ():
        if not isinstance(one, str):
            continue
        if one.startswith("/") and one.endswith("/") and len(one) > 1:
            yield (
                f"files that match {one} are searched here: the vault excludes them by an expression, where"
                f" only globs do here; to leave them out, add globs to `ignore` of [collections.{name}]"
                f" ({remedies.say('config.edit')})"
            )
        elif one.strip("/ "):
            ignore.append(f"{one.strip('/ ')}/**" if one.endswith("/") else one.strip())
    yield Folder(name, str(path), ("**/*.md",), tuple(dict.fromkeys(ignore)), weight="own")


def _settings(root: Root, name: str) -> Mapping[str, object] | None:
    """Return a settings file of the vault; empty if missing, None if it cannot be read."""
    try:
        value = json.loads(root.read(name, limit=_LARGEST))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, Mapping) else None
