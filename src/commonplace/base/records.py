"""Files of the state and of settings: read and rewritten; errors as NoteUnreadable."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from commonplace.base import paths
from commonplace.base.errors import NoteUnreadable
from commonplace.base.root import LIMIT, Root, TooLarge, Unsafe

_LARGE = 1 << 30  # bytes of a transcript, which grows for months
_ZLIB = b"x\x01", b"x\x9c"  # the first bytes of our compressed files, of the faster and of the usual level


def rewrite(path: Path, compose: Callable[[bytes], bytes], *, within: Path | None = None) -> None:
    """Replace a file by what `compose` makes of its bytes; a link is followed, but not out of `within`.

    The caller holds a lock that all writers take. A missing file reads as empty. Raises NoteUnreadable.
    """
    before = b""
    with translated(path):
        real = os.path.realpath(path) if within is None else Root(within).resolve(path)
        root = Root(within or os.path.dirname(real))
        with suppress(FileNotFoundError):
            before = root.read(real)
        root.exchange(real, compose(before))


@contextmanager
def translated(path: Path | str) -> Iterator[None]:
    """Turn the system's errors with a file into NoteUnreadable, with what helps against a link."""
    try:
        yield
    except OSError as error:
        raise NoteUnreadable(paths.shown(path), trouble(error, path)) from error


def trouble(error: OSError, path: Path | str) -> str:
    """Return what is wrong with a file, and the remedy if it is closed, or is one of our files and a link."""
    if isinstance(error, PermissionError) and (place := paths.barrier(Path(path).parent)):
        told, remedy = paths.barred(place)
        return f"{paths.shown(place)} {told}; {remedy}"
    special, ours = isinstance(error, Unsafe | TooLarge), paths.user_state_dir()
    is_ours = special and Path(error.filename).is_relative_to(ours)
    return f"{paths.reason(error)}{f'; remove {paths.shown(error.filename)}' if is_ours else ''}"


def listed(root: Root, folder: Path, ending: str = "") -> list[Path]:
    """Return the files of a folder, links left out. Raises NoteUnreadable where the folder is a link."""
    try:
        names = root.names(folder)
    except (Unsafe, PermissionError) as error:
        raise NoteUnreadable(paths.shown(folder), trouble(error, folder)) from error
    except OSError:
        return []
    return [folder / name for name in names if name.endswith(ending) and root.is_file(folder / name)]


def drop_old(root: Root, folder: Path, kept_s: float) -> None:
    """Delete the files of a folder that were not written for `kept_s` seconds; skip those that cannot be."""
    oldest = time.time() - kept_s
    with suppress(OSError):
        for name in root.names(folder):
            with suppress(OSError):
                if root.stat(folder / name).st_mtime < oldest:
                    root.unlink(folder / name)


def load(root: Root, path: Path) -> bytes:
    """Return the bytes of a file that may be large, unpacked; empty for a missing file."""
    with translated(path), suppress(FileNotFoundError):
        return unpacked(root.read(path, limit=_LARGE))
    return b""


def unpacked(data: bytes) -> bytes:
    """Return what zlib has compressed, up to the size of two notes; other bytes as they are."""
    if data.startswith(_ZLIB):
        import zlib

        with suppress(zlib.error):
            return zlib.decompressobj().decompress(data, 2 * LIMIT + 64)
    return data
