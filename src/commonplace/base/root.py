"""Open files below a folder, relative to its descriptor; all file access goes through here.

A path from a foreign folder may be a link, a fifo or a device, and may become one between two calls. A `Root`
opens each component of a path relative to the one before it and follows no link, so that the checked and the
opened file are the same. It resembles Go's `os.Root`.

Where a note may be a link that stays inside the folder, `links=True` resolves it first and then opens the
real path the same way: a link that is swapped in later is refused.

A file that root makes in another user's folder is given to that user.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader

from commonplace.base.messages import message

TYPE_CHECKING = False  # `typing` costs a start 3 ms
if TYPE_CHECKING:
    from typing import BinaryIO

    from commonplace.base.messages import Message

OWN_FOLDER = ".commonplace"
_LINK = message("unsafe.link", "a symlink, which is not followed here")
_LEAVING = message("unsafe.leaving", "a symlink that leads out of its folder")
TO_HIDDEN = message("unsafe.hidden", "a symlink that leads to a hidden file")
_NOT_BELOW = message("unsafe.not_below", "not a path below its folder")
LIMIT = 64 << 20  # bytes of a file that is read whole
PRIVATE_FILE, PRIVATE_FOLDER = 0o600, 0o700
# O_NONBLOCK: opening a fifo must not wait for its other end.
_FILE = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY
_LIST = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY
# O_PATH (Linux): a folder that may be entered but not listed can still be walked through.
_WALK = getattr(os, "O_PATH", os.O_RDONLY) | os.O_CLOEXEC | os.O_DIRECTORY
_ATTEMPTS = 5  # times that others may exchange a link while it is resolved

Path = str | os.PathLike[str]
Read = tuple[bytes, os.stat_result]


class Unsafe(OSError):
    """A link, a fifo, a device or a path that leaves its root, where a regular file or folder is due."""

    def __init__(self, reason: Message, path: str) -> None:
        super().__init__(errno.ELOOP, reason, path)


class TooLarge(OSError):
    """A file with more bytes than may be read at once."""

    def __init__(self, limit: int, path: str) -> None:
        super().__init__(errno.EFBIG, f"larger than {limit:,} bytes", path)


class Root:
    """A folder and all that lies below it; safe to share between threads.

    Paths are relative to the folder, or absolute and below it. Every method raises `OSError` as the system
    does (FileNotFoundError and its siblings), and `Unsafe` for a link or another special file on the way or
    at its end. Files are made with mode 0600, folders with 0700.
    """

    __slots__ = ("path",)

    def __init__(self, path: Path) -> None:
        """Name the folder; links in its own path are followed, since whoever names it means them."""
        self.path = os.path.abspath(path)

    # --- reading -------------------------------------------------------------------------------------------

    def open(self, path: Path, *, links: bool = False) -> BufferedReader:
        """Open a regular file for reading."""
        return os.fdopen(self.descriptor(path, os.O_RDONLY, links=links), "rb")

    def read(self, path: Path, *, limit: int = LIMIT, links: bool = False) -> bytes:
        """Return the bytes of a regular file. Raises `TooLarge` for one of more than `limit` bytes."""
        with self.open(path, links=links) as file:
            return read_whole(file, self.absolute(path), limit)

    def each(self, paths: Iterable[str]) -> Iterator[tuple[str, bytes | None]]:
        """Yield each path with the bytes of its file; None for a link, and what cannot be read."""
        return ((path, read and read[0]) for path, read in self.each_read(paths))

    def each_read(self, paths: Iterable[str]) -> Iterator[tuple[str, Read | None]]:
        """Yield the same with the status before reading; of sorted paths each folder is opened once."""
        with self.visiting() as enter:
            last, folder = None, -1
            for path in paths:
                above, _, name = path.rpartition("/")
                read = None
                with suppress(OSError, ValueError):
                    if above != last:
                        last = None
                        folder, last = enter(above), above
                    with os.fdopen(open_regular(folder, name, os.O_RDONLY, PRIVATE_FILE, path), "rb") as file:
                        status = os.fstat(file.fileno())
                        read = read_whole(file, path), status
                yield path, read

    def stat(self, path: Path = "") -> os.stat_result:
        """Return the status of what has this name, a link itself included."""
        with self.parent(path) as (folder, name):
            return os.stat(name, dir_fd=folder, follow_symlinks=False)

    def is_file(self, path: Path) -> bool:
        """Tell whether a regular file has this name, with no link on the way."""
        return self._has(path, stat.S_ISREG)

    def is_folder(self, path: Path = "") -> bool:
        """Tell whether a folder has this name, with no link on the way."""
        return self._has(path, stat.S_ISDIR)

    def names(self, path: Path = "") -> list[str]:
        """Return the names in a folder, sorted; an empty list if it is missing."""
        with suppress(FileNotFoundError), self.listed(path) as descriptor:
            return sorted(os.listdir(descriptor))
        return []

    @contextmanager
    def listed(self, path: Path = "") -> Iterator[int]:
        """Hold a folder open for `os.scandir` and `os.listdir`."""
        with self.visiting() as enter:
            yield enter(path)

    @contextmanager
    def visiting(self) -> Iterator[Callable[[Path], int]]:
        """Give what opens one folder after the other for `os.scandir`, each until the next.

        A folder is opened from the nearest parent of the one before: whoever goes down a tree of thousands
        opens each once. It raises as the other methods do.
        """
        chain: list[tuple[str, int]] = []

        def enter(path: Path = "") -> int:
            *above, name = self._parts(path) or [os.curdir]
            shared = 1
            while shared < min(len(chain), len(above) + 1) and chain[shared][0] == above[shared - 1]:
                shared += 1
            while len(chain) > shared:
                os.close(chain.pop()[1])
            if not chain:
                chain.append(("", os.open(self.path, _WALK)))
            for part in above[len(chain) - 1 :]:
                chain.append((part, self._descend(chain[-1][1], part)))
            chain.append((name, self._descend(chain[-1][1], name, _LIST)))
            return chain[-1][1]

        try:
            yield enter
        finally:
            while chain:
                os.close(chain.pop()[1])

    # --- writing -------------------------------------------------------------------------------------------

    def descriptor(
        self, path: Path, flags: int, mode: int = PRIVATE_FILE, *, links: bool = False, make: bool = False
    ) -> int:
        """Open a regular file with flags of `os.open` and return its descriptor, which the caller closes.

        With `make` missing folders on the way are made.
        """
        real, attempt = path, 0
        while True:
            try:
                with self.parent(real, make=make) as (folder, name):
                    return open_regular(folder, name, flags, mode, self.absolute(path))
            except Unsafe:
                attempt += 1
                if not links or attempt == _ATTEMPTS:
                    raise
                real = self.resolve(path)

    def make_folder(self, path: Path = "", mode: int = PRIVATE_FOLDER) -> None:
        """Make a folder, and those above it, where they are missing."""
        with self.parent(path, make=True) as (folder, name):
            os.close(self._descend_or_make(folder, name, mode))

    def create(self, path: Path, data: bytes, mode: int = PRIVATE_FILE, *, durable: bool = False) -> None:
        """Make a file with these bytes. Raises FileExistsError where anything has its name.

        With `durable` the bytes last through a power cut, and so does the name after `sync`.
        """
        descriptor = self.descriptor(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode, make=True)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(descriptor)

    def exchange(self, path: Path, data: bytes, *, durable: bool = True, alone: bool = False) -> None:
        """Put a file of these bytes in the place of whatever has this name: old or new, never a part.

        A link is replaced and not followed. For files that one writer at a time changes under a lock;
        `storage.files` composes upon what others write. With `durable` it lasts through a power cut. Who is
        `alone`, by a lock that every writer of the file takes, removes the temporary file of a killed writer.
        """
        with self.parent(path, make=True) as (folder, name):
            chance = "" if alone else f".{os.getpid():x}-{os.urandom(4).hex()}"
            temporary = f".{name[:80]}{chance}.tmp"
            flags, mode = os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE
            with suppress(FileNotFoundError):
                status = os.stat(name, dir_fd=folder, follow_symlinks=False)
                mode = stat.S_IMODE(status.st_mode) if stat.S_ISREG(status.st_mode) else mode
            if alone:
                with suppress(FileNotFoundError):
                    os.unlink(temporary, dir_fd=folder)
            try:
                with os.fdopen(open_regular(folder, temporary, flags, mode, temporary), "wb") as file:
                    file.write(data)
                    file.flush()
                    if durable:
                        os.fsync(file.fileno())
                os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise
        if durable:
            self.sync(os.path.dirname(os.fspath(path)))

    def rename(self, path: Path, target: Path) -> None:
        """Give a file or folder another name below this root; a file that has it already is replaced."""
        with self.parent(path) as (folder, name), self.parent(target, make=True) as (other, new):
            os.replace(name, new, src_dir_fd=folder, dst_dir_fd=other)

    def unlink(self, path: Path, *, missing_ok: bool = False) -> None:
        """Delete a file, or a link itself."""
        try:
            with self.parent(path) as (folder, name):
                os.unlink(name, dir_fd=folder)
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rmdir(self, path: Path) -> None:
        """Delete an empty folder."""
        with self.parent(path) as (folder, name):
            os.rmdir(name, dir_fd=folder)

    def remove(self, path: Path) -> None:
        """Delete a file or a folder with all that is in it; a link goes, what it leads to stays.

        A missing file is ignored.
        """
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(self.stat(path).st_mode):
                for name in self.names(path):
                    self.remove(os.path.join(path, name))
                self.rmdir(path)
            else:
                self.unlink(path)

    def sync(self, path: Path = "") -> None:
        """Make the names in a folder last through a power cut, where the system can."""
        with suppress(OSError), self.listed(path) as descriptor:
            os.fsync(descriptor)

    def tighten(self, path: Path = "") -> bool:
        """Close a folder of this user to all others, if it is open to them; True if it was.

        What is in a closed folder is out of their reach as well.
        """
        with suppress(OSError), self.listed(path) as folder:
            status = os.fstat(folder)
            if status.st_uid == os.getuid() and status.st_mode & 0o077:
                os.fchmod(folder, stat.S_IMODE(status.st_mode) & 0o700)
                return True
        return False

    # --- paths ---------------------------------------------------------------------------------------------

    def absolute(self, path: Path = "") -> str:
        """Return the absolute path of a name, as it is spelled."""
        return os.path.join(self.path, path) if os.fspath(path) else self.path

    def resolve(self, path: Path) -> str:
        """Return the absolute path of a name, its links followed. Raises `Unsafe` if that leaves the root."""
        try:
            real, base = os.path.realpath(self.absolute(path)), os.path.realpath(self.path)
        except OSError:  # a link that became something else while it was read
            return self.absolute(path)
        if not is_within(real, base):
            raise Unsafe(_LEAVING, self.absolute(path))
        if is_hidden(real[len(base) :]) and not is_hidden(os.sep.join(self._parts(path))):
            raise Unsafe(TO_HIDDEN, self.absolute(path))
        return self.path + real[len(base.rstrip(os.sep)) :]

    def _parts(self, path: Path) -> list[str]:
        text = os.fspath(path)
        if os.path.isabs(text):
            base = self.path if is_within(text, self.path) else os.path.realpath(self.path)
            if not is_within(text, base):
                raise Unsafe(message("unsafe.outside", "lies outside {folder}", folder=self.path), text)
            text = text[len(base) :]
        parts = [part for part in text.split(os.sep) if part not in ("", os.curdir)]
        if os.pardir in parts or "\0" in text:
            raise Unsafe(_NOT_BELOW, text.replace("\0", "\N{REPLACEMENT CHARACTER}"))
        return parts

    @contextmanager
    def parent(self, path: Path, *, make: bool = False) -> Iterator[tuple[int, str]]:
        """Hold the folder of a path's last name open, for calls relative to it; `.` is the root itself."""
        *above, name = self._parts(path) or [os.curdir]
        folder = self._opened(make=make)
        try:
            for part in above:
                # The new one first: Ctrl-C in between may leave one open, and never closes one twice.
                below = self._descend_or_make(folder, part) if make else self._descend(folder, part)
                folder, below = below, folder
                os.close(below)
            yield folder, name
        finally:
            os.close(folder)

    def _opened(self, *, make: bool) -> int:
        """Open the root itself for walking; with `make`, each folder of its path that is missing is made."""
        try:
            return os.open(self.path, _WALK)
        except FileNotFoundError:
            if not make:
                raise
        above, own = os.path.split(self.path)
        with Root(above).parent(own, make=True) as (folder, name):
            return self._descend_or_make(folder, name)

    def _descend(self, folder: int, name: str, flags: int = _WALK | os.O_NOFOLLOW) -> int:
        try:
            return os.open(name, flags, dir_fd=folder)
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            if isinstance(error, NotADirectoryError):
                is_link = stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
            if is_link:
                raise Unsafe(_LINK, name) from error
            raise

    def _descend_or_make(self, folder: int, name: str, mode: int = PRIVATE_FOLDER) -> int:
        with suppress(FileExistsError):
            if name != os.curdir:
                os.mkdir(name, mode, dir_fd=folder)
                if _is_for_another(folder):
                    made = self._descend(folder, name, _LIST)
                    try:
                        if not os.listdir(made):  # its owner could have replaced it
                            _give(made, folder)
                    finally:
                        os.close(made)
        return self._descend(folder, name)

    def _has(self, path: Path, kind: object) -> bool:
        try:
            return bool(kind(self.stat(path).st_mode))  # type: ignore[operator]
        except OSError:
            return False


