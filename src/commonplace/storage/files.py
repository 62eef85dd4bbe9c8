"""Replace whole files: a crash leaves the old or the new one, even while editors (without locks) save them.

Write and sync a temporary file, compare the old file with the bytes that were read, exchange the two names,
and sync the folder. If another program saved the file in that instant, its version now has the temporary
name, and the change is composed upon it. A file that a program keeps open for writing raises `Busy`
(`docs/decisions/0026-an-editor-beside-us.md`).
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import takewhile
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
_LATE_S = 0.005  # between the lookup of a name and the opening of the file; longer on a busy machine
_RECENT_S = 1.0  # age of our last write at which other writers may be at work
_LOOK_S = 0.01  # between two looks at a file


class Busy(NoteUnreadable):
    """Another program kept writing a file for longer than `_PATIENCE_S`."""


Status = os.stat_result | None  # None: no file


class _Guard(Protocol):  # `storage.writes.Writes`
    after: str
    version: bytes

    def wrote(self, data: bytes) -> bool: ...
    def replaced(self) -> None: ...
    def prepare(self, before: bytes | None, old: Status, after: bytes | None, new: Status) -> None: ...


class _Place(NamedTuple):
    """A file name in an open folder."""

    folder: int
    name: str
    path: Path
    temporary: str

    def inode(self, name: str) -> int:
        """Return the inode of a name in the folder, 0 without a file."""
        try:
            return os.stat(name, dir_fd=self.folder, follow_symlinks=False).st_ino
        except FileNotFoundError:
            return 0

    def unlink(self, name: str) -> None:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=self.folder)

    def sync(self) -> None:
        """Sync the folder to the disk where the system can."""
        with suppress(OSError):  # the open descriptor of the folder may be O_PATH
            descriptor = os.open(os.curdir, os.O_RDONLY, dir_fd=self.folder)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


class _Original(NamedTuple):
    """The bytes, status and open descriptor of a file; a missing file has no `status`."""

    data: bytes = b""
    status: os.stat_result | None = None
    descriptor: int = -1

    def close(self) -> None:
        if self.status is not None:
            os.close(self.descriptor)

    @property
    def bytes_or_none(self) -> bytes | None:
        return None if self.status is None else self.data

    @property
    def inode(self) -> int:
        return 0 if self.status is None else self.status.st_ino

    def stands(self, place: _Place) -> bool:
        """Tell whether the file still has its name and its bytes, and no program has it open for writing."""
        if place.inode(place.name) != self.inode:
            return False
        return not self.inode or not (
            is_open_for_writing(self.descriptor) or _contents(self.descriptor) != self.data
        )


class _Save(NamedTuple):
    """The `data` that another program saved in that instant, and the bytes that we had read and written."""

    read: bytes
    written: bytes | None
    data: bytes


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
    place: _Place, compose: Callable[[bytes | None], bytes | None], guard: _Guard | None, mode: int = 0
) -> None:
    """Replace a file by what `compose` makes of it; upon a save that we displaced, compose again.

    A save for which `compose` raises is put back; after several saves their new lines are added.
    """
    saves, failure = list[_Save](), None
    # A save that was displaced is not given up as soon as a file that others keep changing.
    for _ in takewhile(lambda attempt: saves or attempt < _ATTEMPTS, range(10 * _ATTEMPTS)):
        with _settled(place, guard) as original:
            now = original.bytes_or_none
            if not saves:
                after = compose(now)
            elif len(saves) == 1 and now == saves[0].written:
                try:
                    after = compose(saves[0].data)
                except Exception as error:  # noqa: BLE001 - raised below
                    failure, after = error, saves[0].data
            else:
                after = _added(saves, original.data)
            done = True if after == now else _put(place, original, after, guard, mode)
        if done is True:
            if failure is not None:
                raise failure
            return
        if done is not False:
            saves.append(_Save(original.data, after, done))
    raise NoteUnreadable(paths.shown(place.path), "another program keeps changing it; try again")


def _added(saves: Sequence[_Save], now: bytes) -> bytes:
    """Return a file with the new lines of several saves at its end."""
    known, lines = set(now.splitlines()), list[bytes]()
    for save in saves:
        known.update(save.read.splitlines())
        lines += [line for line in save.data.splitlines() if line not in known]
        known.update(lines)
    end = b"" if now.endswith(b"\n") or not now else b"\n"
    return now + end + b"".join(line + b"\n" for line in lines) if lines else now


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
            mine = os.stat(folder).st_uid == os.geteuid()
            shown, other = paths.shown(folder), "ask its owner, or keep a workspace of your own"
            remedy = f"chmod u+w {shlex.quote(shown)}" if mine else other
            reason = f"permission denied: its folder {shown} cannot be written to; {remedy}"
        raise NoteUnreadable(paths.shown(path), reason) from error


@contextmanager
def _placed(path: Path, within: Path | None, lock: Path, *, make: bool = False) -> Iterator[_Place]:
    """Open the folder of a file by its real path; in the end remove the temporary file, also of the dead."""
    real = os.path.realpath(path) if within is None else Root(within).resolve(path)
    with Root(os.path.dirname(real) if within is None else within).parent(real, make=make) as (folder, name):
        place = _Place(folder, name, path, _temporary_name(name, lock))
        try:
            yield place
        finally:
            with suppress(OSError):
                place.unlink(place.temporary)


def _temporary_name(name: str, lock: Path) -> str:
    """Return the name of the temporary file for a file and a lock."""
    above, name = os.path.split(name)
    text = f"{name}\0{lock}".encode("utf-8", "surrogateescape")
    return os.path.join(above, f".{Path(name).stem[:40]}.{sha256(text).hexdigest()[:12]}.tmp")


@contextmanager
def _settled(place: _Place, guard: _Guard | None) -> Iterator[_Original]:
    """Read a file once no program seems to be writing it. Raises Busy after `_PATIENCE_S`."""
    began, last = time.monotonic(), None
    while True:
        original = _read(place)
        try:
            waited = time.monotonic() - began
            if not _is_settling(original, last, guard, waited):
                yield original
                return
            if waited > _PATIENCE_S:
                raise Busy(paths.shown(place.path), "another program is writing it; try again")
            last = original.status
        finally:
            original.close()
        time.sleep(_LOOK_S)


def _is_settling(
    original: _Original, last: os.stat_result | None, guard: _Guard | None, waited: float
) -> bool:
    """Tell whether another program seems to be writing a file."""
    status = original.status
    if status is None:
        return guard is not None and bool(guard.after) and waited < _MOMENT_S  # vim moves a file away first
    is_open = is_open_for_writing(original.descriptor)
    is_shorter = guard is not None and bool(guard.after) and len(original.data) < len(guard.version)
    young_s = _GROWING_S if is_shorter else 0 if original.data else _MOMENT_S
    if is_open or 0 <= time.time() - status.st_mtime < young_s:
        return True
    # Where the system does not say who writes, another program's version must look the same twice.
    stands = last is not None and (last.st_ino, last.st_mtime_ns) == (status.st_ino, status.st_mtime_ns)
    return is_open is None and guard is not None and not (guard.wrote(original.data) or stands)


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


def _put(
    place: _Place, original: _Original, after: bytes | None, guard: _Guard | None, mode: int = 0
) -> bool | bytes:
    """Replace a file that was read.

    Return false, without a change, if another program has changed it; the bytes of a save that this write
    displaced; else true.
    """
    new = None if after is None else _write(place, after, original, mode)
    late_s = 4 * _LATE_S  # to look for late saves, as an editor may be at work
    if original.status is not None and guard and guard.wrote(original.data):
        late_s = _LATE_S if time.time() - original.status.st_mtime < _RECENT_S else 0
    if guard and original.status is not None:
        guard.prepare(original.data, original.status, after, new)
    if not original.stands(place):
        return False
    try:
        is_kept = _swap(place, original, is_wanted=after is not None)
    except (FileExistsError, FileNotFoundError):  # another program has made the file, or moved it away
        return False
    place.sync()
    if guard:
        if original.status is None:  # not earlier: after a kill, the guard must not expect this file
            guard.prepare(None, None, after, new)
        guard.replaced()
    return True if not is_kept or (saved := _displaced(place, original, late_s)) is None else saved


def _swap(place: _Place, original: _Original, *, is_wanted: bool) -> bool:
    """Replace the file, or rename it away unless `is_wanted`; tell whether the temporary name has the old.

    Raises FileExistsError, FileNotFoundError if another program has made the file, or moved it away.
    """
    if original.status is None:
        _name_new(place)
        return False
    if not is_wanted:
        os.rename(place.name, place.temporary, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        return True
    if _exchange_names(place):
        return True
    if not original.stands(place):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place.name)
    os.replace(place.temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    return False


def _displaced(place: _Place, original: _Original, late_s: float) -> bytes | None:
    """Return the bytes that another program saved during the exchange; None without such a save."""
    kept, ends = _read(place._replace(name=place.temporary)), time.monotonic() + LOCK_WAIT_S
    try:
        for pause in (0, late_s):
            time.sleep(pause)
            while _is_being_saved(kept.descriptor, original) and time.monotonic() < ends:
                time.sleep(_LOOK_S)
            data = _contents(kept.descriptor)  # once it is closed
            if (kept.inode, data) != (original.inode, original.data):
                return data
        return None
    finally:
        kept.close()


def _is_being_saved(descriptor: int, original: _Original) -> bool:
    """Tell whether a program writes a displaced file; if the system cannot tell, a shorter one may grow."""
    is_open, status = is_open_for_writing(descriptor), os.fstat(descriptor)
    may_grow = status.st_size < len(original.data) and 0 <= time.time() - status.st_mtime < _GROWING_S
    return may_grow if is_open is None else is_open


def _exchange_names(place: _Place) -> bool:
    """Exchange the names of the file and the temporary file atomically; false if the system cannot.

    Linux since 3.15, macOS since 10.12, not on every file system. Raises OSError.
    """
    import ctypes

    try:
        rename = getattr(
            ctypes.CDLL(None, use_errno=True), "renameatx_np" if sys.platform == "darwin" else "renameat2"
        )
    except (OSError, AttributeError):
        return False
    one, other = os.fsencode(place.temporary), os.fsencode(place.name)
    if rename(place.folder, one, place.folder, other, 2) == 0:
        return True
    if (code := ctypes.get_errno()) in (errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP):
        return False
    raise OSError(code, os.strerror(code), place.name)


def _name_new(place: _Place) -> None:
    """Give the temporary file a name that no file has. Raises FileExistsError."""
    try:
        os.link(place.temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)
        place.unlink(place.temporary)
    except FileExistsError:
        raise
    except OSError:  # no hard links, as on FAT
        if os.path.lexists(place.path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), place.name) from None
        os.rename(place.temporary, place.name, src_dir_fd=place.folder, dst_dir_fd=place.folder)


def _write(place: _Place, data: bytes, original: _Original, mode: int) -> os.stat_result:
    """Write the temporary file with the attributes of the old file, and sync it; return its status."""
    status = original.status
    if status is not None:
        mode = stat.S_IMODE(status.st_mode)
    elif not (mode := mode & 0o777):  # the group's as well where that may write in the folder
        folder = os.stat(place.folder).st_mode
        mode = PRIVATE_FILE | (folder & 0o060 if folder & 0o020 else 0)
    place.unlink(place.temporary)
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


def is_open_for_writing(descriptor: int) -> bool | None:
    """Tell whether a program has a file open for writing; None if the system cannot tell.

    Linux refuses a read lease then; it leases only own files on local disks.
    """
    if sys.platform != "linux":
        return None
    import fcntl
    import signal

    try:
        # A program that opens the file during the lease causes a signal, which ends a process by default.
        fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)
    except BlockingIOError:
        return True
    except OSError:
        return None
    return False
