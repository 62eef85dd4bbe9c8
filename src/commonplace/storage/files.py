"""Replace whole files: a crash leaves the old or the new one, even while editors (without locks) save them.

Write and sync a temporary file, compare the old file with the bytes that were read, exchange their names,
sync the folder, and look at the replaced file once more: what another program has written there meanwhile is
kept as a version of its own. A file that keeps changing raises `Busy`
(`docs/decisions/0026-an-editor-beside-us.md`).
"""

from __future__ import annotations

import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Protocol

from commonplace.base import paths
from commonplace.base.digests import sha256
from commonplace.base.errors import NoteUnreadable
from commonplace.base.locks import LOCK_WAIT_S, locked
from commonplace.base.root import PRIVATE_FILE, Root, open_regular
from commonplace.base.tuples import NamedTuple

_ATTEMPTS = 50  # retries while other programs keep changing the file
_PATIENCE_S = 2.0  # longest wait for a program that is writing the file
_MOMENT_S = 0.1  # within which an editor fills a file that it has truncated, or moved away
_GROWING_S = 0.5  # within which a file that is shorter than our version may still grow
_RECENT_S = 1.0  # age of the last write at which other writers may be at work
_LATE_S = 0.005  # within which a program writes into a file that it has opened
_LOOK_S = 0.01  # between two looks at a file


class Busy(NoteUnreadable):
    """Another program kept writing a file for longer than `_PATIENCE_S`."""


Status = os.stat_result | None  # None: no file


class _Guard(Protocol):  # `storage.writes.Writes`
    after: str
    version: bytes

    def is_last_version(self, data: bytes) -> bool: ...
    def prepare(self, before: bytes | None, old: Status, after: bytes | None, new: Status) -> None: ...
    def replaced(self, read: bytes, late: bytes) -> None: ...


class _OpenName(NamedTuple):
    """A file name in an open folder."""

    folder: int
    name: str
    path: Path
    temporary: str
    sync: Callable[[], None]  # the folder, to the disk

    def clear(self) -> None:
        with suppress(FileNotFoundError):
            os.unlink(self.temporary, dir_fd=self.folder)

    def holds(self, status: Status) -> bool:
        """Tell whether the temporary name is that of the file with this status."""
        now = os.stat(self.temporary, dir_fd=self.folder, follow_symlinks=False)
        return status is not None and os.path.samestat(now, status)


class _Original(NamedTuple):
    """The bytes, status and open descriptor of a file; a missing file has no `status`."""

    data: bytes = b""
    status: Status = None
    descriptor: int = -1

    def close(self) -> None:
        if self.status is not None:
            os.close(self.descriptor)

    def now(self) -> bytes:
        """Return the bytes that the file has now, whether or not it still has its name."""
        is_there = self.status is not None
        return os.pread(self.descriptor, os.fstat(self.descriptor).st_size + 1, 0) if is_there else b""

    def stands(self, place: _OpenName) -> bool:
        """Tell whether the file still has its bytes and its name; a missing file, whether it is missing."""
        is_same = self.now() == self.data
        try:
            status = os.stat(place.name, dir_fd=place.folder, follow_symlinks=False)
        except FileNotFoundError:
            return self.status is None
        return is_same and self.status is not None and os.path.samestat(status, self.status)


class _Differs(Exception):
    """A file has other bytes than the caller of `exchange` expects."""


def replace(
    path: Path,
    compose: Callable[[bytes], bytes],
    *,
    lock: Path,
    timeout_s: float = LOCK_WAIT_S,
    within: Path | None = None,
    guard: Callable[[], _Guard] | None = None,
) -> None:
    """Read a file, compose its new content, and replace it.

    A missing file reads as empty; a symlink is followed, but not out of the folder `within`; mode, owner and
    attributes stay. `compose` is called again if another program has changed the file, `guard` once, under
    the lock. Raises NoteUnreadable, LockTimeout, Busy.
    """
    with locked(lock, timeout_s), _translated(path), _placed(path, within, lock, make=True) as place:
        _change(place, lambda data: compose(data or b""), guard() if guard else None)


