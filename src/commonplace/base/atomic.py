"""Whole files or nothing: writes that a crash leaves old or new, beside programs that know of no lock.

A file is read once nobody is in the middle of writing it, and exchanged with its next content at one instant.
If somebody opened it for writing until then, or put another file in its place, what was there is put back,
waited for and composed upon again. A file that is written for seconds is left alone. A guard keeps versions,
and what was replaced, for those that write into it later.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.base import paths, swap
from commonplace.base.digests import sha256
from commonplace.base.errors import NoteUnreadable
from commonplace.base.locks import LOCK_WAIT_S, LockTimeout, closed_in_child, locked, number
from commonplace.base.root import PRIVATE_FILE, Root, open_regular
from commonplace.base.tuples import NamedTuple

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object

__all__ = ["LOCK_WAIT_S", "Busy", "Guard", "LockTimeout", "clear", "exchange", "locked", "replace"]

_ATTEMPTS = 50  # a file that an editor changes this often in a row is not ours to fight over
_PATIENCE_S = 2.0  # how long a program that writes a file is waited for
_MOMENT_S = 0.1  # after it truncated a file, or moved it away, an editor has begun to write it anew
_GROWING_S = 0.5  # a file that is shorter than it was, and younger than this, may be written piece by piece
_LOOK_S = 0.03  # between two looks at a file, where the system does not say who writes it
_PAUSE_S = 0.002  # between two questions for a lease
_CREATE = os.O_CREAT | os.O_EXCL | os.O_WRONLY
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK})


class Busy(NoteUnreadable):
    """Another program is writing a file, and did not end in time; the file is as that program left it."""


class Guard(Protocol):
    """Who remembers what we write into a file, for when a program overwrites what it has not read."""

    @property
    def expects_file(self) -> bool:
        """Whether the file was there when we wrote it last."""

    def wrote(self, data: bytes) -> bool:
        """Tell whether these are the bytes that we wrote last."""

    def is_shorter(self, data: bytes) -> bool:
        """Tell whether a file lacks bytes that it had, as one that is being written anew does."""

    def prepare(
        self,
        before: bytes | None,
        old: os.stat_result | None,
        after: bytes | None,
        new: os.stat_result | None,
    ) -> None:
        """Note what is about to replace what, with the files' status; called again for each attempt."""

    def keep(self, folder: int | None, name: str, base: bytes) -> None:
        """Take over what was replaced, of which `base` was read; the name is free afterwards."""

    def recover(self, folder: int | None, name: str) -> None:
        """Take over what a writer left who was killed amid an exchange; the name is free afterwards."""


class _Place(NamedTuple):
    """A name in a folder that is held open; without descriptors (Windows) the name is the whole path."""

    folder: int | None
    name: str
    path: Path

    def inode(self, name: str) -> int:
        """Return the number of the file of a name in the folder, 0 for none."""
        try:
            return os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_ino
        except FileNotFoundError:
            return 0

    def rename(self, name: str, new: str) -> None:
        os.rename(name, new, src_dir_fd=self.folder, dst_dir_fd=self.folder)

    def unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder)

    def sync(self) -> None:
        """Make the names last through a power cut, where the system can."""
        if self.folder is not None:
            with suppress(OSError):
                # The descriptor at hand may be one that is for walking through alone.
                descriptor = os.open(os.curdir, os.O_RDONLY, dir_fd=self.folder)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)


class _Names(NamedTuple):
    """The names, beside a file, of a new one, of the old one once they are exchanged, of a link to that."""

    fresh: str
    old: str
    linked: str


class _Original:
    """A file as it was read, still open; `status` is None where there was none."""

    def __init__(self, data: bytes = b"", status: os.stat_result | None = None, descriptor: int = -1) -> None:
        self.data, self.status, self.descriptor = data, status, descriptor

    @property
    def bytes_or_none(self) -> bytes | None:
        return None if self.status is None else self.data

    @property
    def inode(self) -> int:
        return 0 if self.status is None else self.status.st_ino

    def is_unchanged(self) -> bool:
        """Tell whether the file that was read, whatever its name is now, still holds what was read."""
        if self.status is None:
            return True
        same_size = os.fstat(self.descriptor).st_size == len(self.data)
        return same_size and _contents(self.descriptor) == self.data

    def close(self) -> None:
        if self.descriptor >= 0:
            os.close(self.descriptor)


