"""Leftovers: temporary files of the dead, not of the living; locks that are held."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from commonplace.base import locks
from commonplace.base.paths import Workspace, lock_file
from commonplace.diagnosis import workspace as checks
from commonplace.storage import files
from tests.diagnosis.conftest import Present, by_check, states


def test_nothing_is_left(case: Present, indexed: Path) -> None:
    assert states(checks.leftovers(case())) == {"index.leftovers": "ok"}


def test_what_a_killed_writer_leaves(case: Present, indexed: Path) -> None:
    lock = lock_file(Workspace(indexed), "notes")
    own = indexed / "memory" / files._temporary_name("2026-02-13.md", lock)
    old = time.time() - 3600
    for name in (own, indexed / "mine.tmp", indexed / ".other.tmp"):
        name.write_text("")
        os.utime(name, (old, old))
    found = by_check(checks.leftovers(case()))["index.leftovers"]
    assert found.state == "warning"
    assert found.told == f"1 temporary file of programs that were killed: {own.relative_to(indexed)}"
    os.utime(own)
    assert states(checks.leftovers(case())) == {"index.leftovers": "ok"}  # somebody writes it now


def test_a_lock_that_is_held_is_told_and_left(case: Present, indexed: Path) -> None:
    lock = lock_file(Workspace(indexed), "sync")
    with locks.locked(lock):
        found = by_check(checks.leftovers(case()))["index.locks"]
        assert (found.state, found.told) == ("ok", "another process is at work now (sync)")
        with pytest.raises(locks.LockTimeout), locks.locked(lock, timeout_s=0):
            pass
    assert "index.locks" not in states(checks.leftovers(case()))
    with locks.locked(lock, timeout_s=0):
        pass
