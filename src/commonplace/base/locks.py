"""Locks between processes and threads; the kernel frees them when their holder dies."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import Unsafe

LOCK_WAIT_S = 10.0
_FOLDER_WAIT_S = 2.0
_QUEUE_S, _HEAD_S = 0.02, 0.001  # first pause of a process in the queue, and at its head
_HALVED_S = 0.05  # after which pauses are half as long: who waits longer looks more often


class LockTimeout(NoteUnreadable):
    """Another process holds a lock and did not give it back in time."""


@contextmanager
def locked(lock: str | os.PathLike[str], timeout_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold a lock file, across processes and threads; make it if it is missing.

    Raises LockTimeout, NoteUnreadable.
    """
    path, deadline = Path(lock), time.monotonic() + timeout_s
    with ExitStack() as stack:
        # The waiting process holds the queue: otherwise one that writes in a loop takes the lock again before
        # any other wakes up, and on a slow disk these would wait for ever.
        with _held(path.with_suffix(".queue"), deadline, _QUEUE_S):
            stack.enter_context(_held(path, deadline, _HEAD_S))
            if path.name == "notes.lock" and (folder := paths.locked_folder(path)):
                stack.enter_context(_shared(folder, deadline))
        yield


def is_held(lock: str | os.PathLike[str]) -> bool:
    """Tell whether a process holds a lock now, by a shared lock; the file is not made."""
    try:
        descriptor = paths.root_of(path := Path(lock)).descriptor(path, os.O_RDONLY)
        try:
            return not _try_lock(descriptor, fcntl.LOCK_SH)
        finally:
            _release(descriptor)
    except OSError:  # no such file, or a file system without locks
        return False


@contextmanager
def _shared(folder: Path, deadline: float) -> Iterator[None]:
    """Hold the folder of notes itself, which other homes and users share; their lock files are their own.

    Any reader can hold a folder for ever, so go on without it after `_FOLDER_WAIT_S`: each write compares the
    file again that it replaces.
    """
    with ExitStack() as stack:
        with suppress(OSError, NoteUnreadable):  # some network disks
            descriptor = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
            stack.callback(_release, descriptor)
            _acquire(descriptor, folder, min(deadline, time.monotonic() + _FOLDER_WAIT_S), _HEAD_S)
        yield


@contextmanager
def _held(path: Path, deadline: float, pause_s: float) -> Iterator[None]:
    is_there = False
    while not is_there:  # a file that was deleted while we waited for it keeps no other process out
        descriptor = _open(path, deadline)
        try:
            _acquire(descriptor, path, deadline, pause_s)
            with suppress(FileNotFoundError, NotADirectoryError):
                is_there = os.path.samestat(os.fstat(descriptor), os.lstat(path))
            if is_there:
                yield
        finally:
            _release(descriptor)


def _open(path: Path, deadline: float) -> int:
    """Open a lock file, made with its folders if it is missing. Raises NoteUnreadable."""
    folder = paths.locked_folder(path)
    while True:
        try:
            if folder and not path.parent.is_dir():
                paths.prepare_state(paths.Workspace(folder))
            return paths.root_of(path).descriptor(path, os.O_RDWR | os.O_CREAT, make=True)
        except FileNotFoundError as error:  # its folder was deleted meanwhile
            if time.monotonic() >= deadline:
                raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
        except (Unsafe, IsADirectoryError) as error:
            raise NoteUnreadable(paths.shown(path), f"{paths.reason(error)}; delete it") from error
        except OSError as error:
            reason = paths.state_trouble(error) if folder else paths.reason(error)
            raise NoteUnreadable(paths.shown(path), reason) from error


def _acquire(descriptor: int, path: Path, deadline: float, pause_s: float) -> None:
    began = time.monotonic()
    while not _try_lock(descriptor):
        now = time.monotonic()
        if now >= deadline:
            raise LockTimeout(paths.shown(path), "still locked by another process; try again")
        # Uneven pauses, so that many waiters do not knock in step.
        pause = max(_HEAD_S, pause_s / (1 + (now - began) / _HALVED_S))
        time.sleep(min(deadline - now, pause * (0.5 + time.perf_counter_ns() % 1000 / 1000)))


def _try_lock(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _release(descriptor: int) -> None:
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_UN)  # which a forked child may have open as well
    os.close(descriptor)
