"""Locks between processes and threads; the kernel frees them when their holder dies."""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from _thread import get_ident  # `threading` costs a hook 3 ms of its start
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from commonplace.base import paths, remedies
from commonplace.base.errors import NoteUnreadable, OutsideRoots
from commonplace.base.messages import message
from commonplace.base.root import PRIVATE_FILE, Unsafe

LOCK_WAIT_S = 10.0
_FIRST_TURN_S, _LAST_TURN_S = 0.02, 0.002  # between two questions of one in the queue, at first and later
_HALVED_S = 0.05  # of waiting, after which those pauses are half as long
_NEXT_S = 0.001  # between two questions of the one who is next


class LockTimeout(NoteUnreadable):
    """Another process holds a lock and did not give it back in time."""


@contextmanager
def locked(lock: str | os.PathLike[str], timeout_s: float = LOCK_WAIT_S) -> Iterator[None]:
    """Hold a lock file, across processes and threads.

    Missing folders are made. Raises LockTimeout, and NoteUnreadable, also for a file that another user could
    hold for ever.
    """
    path = Path(lock)
    deadline = time.monotonic() + timeout_s
    # Who waits holds the queue: without it, a process that writes in a loop takes the lock again before
    # any other wakes up, and on a slow disk they would wait for ever.
    with ExitStack() as stack:
        with _held(path.with_suffix(".queue"), deadline, _turn):
            stack.enter_context(_held(path, deadline, lambda _: _NEXT_S))
        yield


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
            if time.monotonic() < deadline + _LAST_TURN_S and _removed(path):  # once, for who does not wait
                continue
            raise NoteUnreadable(paths.shown(path), f"{paths.reason(error)}; delete it") from error
        except OSError as error:
            raise NoteUnreadable(paths.shown(path), _reason(path, error)) from error
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
    if not path.parent.is_dir() and path.parent.parent.name == paths.DERIVED_FOLDER:
        paths.prepare_derived(paths.Workspace(path.parent.parent.parent))
    root = paths.root_of(path)
    descriptor = root.descriptor(path, os.O_RDWR | os.O_CREAT, make=True)
    try:
        if hasattr(os, "geteuid"):
            _claim(descriptor, path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _removed(path: Path) -> bool:
    """Remove what stands in the place of a lock file in our own folder: a fifo, an empty folder, a hard link.

    A lock file that another process makes there meanwhile stays: all who remove hold the folder locked. A
    link stays as well, since it may have been meant.
    """
    if sys.platform == "win32" or path.parent.parent.name != paths.DERIVED_FOLDER:
        return False
    root = paths.root_of(path)
    with suppress(OSError), root.listed(path.parent) as folder:
        assert isinstance(folder, int)
        fcntl.flock(folder, fcntl.LOCK_EX)
        status = os.stat(path.name, dir_fd=folder, follow_symlinks=False)
        mode = status.st_mode
        if (stat.S_ISREG(mode) and status.st_nlink == 1) or stat.S_ISLNK(mode):
            return stat.S_ISREG(mode)
        if stat.S_ISDIR(mode):
            root.rmdir(path)
        else:
            root.unlink(path)
        return True
    return False


def _reason(path: Path, error: OSError) -> str:
    """Return why a lock file cannot be opened, with the remedy where it or its folder is another user's."""
    reason = paths.reason(error)
    if error.errno == errno.EROFS:
        remedy = remedies.say("files.readonly")
        return message("remedied", "{reason}; {remedy}", reason=reason, remedy=remedy)
    if not isinstance(error, PermissionError) or not hasattr(os, "geteuid"):
        return reason
    with suppress(OSError):
        derived = os.path.join(paths.root_of(path).path, paths.DERIVED_FOLDER)
        if user := paths.another_user(os.lstat(derived).st_uid):
            remedy = remedies.say("workspace.collect")
            return f"{reason}: {user} writes the notes here, and only they can; {remedy}"
    with suppress(OSError):
        if user := paths.another_user(os.lstat(path).st_uid):
            return f"belongs to {user}, who could keep it locked; delete it"
    return reason


def _claim(descriptor: int, path: Path) -> None:
    """Let nobody else open a lock file, who could hold it for ever, unless its folder is shared on purpose.

    Raises NoteUnreadable.
    """
    file, folder, own = os.fstat(descriptor), os.lstat(path.parent), os.geteuid()
    mode = PRIVATE_FILE | (folder.st_mode & 0o066 if folder.st_mode & 0o022 else 0)
    if file.st_uid not in (own, folder.st_uid) and own != 0 and mode == PRIVATE_FILE:
        told = f"belongs to {paths.another_user(file.st_uid)}, who could keep it locked; delete it"
        raise NoteUnreadable(paths.shown(path), told)
    if file.st_uid != own or file.st_nlink > 1:  # another name of it may be anybody's file
        return
    if stat.S_IMODE(file.st_mode) != mode:
        os.fchmod(descriptor, mode)
    # A file with anything in it is none of ours: somebody else may have moved it here.
    if own == 0 and folder.st_uid != 0 and not file.st_size:
        os.fchown(descriptor, folder.st_uid, folder.st_gid)  # or its owner could not open it any more


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