def replace(
    path: Path,
    compose: Callable[[bytes], bytes],
    *,
    lock: Path,
    timeout_s: float = LOCK_WAIT_S,
    within: Path | None = None,
    guard: Callable[[], Guard] | None = None,
) -> None:
    """Read a file, compose its next content, and put that in its place as a whole.

    A missing file reads as empty; a symlink is followed, but not out of the folder `within`; mode and owner
    stay. If another program changes the file meanwhile, its change is read and composed upon. The guard is
    made under the lock. Raises NoteUnreadable, with nothing lost.
    """
    with locked(lock, timeout_s), _translated(path), _placed(path, within, make=True) as place:
        writes = guard() if guard else None
        _clear(place, lock, writes)
        names = _names(place, lock)
        for _ in range(_ATTEMPTS):
            with _settled(place, writes) as original:
                after = compose(original.data)
                same = after == original.bytes_or_none
                if same or _Swap(place, original, names, writes).run(after):
                    return
    raise NoteUnreadable(paths.shown(path), "another program keeps changing it; try again")


def exchange(
    path: Path,
    before: bytes | None,
    after: bytes | None,
    *,
    lock: Path,
    within: Path | None = None,
    guard: Guard | None = None,
    mode: int = 0,
) -> bool:
    """Put a file in the place of another one, under a lock that the caller holds; None stands for no file.

    Where there was no file, the new one gets the permissions of `mode`; of its owner alone for 0. False, and
    nothing is done, unless the file is as `before` says; true at once where it is as `after` says. Raises
    NoteUnreadable.
    """
    with _translated(path):
        try:
            with _placed(path, within, make=after is not None) as place:
                _clear(place, lock, guard)
                names = _names(place, lock)
                for _ in range(_ATTEMPTS):
                    with _settled(place, guard) as original:
                        if original.bytes_or_none == after:
                            return True
                        if original.bytes_or_none != before:
                            return False
                        if _Swap(place, original, names, guard, mode).run(after):
                            return True
        except FileNotFoundError:  # the folder of a file that is to be none
            return before is None and after is None
    return False


def clear(path: Path, *, lock: Path, within: Path | None = None, guard: Guard | None = None) -> None:
    """Remove what somebody left beside a file who died while he held this lock, which the caller holds."""
    with _translated(path), suppress(FileNotFoundError, NotADirectoryError):  # noqa: SIM117
        with _placed(path, within) as place:
            _clear(place, lock, guard)


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        denied = isinstance(error, PermissionError)
        raise NoteUnreadable(paths.shown(path), (denied and _closed(path)) or paths.reason(error)) from error


def _closed(path: Path) -> str:
    """Say that the folder of a file cannot be written to, with the remedy; empty where it can."""
    folder = path.parent
    while not os.path.lexists(folder) and folder != folder.parent:
        folder = folder.parent
    if os.access(folder, os.W_OK | os.X_OK):
        return ""
    import shlex

    shown = paths.shown(folder)
    mine = not hasattr(os, "geteuid") or os.stat(folder).st_uid == os.geteuid()
    remedy = f"chmod u+w {shlex.quote(shown)}" if mine else "ask its owner, or keep a workspace of your own"
    return f"permission denied: its folder {shown} cannot be written to; {remedy}"


@contextmanager
def _placed(path: Path, within: Path | None, *, make: bool = False) -> Iterator[_Place]:
    """Hold the folder of a file open, reached without a link but those that lead there now."""
    real = os.path.realpath(path) if within is None else Root(within).resolve(path)
    with Root(os.path.dirname(real) if within is None else within).parent(real, make=make) as (folder, name):
        yield _Place(folder, name, path)


# --- reading -------------------------------------------------------------------------------------------


