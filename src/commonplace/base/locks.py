"""Locks between processes and threads; the kernel frees them when their holder dies."""

from __future__ import annotations

import os
import sys
import time
from _thread import get_ident  # `threading` costs a hook 3 ms of its start
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable, OutsideRoots
from commonplace.base.root import Unsafe

LOCK_WAIT_S = 10.0
NOTES = "notes.lock"
_FOLDER_WAIT_S = 2.0
_FIRST_TURN_S, _LAST_TURN_S = 0.02, 0.002  # between two questions of one in the queue, at first and later
_HALVED_S = 0.05  # of waiting, after which those pauses are half as long
_NEXT_S = 0.001  # between two questions of the one who is next


class LockTimeout(NoteUnreadable):
    """Another process holds a lock and did not give it back in time."""


@contextmanager
def locked(lock: str | os.PathLike[str], timeout_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold a lock file, across processes and threads; missing folders are made.

    Raises LockTimeout, NoteUnreadable.
    """
    path = Path(lock)
    deadline = time.monotonic() + timeout_s
    # Who waits holds the queue: without it, a process that writes in a loop takes the lock again before
    # any other wakes up, and on a slow disk they would wait for ever.
    with ExitStack() as stack:
        with _held(path.with_suffix(".queue"), deadline, _turn):
            stack.enter_context(_held(path, deadline, lambda _: _NEXT_S))
            if path.name == NOTES and (folder := paths.locked_folder(path)):
                stack.enter_context(_shared(folder, deadline))
        yield


@contextmanager
def _shared(folder: Path, deadline: float) -> Iterator[None]:
    """Hold the folder of notes itself, where other homes and users have lock files of their own.

    Whoever can read a folder can hold it for ever, so it is waited for some moments and no longer: each write
    looks again at what it is about to replace.
    """
    descriptor = None
    with suppress(OSError, NoteUnreadable):  # not on Windows, nor on some network disks
        descriptor = os.open(folder, os.O_RDONLY | getattr(os, "O_CLOEXEC", 0))
        _acquire(descriptor, folder, min(deadline, time.monotonic() + _FOLDER_WAIT_S), lambda _: _NEXT_S)
    if descriptor is None:
        yield
        return
    try:
        with closed_in_child(descriptor):
            yield
    finally:
        os.close(descriptor)


def _turn(waited: float) -> float:
    """How long to look away from the queue: who has waited longer looks more often, and so is earlier."""
    return max(_LAST_TURN_S, _FIRST_TURN_S / (1 + waited / _HALVED_S))


@contextmanager
def closed_in_child(descriptor: int) -> Iterator[None]:
    """Close a descriptor in processes that are forked within: its lock or lease is the parent's alone."""
    _OPEN.add(descriptor)
    try:
        yield
    finally:
        _OPEN.discard(descriptor)


def _after_fork() -> None:
    ends = os.pipe()
    for descriptor in _OPEN:  # a pipe takes its place: a thread that is no more still names the number
        with suppress(OSError):
            os.dup2(ends[0], descriptor, inheritable=False)
    for end in ends:
        os.close(end)
    _OPEN.clear()
    _numbers.clear()


_OPEN: set[int] = set()
if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


@contextmanager
def _held(path: Path, deadline: float, pause: Callable[[float], float]) -> Iterator[None]:
    descriptor = _taken(path, deadline, pause)
    here = path, get_ident()
    try:
        _numbers[here] = os.fstat(descriptor).st_ino
        with closed_in_child(descriptor):
            yield
    finally:
        _numbers.pop(here, None)
        try:
            _release(descriptor)
        finally:
            os.close(descriptor)


def is_held(lock: str | os.PathLike[str]) -> bool:
    """Tell whether somebody holds a lock now; nothing is made, and nobody waited for."""
    path = Path(lock)
    try:
        descriptor = paths.root_of(path).descriptor(path, os.O_RDWR)
    except (OSError, OutsideRoots):
        return False
    try:
        if not _try_lock(descriptor):
            return True
        _release(descriptor)
        return False
    finally:
        os.close(descriptor)


def number(lock: str | os.PathLike[str]) -> int:
    """Return the number of the lock file that this thread holds under a name, 0 for none.

    Where somebody deleted the file meanwhile, another one may be made and held under the same name.
    """
    return _numbers.get((Path(lock), get_ident()), 0)


_numbers: dict[tuple[Path, int], int] = {}


def _taken(path: Path, deadline: float, pause: Callable[[float], float]) -> int:
    """Lock the file of a name, made if it is missing, and return its descriptor."""
    while True:
        try:
            descriptor = _open(path)
        except FileNotFoundError as error:  # its folder was deleted as it was made
            if time.monotonic() < deadline:
                continue
            raise NoteUnreadable(paths.shown(path), paths.reason(error)) from error
        except (Unsafe, IsADirectoryError) as error:
            raise NoteUnreadable(paths.shown(path), f"{paths.reason(error)}; delete it") from error
        except OSError as error:
            told = paths.state_trouble(error) if paths.locked_folder(path) else paths.reason(error)
            raise NoteUnreadable(paths.shown(path), told) from error
        except OutsideRoots as error:  # to who would only read, a folder that nobody can write to
            raise NoteUnreadable(error.path, str(error).removeprefix(f"{error.path}: ")) from error
        try:
            _acquire(descriptor, path, deadline, pause)
            with suppress(FileNotFoundError, NotADirectoryError):
                if sys.platform == "win32" or os.path.samestat(os.fstat(descriptor), os.lstat(path)):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # a file that was deleted while we waited for it keeps nobody else out


def _open(path: Path) -> int:
    if (folder := paths.locked_folder(path)) and not path.parent.is_dir():
        paths.prepare_state(paths.Workspace(folder))
    return paths.root_of(path).descriptor(path, os.O_RDWR | os.O_CREAT, make=True)


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
