"""A workspace of two files, and what is done to it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commonplace.base import paths
from commonplace.storage import transaction
from commonplace.types.changes import About, Change

ABOUT = About("consolidate", "consolidate 2026-02-07..13", "a test")
Changing = Callable[[str, bytes | None], Change]


@pytest.fixture
def workspace(tmp_path: Path) -> paths.Workspace:
    (tmp_path / "MEMORY.md").write_bytes(b"# Memory\n\n- one\n")
    return paths.Workspace(tmp_path)


@pytest.fixture
def change(workspace: paths.Workspace) -> Changing:
    """What makes a change of a file as it stands."""
    return lambda path, after: Change(path, transaction.read(workspace, path), after)