def is_within(path: str, root: str) -> bool:
    """Tell whether `path` is `root` or lies below it; both real or both normalised."""
    return path == root or path.startswith(root.rstrip(os.sep) + os.sep)


def is_hidden(path: str) -> bool:
    """Tell whether a name in a relative path begins with a dot."""
    return any(part.startswith(".") for part in path.split(os.sep) if part not in (os.curdir, os.pardir))


def open_named(path: Path) -> BufferedReader:
    """Open a regular file for reading that its owner named, wherever links lead from there.

    For files that no folder from elsewhere names: models, key files, files of the command line.
    """
    folder, name = os.path.split(os.path.realpath(path))
    return Root(folder).open(name)


def read_named(path: Path, limit: int = LIMIT) -> bytes:
    """Return the bytes of a file as `open_named` opens it. Raises `TooLarge` for more than `limit` bytes."""
    with open_named(path) as file:
        return read_whole(file, path, limit)


def read_whole(file: BinaryIO, path: Path, limit: int = LIMIT) -> bytes:
    """Return what an open file holds from here on. Raises `TooLarge` for more than `limit` bytes."""
    # Read the size first, so that a file of gigabytes takes no memory. No more than that is read: each
    # large block that is given back in part stays a mapping, of which a process has some 65,000.
    size = os.fstat(file.fileno()).st_size
    data = file.read(size + 1) if size <= limit else b""
    if len(data) > size:  # it grew meanwhile, or is one that tells no size
        data += file.read(max(0, limit + 1 - len(data)))
    if max(size, len(data)) > limit:
        raise TooLarge(limit, os.fspath(path))
    return data


