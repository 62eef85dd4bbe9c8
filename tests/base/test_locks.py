"""Locks between processes: whose they are, and that everybody has his turn."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from commonplace.base import locks
from commonplace.base.errors import NoteUnreadable

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="POSIX files")
root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root is two users")

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

    (tmp_path / "notes.lock").touch()
    monkeypatch.setattr(os, "open", refuse)
    told = "read-only file system; mount it so that it can be written to"
    with pytest.raises(NoteUnreadable, match=told), locks.locked(tmp_path / "notes.lock"):
        pass


def test_a_lock_is_for_its_owner_alone(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    lock.parent.mkdir(mode=0o755)
    lock.touch(0o644)  # as it was made before
    with locks.locked(lock):
        assert (mode(lock), mode(lock.with_suffix(".queue"))) == (0o600, 0o600)


def test_a_folder_that_is_shared_on_purpose_shares_its_locks(tmp_path: Path) -> None:
    lock = tmp_path / "locks" / "x.lock"
    lock.parent.mkdir()
    lock.parent.chmod(0o770)
    with locks.locked(lock):
        assert (mode(lock), mode(lock.with_suffix(".queue"))) == (0o660, 0o660)


def test_a_lock_that_is_another_name_of_a_file_leaves_its_mode(tmp_path: Path) -> None:
    file, lock = tmp_path / "file", tmp_path / "locks" / "x.lock"
    file.write_text("x")
    file.chmod(0o644)
    lock.parent.mkdir()
    lock.hardlink_to(file)
    with locks.locked(lock):
        assert mode(file) == 0o644


@root
def test_a_lock_of_another_user_is_refused_in_one_line(reachable_path: Path) -> None:
    lock = reachable_path / "locks" / "x.lock"
    lock.parent.mkdir()
    os.chown(lock.parent, 1234, 1234)
    lock.with_suffix(".queue").touch()
    os.chown(lock.with_suffix(".queue"), 4321, 4321)
    lock.with_suffix(".queue").chmod(0o666)

    def other() -> str:
        """What another user is told who takes the lock."""
        reader, writer = os.pipe()
        if not os.fork():
            os.setgid(1234)
            os.setuid(1234)
            told = "in"
            try:
                with locks.locked(lock, timeout_s=0):
                    pass
            except NoteUnreadable as error:
                told = str(error)
            os.write(writer, told.encode())
            os._exit(0)
        os.close(writer)
        with open(reader) as file:
            return file.read()

    told = other()
    assert "belongs to another user (4321), who could keep it locked; delete it" in told
    lock.with_suffix(".queue").unlink()
    with locks.locked(lock):  # root leaves what the owner of the folder can open
        pass
    assert lock.stat().st_uid == 1234
    assert other() == "in"


def test_a_link_is_no_lock(tmp_path: Path) -> None:
    folder = tmp_path / ".commonplace" / "locks"
    folder.mkdir(parents=True)
    (folder / "x.queue").symlink_to(tmp_path / "made")
    with pytest.raises(NoteUnreadable, match="symlink"), locks.locked(folder / "x.lock"):
        raise AssertionError("locked a link")
    assert not (tmp_path / "made").exists()


def test_who_waits_longer_looks_more_often() -> None:
    pauses = [locks._turn(waited) for waited in (0, 0.1, 1, 10)]
    assert pauses == sorted(pauses, reverse=True)
    assert pauses[-1] > 0


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
    elif kind == "socket":
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(path))
    else:
        path.mkdir()
        if kind == "full folder":
            (path / "mine").write_text("x")


@pytest.mark.parametrize("name", ["notes.queue", "notes.lock"])
@pytest.mark.parametrize("kind", ["fifo", "socket", "folder"])
def test_what_stands_in_the_place_of_a_lock_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / ".commonplace" / "locks"
    put(kind, folder / name)
    with locks.locked(folder / "notes.lock", timeout_s=2):
        assert (folder / name).is_file()


def test_what_may_be_somebody_s_is_named_with_the_remedy(tmp_path: Path) -> None:
    folder = tmp_path / ".commonplace" / "locks"
    put("full folder", folder / "notes.queue")
    put("folder", tmp_path / "elsewhere" / "x.queue")
    for lock in (folder / "notes.lock", tmp_path / "elsewhere" / "x.lock"):
        with pytest.raises(NoteUnreadable) as caught, locks.locked(lock, timeout_s=1):
            pass
        assert "a folder" in str(caught.value) or "is a directory" in str(caught.value)
        assert str(caught.value).startswith(f"{lock.with_suffix('.queue')}: ")
        assert str(caught.value).endswith("; delete it")
    assert (folder / "notes.queue" / "mine").exists()


def test_a_folder_of_locks_that_is_exchanged_meanwhile_is_looked_at_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, exchanged = os.lstat, [True, True]

    def lstat(path: str | Path, **where: Any) -> os.stat_result:
        if str(path).endswith("x.lock") and exchanged:
            exchanged.pop()
            raise NotADirectoryError(20, "Not a directory", str(path))
        return real(path, **where)

    monkeypatch.setattr(locks.os, "lstat", lstat)
    with locks.locked(tmp_path / ".commonplace" / "locks" / "x.lock", timeout_s=2):
        pass
    assert exchanged == []


def test_whether_a_lock_is_held_is_seen_without_a_trace(tmp_path: Path) -> None:
    lock = tmp_path / "a.lock"
    assert not locks.is_held(lock)
    assert not lock.exists()
    with locks.locked(lock):
        assert locks.is_held(lock)
    assert not locks.is_held(lock)
    with locks.locked(lock, timeout_s=0):
        pass
