"""Files of other memories, opened within bounds: what is wrong with one is named, and never ends the rest."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from errno import ELOOP
from fnmatch import fnmatch
from pathlib import Path
from stat import S_ISDIR, S_ISREG

from commonplace.base import paths
from commonplace.base.root import Root, is_hidden
from commonplace.types.reports import FileFailure

MOST_FILES = 20_000  # a run names each, and its record has a bound
DEEPEST = 30  # folders within each other
LARGEST_NOTE = 8 << 20
_YEARS = range(1970, 2200)
_MILLISECONDS_FROM = 1e11


def notes(
    root: Root, under: str = "", *, endings: Sequence[str] = (".md",), ignore: Sequence[str] = ()
) -> Iterator[tuple[str, bytes, os.stat_result] | FileFailure]:
    """Yield the files of a folder with their bytes, those of its folders too; hidden ones are left out.

    `ignore` are globs of paths. No link is followed; a link and what cannot be read are yielded as failures.
    """
    waiting, count = [under], 0
    while waiting:
        folder = waiting.pop()
        try:
            names = _names(root, folder)
        except OSError as error:
            yield FileFailure(paths.shown(root.absolute(folder)), paths.reason(error))
            continue
        deeper = []
        for name in names:
            path = f"{folder}/{name}" if folder else name
            if not name.isascii() and not _is_utf8(name):
                yield FileFailure(paths.shown(root.absolute(path)), "its name is not UTF-8: rename it")
                continue
            if is_hidden(name) or any(fnmatch(path, glob) for glob in ignore):
                continue
            try:
                status = root.stat(path)
                if S_ISDIR(status.st_mode):
                    deeper.append(path)
                elif name.lower().endswith(tuple(endings)):
                    if (count := count + 1) > MOST_FILES:
                        shown = paths.shown(root.path)
                        yield FileFailure(shown, f"more than {MOST_FILES:,} files; the rest is left out")
                        return
                    yield path, root.read(path, limit=LARGEST_NOTE), status
            except OSError as error:
                yield FileFailure(paths.shown(root.absolute(path)), paths.reason(error))
        waiting += reversed(deeper)


def _names(root: Root, folder: str) -> list[str]:
    """The names in a folder. Raises OSError for one that cannot be read, or lies too deep."""
    if folder.count("/") > DEEPEST:
        raise OSError(ELOOP, f"lies more than {DEEPEST} folders deep")
    return root.names(folder)


def moment(value: object) -> datetime | None:
    """Return the time of ISO 8601 text, or of seconds or milliseconds since 1970; None if not plausible."""
    at = None
    with suppress(ValueError, OverflowError, OSError):
        if isinstance(value, str):
            at = datetime.fromisoformat(value.strip())
        elif isinstance(value, int | float) and not isinstance(value, bool):
            at = datetime.fromtimestamp(value / 1000 if abs(value) > _MILLISECONDS_FROM else value, UTC)
    return at if at and at.year in _YEARS else None


def is_file(path: Path) -> bool:
    """Tell whether a path is a regular file, or a link to one."""
    try:
        return S_ISREG(os.stat(path).st_mode)
    except (OSError, ValueError):
        return False


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