def open_regular(folder: int | None, name: str, flags: int, mode: int, path: str) -> int:
    """Open a regular file in an open folder; errors call it `path`. Raises `Unsafe`."""
    truncates, flags = flags & os.O_TRUNC, flags & ~os.O_TRUNC | _FILE  # not before it is known to be ours
    try:
        descriptor = os.open(name, flags, mode, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise Unsafe(_LINK, path) from error
        if error.errno == errno.ENXIO:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
            raise Unsafe(irregular(mode), path) from error
        raise
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unsafe(irregular(status.st_mode), path)
        # Empty and without another name: no file of root's that its owner has linked or filled.
        if folder is not None and flags & os.O_CREAT and (status.st_size, status.st_nlink) == (0, 1):
            _give(descriptor, folder)
        if truncates:
            os.ftruncate(descriptor, 0)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _is_for_another(folder: int) -> bool:
    """Tell whether this process may give away new files of a folder, and another user owns that."""
    return os.geteuid() == 0 != os.fstat(folder).st_uid


def _give(descriptor: int, folder: int) -> None:
    """Give a new file or folder of root's to the owner of its folder, who could not open it otherwise."""
    if _is_for_another(folder) and os.fstat(descriptor).st_uid == 0:
        owner = os.fstat(folder)
        with suppress(OSError):  # where root may not (some network disks): `doctor` names it
            os.fchown(descriptor, owner.st_uid, owner.st_gid)


def irregular(mode: int) -> Message:
    """Say that a file is not a regular one, by its mode."""
    return message("unsafe.irregular", "{kind}, not a regular file", kind=kind(mode))


def kind(mode: int) -> Message:
    """Say what a file is by its mode, with its article."""
    names = {
        stat.S_IFDIR: message("file.folder", "a folder"), stat.S_IFIFO: message("file.fifo", "a fifo"),
        stat.S_IFSOCK: message("file.socket", "a socket"), stat.S_IFLNK: message("file.link", "a symlink"),
        stat.S_IFREG: message("file.regular", "a regular file"),
    }  # fmt: skip
    return names.get(stat.S_IFMT(mode)) or message("file.device", "a device")
