"""What others on the machine may read of what we write, under the usual umask."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from commonplace import Memory
from commonplace.base import paths
from commonplace.notes import layout

OVERRIDES = {"embedding.provider": "fake"}


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    before = os.umask(0o022)
    yield
    os.umask(before)


def readable(folder: Path) -> list[str]:
    """Files that others may do anything with: in folders that they may enter."""
    mode = stat.S_IMODE(os.lstat(folder).st_mode)
    if folder.is_dir() and not folder.is_symlink():
        inner = sorted(folder.iterdir()) if mode & 0o055 else []
        return [name for path in inner for name in readable(path)]
    return [str(folder)] if mode & 0o077 else []


def test_nothing_of_ours_is_readable_by_others(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir(mode=0o700)
    layout.init(root)
    with Memory.open(root, overrides=OVERRIDES) as memory:
        memory.remember("the walnut desk costs 400 euro")
        memory.remember("the oak chair costs 90 euro", long_term=True)
        memory.sync()
        memory.search("walnut desk")
        memory.get("MEMORY.md")
    ours = (root / "memory", paths.user_state_dir(), paths.user_cache_dir(), paths.user_config_dir())
    assert [name for folder in ours if folder.exists() for name in readable(folder)] == []
    folders = (paths.user_state_dir(), paths.user_cache_dir())
    databases = [path for folder in folders for path in folder.rglob("*.sqlite*")]
    assert {path.name for path in databases} >= {"index.sqlite", "usage.sqlite"}
    assert {stat.S_IMODE(os.stat(path).st_mode) for path in databases} == {0o600}


def test_new_notes_are_their_owners_and_old_ones_keep_their_mode(tmp_path: Path) -> None:
    root = tmp_path / "work"
    root.mkdir(mode=0o700)
    (root / "MEMORY.md").write_text("# Memory\n")
    os.chmod(root / "MEMORY.md", 0o644)
    layout.init(root)
    with Memory.open(root, overrides=OVERRIDES) as memory:
        memory.remember("long term", long_term=True)
        memory.sync()
    assert stat.S_IMODE(os.stat(root / "memory").st_mode) == 0o700
    assert stat.S_IMODE(os.stat(root / "MEMORY.md").st_mode) == 0o644


@pytest.mark.parametrize(("shared", "new"), [(0o770, 0o660), (0o777, 0o660), (0o755, 0o600)])
def test_where_a_group_may_write_it_may_write_new_notes(tmp_path: Path, shared: int, new: int) -> None:
    (tmp_path / "memory").mkdir()
    (tmp_path / "memory").chmod(shared)
    with Memory.open(tmp_path, overrides=OVERRIDES) as memory:
        path = memory.remember("the walnut desk").path
    assert stat.S_IMODE((tmp_path / path).stat().st_mode) == new


def test_folders_of_before_are_closed_and_it_is_said_once(tmp_path: Path) -> None:
    root = tmp_path / "work"
    (root / "memory").mkdir(parents=True)
    (root / "memory" / "a.md").write_text("the walnut desk\n")
    with Memory.open(root, overrides=OVERRIDES) as memory:
        memory.sync()
    states, indexes = paths.user_state_dir(), paths.user_cache_dir()
    for path in (states, *states.rglob("*"), indexes, *indexes.rglob("*"), root / "memory"):
        os.chmod(path, 0o755)
    with Memory.open(root, overrides=OVERRIDES) as memory:
        told = memory.search("desk").warnings
    for folder in (states, indexes):
        assert [one for one in told if f"others could look into {folder}" in one]
        assert readable(folder) == []
    assert stat.S_IMODE(os.stat(root / "memory").st_mode) == 0o755
    with Memory.open(root, overrides=OVERRIDES) as memory:
        assert memory.search("desk").warnings == ()
