"""nanobot: a workspace with memory/MEMORY.md, memory/history.jsonl and USER.md, and its sessions.

Below `~/.nanobot` lie `workspace/` and `sessions/ID/KEY.jsonl`, where ID stands for a workspace and KEY is
the key of a session in base64url; older versions keep sessions in the workspace. They are followed where
they lie. A line of the history is `{"cursor": 3, "timestamp": "2026-02-13 14:05", "content": "…"}`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.root import Root
from commonplace.imports import files
from commonplace.markdown import comments
from commonplace.types import Fact, FileFailure, Folder, Page, Part

KIND = "nanobot"
_HISTORY = "memory/history.jsonl"
_LARGEST_HISTORY = 64 << 20


def recognises(path: Path) -> bool:
    """Return True if a folder is nanobot's home or one of its workspaces."""
    if _is_home(path):
        return True
    return path.is_dir() and (files.is_file(path / _HISTORY) or (path / ".nanobot" / "workspace-id").exists())


def _is_home(path: Path) -> bool:
    has_parts = (path / "workspace").is_dir() or (path / "sessions").is_dir()
    return path.is_dir() and has_parts and (path.name == ".nanobot" or (path / "config.json").exists())


def read(path: Path) -> Iterator[Part]:
    """Yield the notes of a workspace, its history, and its sessions."""
    home = path if _is_home(path) else path.parent if _is_home(path.parent) else None
    workspace = path / "workspace" if path == home else path
    yield from _workspace(Root(workspace))
    folders = [workspace / "sessions", *([home / "sessions"] if home else [])]
    yield from (FileFailure(paths.shown(one), "is a symlink") for one in folders if one.is_symlink())
    for number, folder in enumerate(one for one in folders if one.is_dir() and not one.is_symlink()):
        name = "nanobot-sessions" if number == 0 else f"nanobot-sessions-{number + 1}"
        yield Folder(name, str(folder), ("**/*.jsonl",), format=KIND)


def _workspace(root: Root) -> Iterator[Part]:
    own = {"memory/MEMORY.md": ("MEMORY.md", "memory/nanobot-memory.md"),
           "USER.md": ("USER.md", "memory/nanobot-user.md")}  # fmt: skip
    for name, (path, instead) in own.items():
        with suppress(FileNotFoundError):
            try:
                data = root.read(name, limit=files.LARGEST_NOTE)
                yield Page(name, path, data, instead, root.absolute(name), is_curated=True)
            except FileNotFoundError:
                raise
            except OSError as error:
                yield FileFailure(paths.shown(root.absolute(name)), paths.reason(error))
    for found in files.notes(root, "memory", ignore=("memory/MEMORY.md",)):
        if isinstance(found, FileFailure):
            yield found
            continue
        path, data, _ = found
        yield Page(path, path, data, f"{path[:-3]}-{KIND}.md", root.absolute(path))
    yield from _history(root)


def _history(root: Root) -> Iterator[Part]:
    shown = paths.shown(root.absolute(_HISTORY))
    try:
        lines = root.read(_HISTORY, limit=_LARGEST_HISTORY).splitlines()
    except FileNotFoundError:
        return
    except OSError as error:
        yield FileFailure(shown, paths.reason(error))
        return
    damaged = 0
    for line in lines:
        try:
            value = json.loads(line) if line.strip() else {}
        except (ValueError, RecursionError):
            value = None
        text = value.get("content") if isinstance(value, Mapping) else None
        if isinstance(text, str) and isinstance(value, Mapping):
            session = value.get("session_key")
            key = session if isinstance(session, str) else ""
            origin = f"history {value.get('cursor')} {value.get('timestamp')}"
            if text.strip():
                said = comments.disarmed(text.strip(), entirely=True)
                yield Fact(origin, said, files.moment(value.get("timestamp")), "History", key)
        elif line.strip():
            damaged += 1
    if damaged:
        yield FileFailure(shown, f"{damaged:,} lines are damaged or hold no entry")
