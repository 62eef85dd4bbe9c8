"""Workspaces with their state and their index: made once and copied for each test, or looked through."""

from __future__ import annotations

import shutil
from pathlib import Path

from commonplace.base.paths import Workspace, prepare_state


class Template:
    """A workspace to be copied; where its state lies is looked up here, since each test has a home of its own."""

    def __init__(self, root: Path) -> None:
        self.folders = _folders(root)

    def copied(self, root: Path) -> Path:
        """Copy it into a folder, as if it had always been there; return the folder."""
        for old, new in zip(self.folders, _folders(root), strict=True):
            if old.is_dir():
                shutil.copytree(old, new, dirs_exist_ok=True, ignore=shutil.ignore_patterns("path"))
        prepare_state(Workspace(root))
        return root


def _folders(root: Path) -> tuple[Path, Path, Path]:
    workspace = Workspace(root)
    return root, workspace.state, workspace.index.parent


def files_of(root: Path) -> list[Path]:
    """Return the files of a workspace, of its state and of its index."""
    return [path for folder in _folders(root) for path in sorted(folder.rglob("*")) if path.is_file()]
