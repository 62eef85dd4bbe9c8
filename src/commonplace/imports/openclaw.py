"""OpenClaw: a workspace with MEMORY.md, USER.md and memory/YYYY-MM-DD[-slug].md, and its transcripts.

Below `~/.openclaw` lie `workspace/` (of further agents `workspace-NAME/`) and
`agents/NAME/sessions/ID.jsonl`. Notes are taken over as they are: inline comments (`trigger`, `importance`,
`project`) mean the same here. Transcripts are followed where they lie.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from posixpath import basename, splitext

from commonplace.base import paths
from commonplace.base.root import Root
from commonplace.imports import files
from commonplace.types import FileFailure, Folder, Page, Part

KIND = "openclaw"
_WORKSPACES = "workspace"
_OWN_FILES = ("AGENTS.md", "SOUL.md", "IDENTITY.md", "TOOLS.md", "HEARTBEAT.md", "BOOTSTRAP.md")


def recognises(path: Path) -> bool:
    """Return True if a folder is OpenClaw's home or one of its workspaces."""
    if _is_home(path):
        return True
    names = set(os.listdir(path)) if path.is_dir() else set()
    is_memory = "MEMORY.md" in names or "memory" in names
    return is_memory and any(name in names for name in _OWN_FILES[1:]) and ".commonplace" not in names


def _is_home(path: Path) -> bool:
    return path.is_dir() and ((path / "openclaw.json").exists() or path.name == ".openclaw")


def read(path: Path) -> Iterator[Part]:
    """Yield the notes of a workspace, or of all below OpenClaw's home, and their transcripts."""
    root = Root(path)
    if not _is_home(path):
        yield from _workspace(root, "")
        if path.name.startswith(_WORKSPACES) and _is_home(path.parent):
            yield from _transcripts(Root(path.parent))
        return
    for name in root.names():
        if name == _WORKSPACES or name.startswith(f"{_WORKSPACES}-"):
            yield from _workspace(Root(path / name), name.removeprefix(_WORKSPACES).strip("-"))
    yield from _transcripts(root)


def _workspace(root: Root, agent: str) -> Iterator[Part]:
    """The notes of one workspace; those of a further agent lie in a folder of their own."""
    below = f"memory/{KIND}-{agent}" if agent else "memory"
    origin = f"{_WORKSPACES}-{agent}/" if agent else ""
    for name in ("MEMORY.md", "USER.md"):
        with suppress(FileNotFoundError):
            try:
                data = root.read(name, limit=files.LARGEST_NOTE)
            except FileNotFoundError:
                raise
            except OSError as error:
                yield FileFailure(root.absolute(name), str(error.strerror or error))
                continue
            stem = splitext(name)[0].lower()
            instead = f"memory/{'-'.join(filter(None, (KIND, agent)))}-{stem}.md"
            own, place = (instead if agent else name), root.absolute(name)
            yield Page(f"{origin}{name}", own, data, instead, place, is_curated=not agent)
    for found in files.notes(root, "memory"):
        if isinstance(found, FileFailure):
            yield found
            continue
        path, data, _ = found
        inner = path.removeprefix("memory/")
        stem, ending = splitext(basename(inner))
        folder = inner.removesuffix(basename(inner))
        instead = f"{below}/{folder}{stem}-{KIND}{ending}"
        if inner.lower() == "memory.md":  # which would be long-term memory here
            yield Page(f"{origin}{path}", instead, data, instead, root.absolute(path))
        else:
            yield Page(f"{origin}{path}", f"{below}/{inner}", data, instead, root.absolute(path))


def _transcripts(root: Root) -> Iterator[Part]:
    try:
        for agent in root.names("agents"):
            if root.is_folder(f"agents/{agent}/sessions"):
                place = root.absolute(f"agents/{agent}/sessions")
                yield Folder(f"{KIND}-{agent}", place, ("**/*.jsonl",), format=KIND)
    except FileNotFoundError:
        return
    except OSError as error:
        yield FileFailure(paths.shown(root.absolute("agents")), paths.reason(error))