def exchange(
    path: Path,
    before: bytes | None,
    after: bytes | None,
    *,
    lock: Path,
    within: Path | None = None,
    guard: _Guard | None = None,
    mode: int = 0,
) -> bool:
    """Replace the bytes `before` of a file by `after`; None: no file. The caller holds `lock`.

    Return false, without a change, if the file has other bytes; true if it has `after` already. A new file
    gets `mode`; 0: private to its owner, and to a group that may write there. Raises NoteUnreadable, Busy.
    """

    def compose(data: bytes | None) -> bytes | None:
        if data not in (before, after):
            raise _Differs
        return after

    with _translated(path):
        try:
            with _placed(path, within, lock, make=after is not None) as place:
                _change(place, compose, guard, mode)
        except FileNotFoundError:  # no folder
            return before is None and after is None
        except _Differs:
            return False
    return True


def clear(path: Path, *, lock: Path, within: Path | None = None) -> None:
    """Remove the temporary file that a killed holder of `lock` left; the caller holds the lock."""
    with _translated(path), suppress(FileNotFoundError, NotADirectoryError), _placed(path, within, lock):
        pass


def _change(
    place: _OpenName, compose: Callable[[bytes | None], bytes | None], guard: _Guard | None, mode: int = 0
) -> None:
    """Replace a file by what `compose` makes of it; again, if another program has changed it meanwhile."""
    for _ in range(_ATTEMPTS):
        with _settled(place, guard) as original:
            now = None if original.status is None else original.data
            after = compose(now)
            if after == now or _put(place, original, after, guard, mode):
                return
    raise Busy(paths.shown(place.path), "another program keeps changing it; try again")


@contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise NoteUnreadable for an OSError, with a remedy if the folder of the file is not writable."""
    import shlex

    try:
        yield
    except OSError as error:
        reason: str = paths.reason(error)
        folder = next(one for one in path.parents if os.path.lexists(one))
        if isinstance(error, PermissionError) and not os.access(folder, os.W_OK | os.X_OK):
            remedy = f"chmod u+w {shlex.quote(paths.shown(folder))}"
            if os.stat(folder).st_uid != os.geteuid():
                remedy = "ask its owner, or keep a workspace of your own"
            reason = f"permission denied: its folder {paths.shown(folder)} cannot be written to; {remedy}"
        raise NoteUnreadable(paths.shown(path), reason) from error


@contextmanager
def _placed(path: Path, within: Path | None, lock: Path, *, make: bool = False) -> Iterator[_OpenName]:
    """Open the folder of a file by its real path; in the end remove the temporary file, also of the dead."""
    real = os.path.realpath(path) if within is None else Root(within).resolve(path)
    root = Root(os.path.dirname(real) if within is None else within)
    with root.parent(real, make=make) as (folder, name):
        sync = partial(root.sync, os.path.dirname(real))
        place = _OpenName(folder, name, path, _temporary_name(name, lock), sync)
        try:
            yield place
        finally:
            with suppress(OSError):
                place.clear()


def _temporary_name(name: str, lock: Path) -> str:
    """Return the name of the temporary file for a file and a lock."""
    text = f"{name}\0{lock}".encode("utf-8", "surrogateescape")
    return f".{Path(name).stem[:40]}.{sha256(text).hexdigest()[:12]}.tmp"


@contextmanager
def _settled(place: _OpenName, guard: _Guard | None) -> Iterator[_Original]:
    """Read a file once no program seems to be writing it. Raises Busy after `_PATIENCE_S`."""
    began, last = time.monotonic(), None
    while True:
        original = _read(place)
        try:
            waited = time.monotonic() - began
            if guard is None or not _is_settling(original, last, guard, waited):
                yield original
                return
            if waited > _PATIENCE_S:
                raise Busy(paths.shown(place.path), "another program is writing it; try again")
            last = original.status
        finally:
            original.close()
        time.sleep(_LOOK_S)


def _is_settling(original: _Original, last: Status, guard: _Guard, waited: float) -> bool:
    """Tell whether another program seems to be writing a note: its version must look the same twice."""
    if original.status is None:
        return bool(guard.after) and waited < _MOMENT_S  # vim moves a file away first
    if guard.is_last_version(original.data):
        return False
    is_shorter = guard.after and len(original.data) < len(guard.version)
    young_s = _GROWING_S if is_shorter else 0 if original.data else _MOMENT_S
    stands = last is not None and _marks(last) == _marks(original.status)
    return not stands or 0 <= time.time() - original.status.st_mtime < young_s


def _marks(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_size, status.st_mtime_ns


def _read(place: _OpenName) -> _Original:
    try:
        descriptor = open_regular(place.folder, place.name, os.O_RDONLY, 0, str(place.path))
    except FileNotFoundError:
        return _Original()
    try:
        status = os.fstat(descriptor)
        return _Original(_Original(b"", status, descriptor).now(), status, descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def _put(
    place: _OpenName, original: _Original, after: bytes | None, guard: _Guard | None, mode: int = 0
) -> bool:
    """Replace a file that was read; return false, without a change, if another program has changed it."""
    new = None if after is None else _write(place, after, original, mode)
    if guard and original.status is not None:
        guard.prepare(original.data, original.status, after, new)
    if not original.stands(place):
        return False
    late = None
    try:
        if after is None:
            os.unlink(place.name, dir_fd=place.folder)
        elif original.status is None or not _exchange_names(place):
            os.replace(place.temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        elif not place.holds(original.status) and (late := _put_back(place, new)) is None:
            return False  # another program had put its file there just now
    except FileNotFoundError:  # another program has moved it away
        return False
    place.sync()
    if guard:
        if original.status is None:  # not earlier: after a kill, the guard must not expect this file
            guard.prepare(None, None, after, new)
        is_ours = guard.is_last_version(original.data)
        guard.replaced(original.data, _late(original, is_ours=is_ours) if late is None else late)
    return True


def _put_back(place: _OpenName, new: Status) -> bytes | None:
    """Exchange our `new` file again for that of another program, which we replaced just now.

    If that program saves again meanwhile, its last file stays; return the bytes of the file between.
    """
    _exchange_names(place)
    if place.holds(new):
        return None
    _exchange_names(place)
    with closing(_read(place._replace(name=place.temporary))) as between:
        return between.data


def _exchange_names(place: _OpenName) -> bool:
    """Exchange the names of the file and the temporary file in one step; false where the system cannot."""
    import ctypes

    with suppress(OSError, AttributeError):
        one, other = map(os.fsencode, (place.temporary, place.name))
        return not ctypes.CDLL(None).renameat2(place.folder, one, place.folder, other, 2)  # RENAME_EXCHANGE
    return False


def _late(original: _Original, *, is_ours: bool) -> bytes:
    """Return the bytes of a replaced file, into which a program may have written meanwhile."""
    if original.status is not None and not (is_ours and time.time() - original.status.st_mtime > _RECENT_S):
        time.sleep(_LATE_S)
    data, now, ends = original.data, original.now(), time.monotonic() + _PATIENCE_S
    while now != data and time.monotonic() < ends:
        time.sleep(2 * _LOOK_S)
        data, now = now, original.now()
    return now


def _write(place: _OpenName, data: bytes, original: _Original, mode: int) -> os.stat_result:
    """Write the temporary file with the attributes of the old file, and sync it; return its status."""
    status = original.status
    if status is not None:
        mode = stat.S_IMODE(status.st_mode)
    elif not (mode := mode & 0o777):  # the group's as well where that may write in the folder
        folder = os.stat(place.folder).st_mode
        mode = PRIVATE_FILE | (folder & 0o060 if folder & 0o020 else 0)
    place.clear()
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
    with open(open_regular(place.folder, place.temporary, flags, mode, str(place.path)), "wb") as file:
        file.write(data)
        file.flush()
        descriptor = file.fileno()
        if status is not None:
            with suppress(PermissionError):  # only root may give a file away
                os.fchown(descriptor, status.st_uid, status.st_gid)
        os.fchmod(descriptor, mode)
        if sys.platform == "linux" and status is not None:
            with suppress(OSError):  # includes access lists; a file system may lack them
                for attribute in os.listxattr(original.descriptor):
                    with suppress(OSError):  # some are the system's own
                        os.setxattr(descriptor, attribute, os.getxattr(original.descriptor, attribute))
        os.fsync(descriptor)
        return os.fstat(descriptor)