@contextmanager
def _settled(place: _Place, guard: Guard | None) -> Iterator[_Original]:
    """Read a file once nobody is in the middle of writing it, as far as the system says. Raises Busy."""
    began = time.monotonic()
    last: os.stat_result | None = None
    while True:
        original = _read(place)
        try:
            waited = time.monotonic() - began
            pause = _pause(original, last, guard, waited)
            if not pause:
                with closed_in_child(original.descriptor):
                    yield original
                return
            if waited > _PATIENCE_S:
                raise Busy(paths.shown(place.path), "another program is writing it; try again")
            last = original.status
        finally:
            original.close()
        time.sleep(pause)


def _pause(original: _Original, last: os.stat_result | None, guard: Guard | None, waited: float) -> float:
    """How long to look away from a file that somebody seems to write; 0 for one that stands."""
    status = original.status
    if status is None:
        # vim moves a file away before it writes it anew.
        return _PAUSE_S if guard and guard.expects_file and waited < _MOMENT_S else 0
    alone = swap.lease(original.descriptor)
    if alone is False:
        return _PAUSE_S
    if alone:
        swap.end_lease(original.descriptor)
    is_shorter = guard is not None and guard.is_shorter(original.data)
    young = _GROWING_S if is_shorter else 0 if original.data else _MOMENT_S
    if 0 <= time.time() - status.st_mtime < young:
        return _LOOK_S if is_shorter else _PAUSE_S
    if not original.data or alone or guard is None or guard.wrote(original.data):
        return 0
    stands = last is not None and _marks(last) == _marks(status)
    return 0 if stands else _LOOK_S


