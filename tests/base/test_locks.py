"""Locks between processes: whose they are, and that everybody has his turn."""

from __future__ import annotations

import errno
import fcntl
import os
import re
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from commonplace.base import locks, paths
from commonplace.base.errors import NoteUnreadable

WRITER = """
import sys, time
from datetime import datetime
from pathlib import Path
from commonplace.base import paths
from commonplace.notes import layout
workspace, longest = paths.Workspace(Path(sys.argv[1])), 0.0
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    began = time.perf_counter()
    layout.remember(workspace, f"line {sys.argv[2]}-{number}", now=datetime(2026, 2, 13, 12))
    longest = max(longest, time.perf_counter() - began)
print(longest)
"""


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_lock_on_a_file_system_that_is_read_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*arguments: object, **named: object) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    lock = paths.lock_file(paths.Workspace(tmp_path), "notes")
    with locks.locked(lock):
        pass
    monkeypatch.setattr(os, "open", refuse)
    told = "read-only file system; .*COMMONPLACE_STATE_DIR"
    with pytest.raises(NoteUnreadable, match=told), locks.locked(lock):
        pass


def test_a_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    workspace = paths.Workspace(tmp_path)
    lock = paths.lock_file(workspace, "x")
    with locks.locked(lock):
        assert (mode(lock), mode(lock.with_suffix(".queue"))) == (0o600, 0o600)
        assert (mode(workspace.state), mode(workspace.locks)) == (0o700, 0o700)


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    workspace = paths.Workspace(tmp_path)
    workspace.locks.mkdir(parents=True)
    (workspace.locks / "x.queue").symlink_to(tmp_path / "made")
    with pytest.raises(NoteUnreadable, match="symlink"), locks.locked(paths.lock_file(workspace, "x")):
        raise AssertionError("locked a link")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("number", [6, pytest.param(30, marks=pytest.mark.slow)])
def test_sixteen_writers_wait_about_as_long_as_each_other(tmp_path: Path, number: int) -> None:
    (tmp_path / "memory").mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), str(name), str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for name in range(16)
    ]  # fmt: skip
    time.sleep(1)
    began = time.perf_counter()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write("\n")
        writer.stdin.flush()
    said = [writer.communicate(timeout=120) for writer in writers]
    took = time.perf_counter() - began
    assert all(writer.returncode == 0 for writer in writers), said
    text = (tmp_path / "memory" / "2026-02-13.md").read_text()
    assert text.count("line ") == 16 * number
    longest = max(float(out) for out, _ in said)
    print(f"{16 * number} writes took {took:.1f} s, the longest {longest:.2f} s")
    assert longest < locks.LOCK_WAIT_S


def put(kind: str, path: Path) -> None:
    """Put what is no lock file where one is due."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()


@pytest.mark.parametrize("name", ["notes.queue", "notes.lock"])
@pytest.mark.parametrize("kind", ["fifo", "folder"])
def test_what_stands_in_the_place_of_a_lock_is_named_with_the_remedy(
    tmp_path: Path, kind: str, name: str
) -> None:
    workspace = paths.Workspace(tmp_path)
    paths.prepare_state(workspace)
    put(kind, workspace.locks / name)
    lock = paths.lock_file(workspace, "notes")
    with pytest.raises(NoteUnreadable) as caught, locks.locked(lock, timeout_s=1):
        pass
    assert re.search("a fifo|a folder|is a directory", str(caught.value))
    assert str(caught.value).startswith(f"{workspace.locks / name}: ")
    assert str(caught.value).endswith("; delete it")
    assert (workspace.locks / name).exists()


def test_a_folder_of_notes_is_held_with_their_lock(tmp_path: Path) -> None:
    lock = paths.lock_file(paths.Workspace(tmp_path), "notes")
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        with locks.locked(lock), pytest.raises(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    finally:
        os.close(descriptor)


def test_who_holds_the_folder_of_notes_for_ever_stops_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(locks, "_FOLDER_WAIT_S", 0.2)
    descriptor = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        began = time.monotonic()
        with locks.locked(paths.lock_file(paths.Workspace(tmp_path), "notes")):
            assert 0.2 <= time.monotonic() - began < 5
    finally:
        os.close(descriptor)


def test_two_homes_write_the_same_notes_in_turn(tmp_path: Path, private_home: Path) -> None:
    """Each has locks of its own, and the folder of the notes in common."""
    (tmp_path / "memory").mkdir()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(tmp_path), name, "20"], stdin=subprocess.PIPE, text=True,
            env={**os.environ, "XDG_STATE_HOME": str(private_home / name)},
        )
        for name in ("one", "two")
    ]  # fmt: skip
    for writer in writers:
        writer.communicate("\n", timeout=120)
        assert writer.returncode == 0
    text = (tmp_path / "memory" / "2026-02-13.md").read_text()
    assert [text.count(f"line {name}-{number}\n") for name in ("one", "two") for number in range(20)] == [
        1
    ] * 40


def test_whether_a_lock_is_held_is_seen_without_a_trace(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    assert not locks.is_held(lock)
    assert not lock.exists()
    with locks.locked(lock):
        assert locks.is_held(lock)
    assert not locks.is_held(lock)
    with locks.locked(lock, timeout_s=0):
        pass
