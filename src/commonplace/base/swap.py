"""What the system tells of others who write a file, and names that change places at one instant.

A lease (Linux, files of one's own on local disks) is given only while nobody has the file open for writing;
who then opens it for that waits until the lease is given back, and the lease says so.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache

_UNSUPPORTED = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})
_Rename = Callable[[int, bytes, int, bytes, int], int]


def exchange(folder: int | None, one: str, other: str, *, missing_ok: bool = False) -> bool:
    """Let two names of a folder change places; false, and nothing is done, where the system cannot.

    Raises FileNotFoundError where nothing has one of them; with `missing_ok` that is false as well.
    """
    try:
        return _renamed(folder, one, other, "exchange")
    except FileNotFoundError:
        if missing_ok:
            return False
        raise


def move_new(folder: int | None, name: str, new: str) -> None:
    """Rename a file in its folder, to a name that nothing has. Raises FileExistsError."""
    if _renamed(folder, name, new, "new"):
        return
    try:
        os.link(name, new, src_dir_fd=folder, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except (OSError, NotImplementedError):  # no hard links, as on FAT: a moment between look and rename
        with suppress(FileNotFoundError):
            os.stat(new, dir_fd=folder, follow_symlinks=False)
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
    else:
        os.unlink(name, dir_fd=folder)


def _renamed(folder: int | None, one: str, other: str, how: str) -> bool:
    rename, flags = _system()
    if rename is None or folder is None:
        return False
    import ctypes

    if rename(folder, os.fsencode(one), folder, os.fsencode(other), flags[how]) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code), one, None, other)


@cache
def _system() -> tuple[_Rename | None, dict[str, int]]:
    """The system's own call and its flags: Linux since 3.15 with glibc 2.28, macOS since 10.12."""
    if sys.platform == "linux":
        name, flags = "renameat2", {"new": 1, "exchange": 2}
    elif sys.platform == "darwin":
        name, flags = "renameatx_np", {"exchange": 2, "new": 4}
    else:
        return None, {}
    try:
        import ctypes

        call = getattr(ctypes.CDLL(None, use_errno=True), name)
    except (ImportError, OSError, AttributeError):
        return None, {}
    call.argtypes = [ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint]
    return call, flags


if sys.platform == "linux":
    import fcntl

    def lease(descriptor: int) -> bool | None:
        """Take a lease on a file that is open for reading: false while another has it open for writing.

        None where the system gives none: files of others, network disks. It ends with the descriptor.
        """
        import signal

        try:
            # The signal of a broken lease would end the process; this one is ignored unless it is asked for.
            fcntl.fcntl(descriptor, fcntl.F_SETSIG, signal.SIGURG)
            fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        except BlockingIOError:
            return False
        except OSError:
            return None
        return True

    def is_leased(descriptor: int) -> bool:
        """Tell whether a lease still stands: nobody has tried to open the file for writing since."""
        return fcntl.fcntl(descriptor, fcntl.F_GETLEASE) == fcntl.F_RDLCK

    def end_lease(descriptor: int) -> None:
        """Give a lease back; whoever waited opens the file now."""
        fcntl.fcntl(descriptor, fcntl.F_SETLEASE, fcntl.F_UNLCK)

else:

    def lease(descriptor: int) -> bool | None:
        """Return None: this system gives no leases."""
        return None

    def is_leased(descriptor: int) -> bool:
        """Return false: this system gives no leases."""
        return False

    def end_lease(descriptor: int) -> None:
        """Do nothing: this system gives no leases."""