def _marks(status: os.stat_result) -> tuple[int, ...]:
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _read(place: _Place) -> _Original:
    try:
        descriptor = open_regular(place.folder, place.name, os.O_RDONLY, 0, str(place.path))
    except FileNotFoundError:
        return _Original()
    try:
        return _Original(_contents(descriptor), os.fstat(descriptor), descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _contents(descriptor: int) -> bytes:
    with open(descriptor, "rb", closefd=False) as file:
        file.seek(0)
        return file.read()


# --- exchanging ----------------------------------------------------------------------------------------


def temporary_name(name: str, lock: Path, stage: str) -> str:
    """Return the one name of a temporary file beside a file, for a stage of its exchange under a lock."""
    # Two who hold files of one name, since the first was deleted, are two to each other as well.
    text = f"{name}\0{lock}\0{number(lock) or ''}\0{stage}".encode("utf-8", "surrogateescape")
    return f".{Path(name).stem[:40]}.{sha256(text).hexdigest()[:12]}.tmp"


def _names(place: _Place, lock: Path) -> _Names:
    folder, name = os.path.split(place.name)
    return _Names(*(os.path.join(folder, temporary_name(name, lock, stage)) for stage in _Names._fields))


def _clear(place: _Place, lock: Path, guard: Guard | None) -> None:
    names = _names(place, lock)
    place.unlink(names.fresh)  # which never had the name of the file
    for name in (names.old, names.linked):
        if guard and place.inode(name):
            guard.recover(place.folder, name)
        place.unlink(name)


class _Swap:
    """One attempt to put a file of new bytes, or none, in the place of one that was read.

    `mode` is that of a file that was none before.
    """

    def __init__(
        self, place: _Place, original: _Original, names: _Names, guard: Guard | None, mode: int = 0
    ) -> None:
        self.place, self.original, self.names, self.guard, self.mode = place, original, names, guard, mode
        self.new: os.stat_result | None = None  # of the new file
        self.is_leased = False

    @property
    def inode(self) -> int:
        return self.new.st_ino if self.new else 0

    def run(self, after: bytes | None) -> bool:
        """Do it; false if somebody has changed what was read, and then it is as if nothing was done."""
        place, names = self.place, self.names
        try:
            if after is not None:
                self.new = _write(place, names.fresh, after, self.original, self.mode)
            return self._prepare(after) and self._displace(after)
        finally:
            with suppress(OSError):
                place.unlink(names.fresh)
                if self.inode and place.inode(names.old) == self.inode:
                    place.unlink(names.old)  # what was there before is never removed unseen

    def _prepare(self, after: bytes | None) -> bool:
        """Keep others from opening what is about to be replaced, where the system can; tell the guard."""
        original, place = self.original, self.place
        if original.status is not None:
            lease = swap.lease(original.descriptor)
            if lease is False:
                return False
            self.is_leased = bool(lease)
        if not self._is_alone(place.name):
            return False
        if self.guard:
            self.guard.prepare(original.bytes_or_none, original.status, after, self.new)
        return place.inode(place.name) == original.inode

    def _is_alone(self, name: str) -> bool:
        """Tell whether the file of a name is the one that was read, and nobody has changed it or wants to."""
        original = self.original
        same = not name or self.place.inode(name) == original.inode
        unopened = not self.is_leased or swap.is_leased(original.descriptor)
        return same and unopened and original.is_unchanged()

    def _displace(self, after: bytes | None) -> bool:
        place, names = self.place, self.names
        try:
            if self.original.status is None:
                swap.move_new(place.folder, names.fresh, place.name)
                place.sync()
                return True
            if after is None:
                place.rename(place.name, old := names.old)
            else:
                old = self._exchange()
        except (FileExistsError, FileNotFoundError):  # somebody made it, or removed it
            return False
        alone = self._is_alone(old)
        if alone:
            # Forcing the names to the disk takes long enough for whoever was about to open the old file.
            place.sync()
            alone = self._is_alone(old)
        if alone:
            self._release(old, self.original.data)
        else:
            self._put_back(old, after)
        return alone

    def _exchange(self) -> str:
        """Exchange two files; return the name of the old one.

        Empty where the system can neither exchange names nor give a file two of them.
        """
        place, names, folder = self.place, self.names, self.place.folder
        place.rename(names.fresh, names.old)  # who is killed from here on may leave what others wrote
        if swap.exchange(folder, names.old, place.name):
            return names.old
        linked = names.linked
        try:
            os.link(place.name, linked, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
        except NotImplementedError:
            linked = ""
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            linked = ""
        os.replace(names.old, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        return linked

    def _release(self, name: str, base: bytes) -> None:
        if name:
            if self.guard:
                self.guard.keep(self.place.folder, name, base)
            self.place.unlink(name)

    def _put_back(self, old: str, after: bytes | None) -> None:
        """Give what was there its name again, and with it what somebody is writing into it."""
        place, names, original = self.place, self.names, self.original
        if after is None:
            with suppress(FileExistsError):
                swap.move_new(place.folder, old, place.name)
                return
            self._release(old, original.data)  # somebody made a new file, which stays
        elif old == names.old:
            swap.exchange(place.folder, old, place.name)
            if place.inode(old) != self.inode:  # others have put a newer file in the place of ours: it stays
                swap.exchange(place.folder, old, place.name)
            self._release(old, after)
        elif old:
            os.replace(old, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        else:
            last = None
            while (data := _contents(original.descriptor)) != last:
                last = data
                time.sleep(_LOOK_S)
            _write(place, names.fresh, data, original)
            os.replace(names.fresh, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _new_mode(place: _Place) -> int:
    """The mode of a new file: its owner's alone, and the group's where that may write in the folder."""
    folder = os.stat(os.path.dirname(place.path) if place.folder is None else place.folder)
    return PRIVATE_FILE | (folder.st_mode & 0o060 if folder.st_mode & 0o020 else 0)


def _write(place: _Place, name: str, data: bytes, original: _Original, mode: int = 0) -> os.stat_result:
    """Write a new file through to the disk, like the old one or with a mode; return its status."""
    status = original.status
    mode = mode & 0o777 or _new_mode(place) if status is None else stat.S_IMODE(status.st_mode)
    descriptor = open_regular(place.folder, name, _CREATE, mode, str(place.path))
    with open(descriptor, "wb") as file, closed_in_child(descriptor):
        file.write(data)
        file.flush()
        if sys.platform != "win32":
            if status is not None:
                with suppress(PermissionError):  # only root may give a file away
                    os.fchown(descriptor, status.st_uid, status.st_gid)
            os.fchmod(descriptor, mode)
        if sys.platform == "linux" and status is not None:
            with suppress(OSError):  # access lists are such attributes; a disk may have none
                for attribute in os.listxattr(original.descriptor):
                    value = os.getxattr(original.descriptor, attribute)
                    with suppress(OSError):  # some are the system's own
                        os.setxattr(descriptor, attribute, value)
        os.fsync(descriptor)
        return os.fstat(descriptor)
