"""Locks between processes and threads; the kernel frees them when their holder dies."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable, OutsideRoots
from commonplace.base.root import Unsafe

LOCK_WAIT_S = 10.0
_FOLDER_WAIT_S = 2.0
_FIRST_TURN_S, _LAST_TURN_S = 0.02, 0.002  # pauses of a process in the queue, at first and later
_HALVED_S = 0.05  # after which these pauses are half as long
_NEXT_S = 0.001  # pauses of the process at the head of the queue


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
        with _held(path.with_suffix(".queue"), deadline, _turn):
            stack.enter_context(_held(path, deadline, _next))
            if path.name == "notes.lock" and (folder := paths.locked_folder(path)):
                stack.enter_context(_shared(folder, deadline))
        yield


def is_held(lock: str | os.PathLike[str]) -> bool:
    """Tell whether a process holds a lock now, without waiting and without making the file."""
    try:
        descriptor = paths.root_of(path := Path(lock)).descriptor(path, os.O_RDWR)
    except (OSError, OutsideRoots):
        return False
    try:
        return not _try_lock(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _shared(folder: Path, deadline: float) -> Iterator[None]:
    """Hold the folder of notes itself, which other homes and users share; their lock files are their own.

    Any reader can hold a folder for ever, so go on without it after `_FOLDER_WAIT_S`: each write compares the
    file again that it replaces.
    """
    descriptor = None
    with suppress(OSError, NoteUnreadable):  # not on Windows, nor on some network disks
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        _acquire(descriptor, folder, min(deadline, time.monotonic() + _FOLDER_WAIT_S), _next)
    try:
        yield
    finally:
        if descriptor is not None:
            _release(descriptor)  # which a forked child may have open as well
            os.close(descriptor)


@contextmanager
def _held(path: Path, deadline: float, pause: Callable[[float], float]) -> Iterator[None]:
    stands = False
    while not stands:  # a file that was deleted while we waited for it keeps no other process out
        descriptor = _open(path, deadline)
        try:
            _acquire(descriptor, path, deadline, pause)
            with suppress(FileNotFoundError, NotADirectoryError):
                stands = sys.platform == "win32" or os.path.samestat(os.fstat(descriptor), os.lstat(path))
            if stands:
                yield
        finally:
            with suppress(OSError):
                _release(descriptor)  # which a forked child may have open as well
            os.close(descriptor)


def _open(path: Path, deadline: float) -> int:
    """Open a lock file, made with its folders if it is missing. Raises NoteUnreadable."""
    while True:
        try:
            if (folder := paths.locked_folder(path)) and not path.parent.is_dir():
                paths.prepare_state(paths.Workspace(folder))
            return paths.root_of(path).descriptor(path, os.O_RDWR | os.O_CREAT, make=True)
        except FileNotFoundError as error:  # its folder was deleted meanwhile
            if time.monotonic() >= deadline:
                raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
        except (Unsafe, IsADirectoryError) as error:
            raise NoteUnreadable(paths.shown(path), f"{paths.reason(error)}; delete it") from error
        except OSError as error:
            reason = paths.state_trouble(error) if paths.locked_folder(path) else paths.reason(error)
            raise NoteUnreadable(paths.shown(path), reason) from error
        except OutsideRoots as error:  # to a reader, a folder that is not writable
            raise NoteUnreadable(error.path, str(error).removeprefix(f"{error.path}: ")) from error


def _turn(waited: float) -> float:
    """Return a pause of a process in the queue: the longer it has waited, the shorter."""
    return max(_LAST_TURN_S, _FIRST_TURN_S / (1 + waited / _HALVED_S))


def _next(waited: float) -> float:
    return _NEXT_S


def _acquire(descriptor: int, path: Path, deadline: float, pause: Callable[[float], float]) -> None:
    began = time.monotonic()
    while not _try_lock(descriptor):
        now = time.monotonic()
        if now >= deadline:
            raise LockTimeout(paths.shown(path), "still locked by another process; try again")
        # Uneven pauses, so that many waiters do not knock in step.
        uneven = pause(now - began) * (0.5 + time.perf_counter_ns() % 1000 / 1000)
        time.sleep(min(deadline - now, uneven))


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
