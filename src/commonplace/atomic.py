"""Whole files or nothing: locks between processes, and writes that a crash leaves old or new."""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from commonplace import paths
from commonplace.errors import NoteUnreadable

LOCK_WAIT_S = 10.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.001, 0.02
_ATTEMPTS = 20  # a file that an editor changes this often in a row is not ours to fight over
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class LockTimeout(NoteUnreadable):
    """Another process holds a lock and did not give it back in time."""


class _Original(NamedTuple):
    """A file as it was read; `status` is None where there was none."""

    data: bytes
    status: os.stat_result | None


@contextmanager
def locked(lock: str | os.PathLike[str], timeout_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold a lock file, across processes and threads; the kernel frees it when its holder dies.

    Missing folders are made. Raises LockTimeout, NoteUnreadable.
    """
    path = Path(lock)
    deadline = time.monotonic() + timeout_s
    # Who waits holds the queue: without it, a process that writes in a loop takes the lock again before
    # any other wakes up, and on a slow disk they would wait for ever.
    with ExitStack() as stack:
        with _held(path.with_suffix(".queue"), deadline):
            stack.enter_context(_held(path, deadline))
        yield


def replace(
    path: Path, compose: Callable[[bytes], bytes], *, lock: Path, timeout_s: float = LOCK_WAIT_S
) -> None:
    """Read a file, compose its next content, and put that in its place as a whole.

    A missing file reads as empty; a symlink is followed; mode and owner stay. If another program changes
    the file meanwhile, its change is read and composed upon. Raises NoteUnreadable, with nothing lost.
    """
    target = Path(os.path.realpath(path))
    with locked(lock, timeout_s):
        for _ in range(_ATTEMPTS):
            with _translated(path):
                original = _read(target)
            after = compose(original.data)
            if original.status is not None and after == original.data:
                return
            with _translated(path):
                if _swap(target, original, after, lock):
                    return
    raise NoteUnreadable(paths.shown(path), "another program keeps changing it; try again")


def exchange(path: Path, before: bytes | None, after: bytes | None, *, lock: Path) -> bool:
    """Put a file in the place of another one, under a lock that the caller holds; None stands for no file.

    False, and nothing is done, unless the file is as `before` says; true at once where it is as `after` says.
    Raises NoteUnreadable.
    """
    target = Path(os.path.realpath(path))
    with _translated(path):
        clear(path, lock=lock)
        original = _read(target)
        found = None if original.status is None else original.data
        if found == after:
            return True
        if found != before:
            return False
        if after is not None:
            return _swap(target, original, after, lock)
        target.unlink()
        sync_folder(target.parent)
        return True


def clear(path: Path, *, lock: Path) -> None:
    """Remove what somebody left beside a file who died while he held this lock, which the caller holds."""
    with _translated(path), suppress(FileNotFoundError, NotADirectoryError):
        _temporary(Path(os.path.realpath(path)), lock).unlink()


@contextmanager
def _held(path: Path, deadline: float) -> Iterator[None]:
    with _translated(path):
        descriptor = _open_lock(path)
    try:
        _acquire(descriptor, path, deadline)
        try:
            yield
        finally:
            _release(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error


def _read(target: Path) -> _Original:
    try:
        descriptor = os.open(target, paths.OPEN_FLAGS)
    except FileNotFoundError:
        return _Original(b"", None)
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise NoteUnreadable(paths.shown(target), "not a regular file")
        return _Original(file.read(), status)


def _swap(target: Path, original: _Original, after: bytes, lock: Path) -> bool:
    """Put `after` in the place of what was read; false if that has changed, and nothing is done."""
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = _temporary(target, lock)
    with suppress(FileNotFoundError):
        temporary.unlink()  # left by a process that died while it held this lock
    try:
        _write(temporary, after, original.status)
        if not _is_same(target, original.status):
            return False
        os.replace(temporary, target)
    finally:
        with suppress(OSError):
            temporary.unlink()
    sync_folder(target.parent)
    return True


def _temporary(target: Path, lock: Path) -> Path:
    """Name the one temporary file of this target under this lock, so that a crash leaves no litter."""
    import hashlib

    digest = hashlib.sha256(f"{target.name}\0{lock}".encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return target.with_name(f".{target.stem[:40]}.{digest}.tmp")


def _write(temporary: Path, data: bytes, status: os.stat_result | None) -> None:
    mode = 0o666 if status is None else stat.S_IMODE(status.st_mode)
    descriptor = os.open(temporary, _CREATE, mode)
    with open(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        if status is not None and sys.platform != "win32":
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, mode)
        os.fsync(descriptor)


def _is_same(target: Path, before: os.stat_result | None) -> bool:
    try:
        now = os.stat(target)
    except FileNotFoundError:
        return before is None
    if before is None:
        return False
    marks = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns) for s in (before, now)]
    return marks[0] == marks[1]


def sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _open_lock(path: Path) -> int:
    if not path.parent.is_dir():
        if path.parent.parent.name == paths.DERIVED_FOLDER:
            paths.prepare_derived(paths.Workspace(path.parent.parent.parent))
        path.parent.mkdir(parents=True, exist_ok=True)
    return os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o666)


def _acquire(descriptor: int, path: Path, deadline: float) -> None:
    pause = _FIRST_PAUSE_S
    while not _try_lock(descriptor):
        left = deadline - time.monotonic()
        if left <= 0:
            raise LockTimeout(paths.shown(path), "still locked by another process; try again")
        # Uneven pauses, so that many waiters do not knock in step.
        time.sleep(min(left, pause * (0.5 + time.perf_counter_ns() % 1000 / 1000)))
        pause = min(_LONGEST_PAUSE_S, pause * 1.5)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _release(descriptor: int) -> None:
        os.lseek(descriptor, 0, os.SEEK_SET)
        msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _release(descriptor: int) -> None:
        fcntl.flock(descriptor, fcntl.LOCK_UN)
